#include "operators/key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace weir::operators {
namespace {

Value String(std::string_view text) { return Value::Text(ValueType::kString, text); }
Value Number(std::string_view text) { return Value::Text(ValueType::kDecimal, text); }

std::string KeyOf(std::initializer_list<Value> values) {
  std::string key;
  for (const Value& value : values) AppendKey(key, value);
  return key;
}

TEST(KeyTest, EqualNumbersGiveTheSameKeyWhateverTheirText) {
  EXPECT_EQ(KeyOf({Value::Int64(7)}), KeyOf({Number("7.0")}));
  EXPECT_EQ(KeyOf({Value::Int64(7000)}), KeyOf({Number("7E+3")}));
  EXPECT_EQ(KeyOf({Number("0.10")}), KeyOf({Number("1E-1")}));
  EXPECT_EQ(KeyOf({Number("12345678901234567890123456789012345678901234567890")}),
            KeyOf({Number("1234567890123456789012345678901234567890123456789e1")}));
  EXPECT_EQ(KeyOf({Number("-0")}), KeyOf({Value::Int64(0)}));
  EXPECT_EQ(KeyOf({Value::Double(-0.0)}), KeyOf({Value::Double(0.0)}));
}

TEST(KeyTest, DifferentValuesGiveDifferentKeys) {
  const std::vector<std::string> keys = {KeyOf({Value::Absent()}),
                                         KeyOf({Value::Null()}),
                                         KeyOf({Value::Bool(false)}),
                                         KeyOf({Value::Bool(true)}),
                                         KeyOf({Value::Int64(0)}),
                                         KeyOf({Value::Int64(-1)}),
                                         KeyOf({Value::Int64(1)}),
                                         KeyOf({Number("0.1")}),
                                         KeyOf({Value::Double(1)}),
                                         KeyOf({String("")}),
                                         KeyOf({String("1")}),
                                         KeyOf({Value::Text(ValueType::kBytes, "1")}),
                                         KeyOf({Value::Text(ValueType::kJson, "1")}),
                                         KeyOf({Value::Temporal(ValueType::kDate, 1)}),
                                         KeyOf({Value::Temporal(ValueType::kTime, 1)}),
                                         KeyOf({Value::Temporal(ValueType::kTimestamp, 1)}),
                                         KeyOf({Value::Temporal(ValueType::kTimestampTz, 1)}),
                                         KeyOf({String("a"), String("bc")}),
                                         KeyOf({String("ab"), String("c")}),
                                         KeyOf({String("abc")}),
                                         KeyOf({String("abc"), Value::Null()}),
                                         KeyOf({Value::Null(), String("abc")})};
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST(KeyTest, DecodesToTheValues) {
  const std::string key =
      KeyOf({Value::Int64(std::numeric_limits<int64_t>::min()), String("n\xC3\xB6rd"), Value::Null(), Number("1.50"),
             Value::Double(2.5), Value::Temporal(ValueType::kDate, -3), Value::Bool(true), Value::Absent()});
  std::vector<Value> values(8);
  ASSERT_TRUE(DecodeKey(key, values));
  EXPECT_EQ(values[0].int64_value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(values[1].text(), "n\xC3\xB6rd");
  EXPECT_TRUE(values[2].null());
  EXPECT_EQ(values[3].text(), "1.5");
  EXPECT_EQ(values[4].double_value(), 2.5);
  EXPECT_EQ(values[5].int64_value(), -3);
  EXPECT_TRUE(values[6].bool_value());
  EXPECT_TRUE(values[7].absent());
  EXPECT_EQ(PrintKey(key), "-9223372036854775808, \"n\xC3\xB6rd\", null, 1.5, 2.5, -3, true, absent");
}

TEST(KeyTest, RefusesOtherBytes) {
  const std::string key = KeyOf({Value::Int64(300), String("abc")});
  std::vector<Value> two(2);
  std::vector<Value> one(1);
  EXPECT_TRUE(DecodeKey(key, two));
  EXPECT_FALSE(DecodeKey(key, one));
  for (size_t size = 0; size < key.size(); ++size)
    EXPECT_FALSE(DecodeKey(std::string_view(key).substr(0, size), two)) << size;
  EXPECT_FALSE(DecodeKey("\x7f", one));
}

TEST(KeyTest, ExactValuesKeepTheirText) {
  std::string bytes;
  AppendExactValue(bytes, Number("1.50"));
  std::string_view rest = bytes;
  EXPECT_EQ(TakeKeyValue(rest)->text(), "1.50");
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace weir::operators
