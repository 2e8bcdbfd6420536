#include "operators/row_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace weir::operators {
namespace {

TEST(RowCodecTest, EveryValueComesBackAsItWas) {
  const std::string_view bytes("\0\xff\n", 3);
  const std::vector<Value> values = {
      Value::Absent(),
      Value::Null(),
      Value::Bool(false),
      Value::Bool(true),
      Value::Int64(std::numeric_limits<int64_t>::min()),
      Value::Int64(std::numeric_limits<int64_t>::max()),
      Value::Text(ValueType::kDecimal, "7"),
      Value::Text(ValueType::kDecimal, "1.50E+3"),
      Value::Text(ValueType::kDecimal, "NaN"),
      Value::Double(-0.0),
      Value::Double(std::bit_cast<double>(uint64_t{0x7ff8000000000001})),
      Value::Double(0.1),
      Value::Text(ValueType::kString, ""),
      Value::Text(ValueType::kString, "zażółć"),
      Value::Text(ValueType::kBytes, bytes),
      Value::Text(ValueType::kJson, R"({"a" : [1.0, null]})"),
      Value::Text(ValueType::kJson, "null"),
      Value::Temporal(ValueType::kDate, -1),
      Value::Temporal(ValueType::kTime, 1),
      Value::Temporal(ValueType::kTimestamp, -2),
      Value::Temporal(ValueType::kTimestampTz, 1700000000123456),
  };
  std::string row;
  AppendRow(row, RowKind::kUpdateBefore, 0x8000000000000001, values);
  const std::optional<EncodedRow> read = ReadRow(row);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, RowKind::kUpdateBefore);
  EXPECT_EQ(read->schema, 0x8000000000000001);
  std::vector<Value> decoded(values.size());
  ASSERT_TRUE(DecodeValues(read->values, decoded));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(decoded[i].type(), values[i].type()) << i;
    if (values[i].has_text()) {
      EXPECT_EQ(decoded[i].text(), values[i].text()) << i;
    } else {
      EXPECT_EQ(decoded[i].int64_value(), values[i].int64_value()) << i;  // a double's bits
    }
  }
}

TEST(RowCodecTest, OtherBytesAreRefused) {
  std::string row;
  AppendRow(row, RowKind::kInsert, 1, std::vector<Value>{Value::Int64(1), Value::Text(ValueType::kString, "x")});
  std::vector<Value> two(2);
  for (size_t size = 0; size < row.size(); ++size) {
    const std::optional<EncodedRow> read = ReadRow(std::string_view(row).substr(0, size));
    EXPECT_FALSE(read.has_value() && DecodeValues(read->values, two)) << size;
  }
  std::vector<Value> one(1);
  EXPECT_FALSE(DecodeValues(ReadRow(row)->values, one));
  row[0] = 4;
  EXPECT_FALSE(ReadRow(row).has_value());
}

}  // namespace
}  // namespace weir::operators
