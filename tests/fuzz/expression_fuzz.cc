// Any bytes as an expression: it is refused with a message, or it evaluates to a value or an error; never anything
// else. What was accepted and consists of one line is also accepted with blanks around it and gives the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "operators/expression.h"

namespace {

using weir::operators::Batch;
using weir::operators::Expression;
using weir::operators::RowKind;
using weir::operators::Schema;
using weir::operators::Value;
using weir::operators::ValueType;

Batch MakeRow() {
  Batch batch(std::make_shared<const Schema>(std::vector<std::string>{"a", "b", "s", "n", "j", "d", "t", "f"}), 1);
  Value* row = batch.AddRow(RowKind::kInsert, {});
  row[0] = Value::Int64(7);
  row[1] = Value::Bool(true);
  row[2] = Value::Text(ValueType::kString, "paid, \xC3\xA4");
  row[3] = Value::Text(ValueType::kDecimal, "-12.50");
  row[4] = Value::Text(ValueType::kJson, R"({"a": {"b": [1, 2.5, null]}, "s": "x"})");
  row[5] = Value::Temporal(ValueType::kDate, 19782);
  row[6] = Value::Temporal(ValueType::kTimestampTz, 1'709'210'096'000'000);
  row[7] = Value::Double(-0.5);
  return batch;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  weir::Result<Expression> parsed = Expression::Parse(text);
  if (!parsed.has_value()) {
    WEIR_CHECK(!parsed.error().message().empty());
    return 0;
  }
  Batch batch = MakeRow();
  Value value;
  parsed->Bind(batch.schema(), batch.arena());
  const bool ok = parsed->Evaluate(batch.row(0), batch.kind(0), &value);
  if (!ok) WEIR_CHECK(!parsed->error().empty());
  if (size + 2 > Expression::kTextBytesMax) return 0;
  weir::Result<Expression> again = Expression::Parse(" " + text + "\n");
  WEIR_CHECK(again.has_value());
  Value same;
  again->Bind(batch.schema(), batch.arena());
  WEIR_CHECK_EQ(again->Evaluate(batch.row(0), batch.kind(0), &same), ok);
  if (ok) WEIR_CHECK_EQ(same.type(), value.type());
  return 0;
}
