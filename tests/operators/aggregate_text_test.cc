#include "operators/aggregate_text.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "operators/aggregate_function.h"
#include "operators/key.h"

namespace weir::operators {
namespace {

Accumulator Added(AggregateFunction function, const std::vector<Value>& values) {
  Accumulator accumulator;
  for (const Value& value : values) {
    EXPECT_EQ(AddToAccumulator(function, accumulator, value, false), "");
    if (function == AggregateFunction::kMin) accumulator.extreme = value;
  }
  return accumulator;
}

TEST(AggregateTextTest, AGroupIsReadFromItsRecordedTypeAndKeepsEveryDigit) {
  const std::vector<Value> values = {Value::Text(ValueType::kDecimal, "9007199254740993.10"), Value::Int64(1)};
  std::string bytes;
  AppendVarint(bytes, 2);
  for (const auto function : {AggregateFunction::kCount, AggregateFunction::kSum, AggregateFunction::kMin}) {
    AppendAccumulator(bytes, function, Added(function, values));
  }
  // Brackets and semicolons in an expression are its own.
  const std::string codec = "aggregate/v1(count(*);sum(CAST(a AS numeric(20, 2)));min(replace(b, ';)', '(')) +values)";
  std::string fitting = codec;
  fitting.erase(fitting.find(" +values"), 1);
  std::string json = "before ";
  EXPECT_FALSE(AppendAggregatesAsJson(codec, bytes, json));
  ASSERT_TRUE(AppendAggregatesAsJson(fitting, bytes, json));
  EXPECT_EQ(json, R"x(before {"rows":2,"aggregates":[{"function":"count","of":"*","count":2,"result":2},)x"
                  R"x({"function":"sum","of":"CAST(a AS numeric(20, 2))","count":2,"result":9007199254740994.10},)x"
                  R"x({"function":"min","of":"replace(b, ';)', '(')","count":2,"result":1}]})x");
}

TEST(AggregateTextTest, OtherBytesAndOtherTypesAreRefused) {
  std::string bytes;
  AppendVarint(bytes, 1);
  AppendAccumulator(bytes, AggregateFunction::kCount, Added(AggregateFunction::kCount, {Value::Int64(1)}));
  std::string json;
  for (const std::string codec : {"aggregate/v1(count(*);sum(x))", "aggregate/v1()", "aggregate/v1(count(*)",
                                  "aggregate/v1(median(x))", "aggregate/v2(count(*))", "int64", ""}) {
    EXPECT_FALSE(AppendAggregatesAsJson(codec, bytes, json)) << codec;
  }
  EXPECT_FALSE(AppendAggregatesAsJson("aggregate/v1(count(*))", bytes + "x", json));
  EXPECT_FALSE(AppendAggregatesAsJson("aggregate/v1(count(*))", {}, json));
  EXPECT_EQ(json, "");
}

TEST(AggregateTextTest, AValueBehindMinAndMax) {
  std::string bytes;
  AppendVarint(bytes, 3);
  AppendExactValue(bytes, Value::Text(ValueType::kDecimal, "1.50"));
  std::string value;
  std::string count;
  ASSERT_TRUE(AppendAggregateValueAsJson(bytes, value, count));
  EXPECT_EQ(value, "1.50");
  EXPECT_EQ(count, "3");
  EXPECT_FALSE(AppendAggregateValueAsJson(bytes + "x", value, count));
  EXPECT_FALSE(AppendAggregateValueAsJson({}, value, count));
}

}  // namespace
}  // namespace weir::operators
