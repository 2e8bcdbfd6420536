// The formats that sinks write besides json: raw and debezium-json, made from options.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "operators/options_check.h"

namespace weir::connectors {
namespace {

using operators::Batch;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

std::unique_ptr<Serializer> Made(const std::vector<std::pair<std::string, std::string>>& definition) {
  operators::RawValue object;
  object.kind = operators::RawKind::kObject;
  for (const auto& [name, text] : definition) {
    operators::RawValue value;
    value.kind = operators::RawKind::kString;
    value.text = text;
    object.members.emplace_back(name, value);
  }
  operators::Problems problems;
  const operators::Options options = operators::CheckOptions(object, SerializerOptions(), problems);
  CheckSerializerOptions(options, problems);
  EXPECT_TRUE(problems.empty());
  return std::move(*NewSerializer(options));
}

Batch Row(const std::vector<std::string>& columns, const std::vector<Value>& values, RowKind kind = RowKind::kInsert) {
  Batch batch(std::make_shared<const operators::Schema>(columns), 1);
  Value* row = batch.AddRow(kind, {});
  for (size_t i = 0; i < values.size(); ++i) row[i] = values[i];
  return batch;
}

std::string Written(Serializer& serializer, const Batch& batch) {
  std::string out;
  const Status status = serializer.Append(batch, 0, out);
  return status.ok() ? out : status.ToString();
}

TEST(RawSerializerTest, WritesOneColumnsTextAlone) {
  const auto only = Made({{"format", "raw"}});
  EXPECT_EQ(Written(*only, Row({"v"}, {Value::Text(ValueType::kBytes, std::string_view("\0\"", 2))})),
            std::string("\0\"", 2));
  EXPECT_EQ(Written(*only, Row({"v"}, {Value::Temporal(ValueType::kDate, 19'782)})), "2024-02-29");
  EXPECT_EQ(Written(*only, Row({"v"}, {Value::Int64(-7)})), "-7");
  const auto named = Made({{"format", "raw"}, {"value-column", "b"}});
  EXPECT_EQ(Written(*named, Row({"a", "b"}, {Value::Int64(1), Value::Text(ValueType::kString, "x")})), "x");
  EXPECT_EQ(Written(*named, Row({"b", "a"}, {Value::Bool(true), Value::Int64(1)})), "true");
}

TEST(RawSerializerTest, SaysWhatItCanNotWrite) {
  const auto only = Made({{"format", "raw"}});
  EXPECT_NE(Written(*only, Row({"a", "b"}, {})).find("found 2: name the column to write in value-column"),
            std::string::npos);
  EXPECT_NE(Written(*only, Row({"a"}, {Value::Null()})).find("column \"a\" is null: expected"), std::string::npos);
  EXPECT_NE(Written(*only, Row({"a"}, {Value::Int64(1)}, RowKind::kDelete)).find("of kind -D"), std::string::npos);
  const auto named = Made({{"format", "raw"}, {"value-column", "c"}});
  EXPECT_NE(Written(*named, Row({"a", "b"}, {})).find("column \"c\", which is not among the row's: a, b"),
            std::string::npos);
}

TEST(DebeziumJsonWriterTest, WritesAnUpdateAsADeletionAndACreation) {
  const auto writer = Made({{"format", "debezium-json"}});
  const auto of = [&](RowKind kind) {
    return Written(*writer, Row({"id", "no", "name"}, {Value::Int64(1), Value::Absent(), Value::Null()}, kind));
  };
  EXPECT_EQ(of(RowKind::kInsert), R"({"before":null,"after":{"id":1,"name":null},"op":"c"})");
  EXPECT_EQ(of(RowKind::kUpdateBefore), R"({"before":{"id":1,"name":null},"after":null,"op":"d"})");
  EXPECT_EQ(of(RowKind::kUpdateAfter), R"({"before":null,"after":{"id":1,"name":null},"op":"c"})");
  EXPECT_EQ(of(RowKind::kDelete), R"({"before":{"id":1,"name":null},"after":null,"op":"d"})");
}

}  // namespace
}  // namespace weir::connectors
