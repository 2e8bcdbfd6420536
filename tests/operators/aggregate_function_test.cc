#include "operators/aggregate_function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::operators {
namespace {

Value Number(std::string_view text) { return Value::Text(ValueType::kDecimal, text); }
Value String(std::string_view text) { return Value::Text(ValueType::kString, text); }

std::string Print(const Value& value) {
  if (value.missing()) return "null";
  if (value.type() == ValueType::kDouble) return std::to_string(value.double_value());
  return value.has_text() ? std::string(value.text()) : std::to_string(value.int64_value());
}

std::string ResultAfter(AggregateFunction function, const std::vector<Value>& added,
                        const std::vector<Value>& taken = {}) {
  Accumulator accumulator;
  for (const Value& value : added) EXPECT_EQ(AddToAccumulator(function, accumulator, value, false), "");
  for (const Value& value : taken) EXPECT_EQ(AddToAccumulator(function, accumulator, value, true), "");
  std::string bytes;
  AppendAccumulator(bytes, function, accumulator);
  std::string_view rest = bytes;
  Accumulator read;
  EXPECT_TRUE(TakeAccumulator(rest, function, read) && rest.empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string_view cut = std::string_view(bytes).substr(0, size);
    Accumulator unread;
    EXPECT_FALSE(TakeAccumulator(cut, function, unread));
  }
  Arena arena;
  const std::string result = Print(ResultOf(function, accumulator, arena));
  EXPECT_EQ(Print(ResultOf(function, read, arena)), result);
  return result;
}

TEST(AggregateFunctionTest, SumsAreExact) {
  constexpr auto kSum = AggregateFunction::kSum;
  EXPECT_EQ(ResultAfter(kSum, {}), "null");
  EXPECT_EQ(ResultAfter(kSum, {Value::Null(), Value::Absent()}), "null");
  EXPECT_EQ(ResultAfter(kSum, {Value::Int64(1), Value::Null(), Value::Int64(2)}), "3");
  EXPECT_EQ(ResultAfter(kSum, {Value::Int64(INT64_MAX), Value::Int64(INT64_MAX)}), "18446744073709551614");
  EXPECT_EQ(ResultAfter(kSum, {Value::Int64(INT64_MIN), Value::Int64(-1)}), "-9223372036854775809");
  EXPECT_EQ(ResultAfter(kSum, {Number("0.1"), Number("0.20"), Value::Int64(1)}), "1.30");
  EXPECT_EQ(ResultAfter(kSum, {Number("0.1"), Number("0.20")}, {Number("0.1")}), "0.20");
  EXPECT_EQ(ResultAfter(kSum, {Number("5")}, {Number("5.0")}), "null");
  EXPECT_EQ(ResultAfter(kSum, {Number("NaN"), Number("1")}), "NaN");
  EXPECT_EQ(ResultAfter(kSum, {Number("NaN"), Number("1"), Number("Infinity")}, {Number("NaN")}), "Infinity");
  EXPECT_EQ(ResultAfter(kSum, {Number("Infinity"), Number("1.5")}, {Number("Infinity")}), "1.5");
  EXPECT_EQ(ResultAfter(kSum, {Value::Double(1.5), Value::Int64(2)}), "3.500000");
  EXPECT_EQ(ResultAfter(kSum, {Value::Double(0.1), Value::Double(0.2), Number("7")},
                        {Value::Double(0.2), Value::Double(0.1)}),
            "7");
}

TEST(AggregateFunctionTest, AveragesDivideAsNumeric) {
  constexpr auto kAvg = AggregateFunction::kAvg;
  EXPECT_EQ(ResultAfter(kAvg, {Value::Int64(1), Value::Int64(2)}), "1.5000000000000000");
  EXPECT_EQ(ResultAfter(kAvg, {Value::Int64(10), Value::Int64(0), Value::Int64(0)}), "3.3333333333333333");
  EXPECT_EQ(ResultAfter(kAvg, {Value::Int64(1), Value::Null()}), "1.00000000000000000000");
  EXPECT_EQ(ResultAfter(kAvg, {Value::Int64(1), Value::Int64(3), Value::Int64(8)}, {Value::Int64(8)}),
            "2.0000000000000000");
  EXPECT_EQ(ResultAfter(kAvg, {}), "null");
}

TEST(AggregateFunctionTest, RefusesWhatIsNoNumber) {
  Accumulator accumulator;
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kSum, accumulator, String("ten"), false),
            "a string is no number: \"ten\"");
  accumulator = Accumulator();
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kSum, accumulator, Value::Int64(1), true),
            "a value is taken back that was never added");
  accumulator = Accumulator();
  const std::string nines(38, '9');
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kSum, accumulator, Number(nines), false), "");
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kSum, accumulator, Value::Int64(1), false),
            "the sum has more than 38 digits");
  accumulator = Accumulator();
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kSum, accumulator, Number(nines + "9"), false),
            "a number with more than 38 digits");
  EXPECT_EQ(AddToAccumulator(AggregateFunction::kMin, accumulator, Value::Bool(true), false),
            "values of type bool have no order");
}

TEST(AggregateFunctionTest, OrderedBytesHaveTheOrderOfTheValues) {
  const std::vector<Value> numbers = {Number("-Infinity"),
                                      Number("-1e30"),
                                      Value::Int64(INT64_MIN),
                                      Number("-20"),
                                      Number("-1.5"),
                                      Value::Int64(-1),
                                      Number("-0.5"),
                                      Number("-1e-30"),
                                      Value::Int64(0),
                                      Number("1e-30"),
                                      Number("0.05"),
                                      Value::Double(0.25),
                                      Number("0.5"),
                                      Value::Int64(1),
                                      Number("1.05"),
                                      Number("1.5"),
                                      Value::Int64(2),
                                      Value::Int64(10),
                                      Number("1e2"),
                                      Value::Int64(INT64_MAX),
                                      Number("1e300"),
                                      Number("Infinity"),
                                      Number("NaN")};
  const std::vector<Value> strings = {String(""),
                                      String(std::string_view("\0", 1)),
                                      String(std::string_view("\0a", 2)),
                                      String("a"),
                                      String(std::string_view("a\0", 2)),
                                      String("ab"),
                                      String("b"),
                                      String("\xff")};
  const auto check = [](const std::vector<Value>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t j = 0; j < values.size(); ++j) {
        std::string a, b, down_a, down_b;
        AppendOrdered(a, values[i], false);
        AppendOrdered(b, values[j], false);
        AppendOrdered(down_a, values[i], true);
        AppendOrdered(down_b, values[j], true);
        EXPECT_EQ(a < b, i < j) << i << " " << j;
        EXPECT_EQ(down_a < down_b, j < i) << i << " " << j;
        EXPECT_EQ(*CompareForExtreme(values[i], values[j]), i < j ? -1 : (i > j ? 1 : 0)) << i << " " << j;
        EXPECT_EQ(b.starts_with(a), i == j) << i << " " << j;
      }
    }
  };
  check(numbers);
  check(strings);
  std::string a, b;
  AppendOrdered(a, Number("1.50"), false);
  AppendOrdered(b, Number("15E-1"), false);
  EXPECT_EQ(a, b);
  EXPECT_EQ(CompareForExtreme(String("a"), Value::Int64(1)), std::nullopt);
}

}  // namespace
}  // namespace weir::operators
