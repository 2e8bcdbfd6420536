#include "operators/filter.h"

#include <gtest/gtest.h>

#include "tests/operators/expression_operators.h"

namespace weir::operators {
namespace {

TEST(FilterTest, OnlyTrueKeepsARow) {
  ExpressionOperator filter(FilterType(), {{"where", "amount > 10"}, {"on-error", "fail"}});
  Batch batch(OrdersSchema(), 8);
  AddOrder(batch, 1, Value::Int64(11));
  AddOrder(batch, 2, Value::Int64(10));
  AddOrder(batch, 3, Value::Null());
  AddOrder(batch, 4, Value::Text(ValueType::kDecimal, "10.01"));
  ASSERT_TRUE(filter.Process(std::move(batch)).ok());
  EXPECT_EQ(filter.Rows(), (std::vector<std::string>{"+I id=1 amount=11", "+I id=4 amount=10.01"}));
}

TEST(FilterTest, KindsAndKeysStayWithTheirRows) {
  ExpressionOperator filter(FilterType(), {{"where", "id >= 2"}, {"on-error", "fail"}});
  Batch batch(OrdersSchema(), 8);
  AddOrder(batch, 1, Value::Int64(1));
  AddOrder(batch, 2, Value::Int64(1));
  batch.set_kind(1, RowKind::kDelete);
  batch.SetKey(0, {1, "one"});
  batch.SetKey(1, {2, "two"});
  ASSERT_TRUE(filter.Process(std::move(batch)).ok());
  ASSERT_EQ(filter.output().main.size(), 1U);
  EXPECT_EQ(filter.output().main[0].kind(0), RowKind::kDelete);
  EXPECT_EQ(filter.output().main[0].key(0).bytes, "two");
}

TEST(FilterTest, ARowThatFailsGoesTheWayOfThePolicy) {
  const auto make = [] {
    Batch batch(OrdersSchema(), 8);
    AddOrder(batch, 1, Value::Int64(0));
    AddOrder(batch, 2, Value::Int64(5));
    return batch;
  };
  ExpressionOperator fail(FilterType(), {{"where", "10 / amount = 2"}, {"on-error", "fail"}});
  const Status failed = fail.Process(make());
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("column 1: division by zero, in: 10 / amount"), std::string::npos)
      << failed.message();

  ExpressionOperator skip(FilterType(), {{"where", "10 / amount = 2"}, {"on-error", "skip"}});
  ASSERT_TRUE(skip.Process(make()).ok());
  EXPECT_EQ(skip.Rows(), std::vector<std::string>{"+I id=2 amount=5"});
  EXPECT_EQ(skip.metrics().bad_records.load(), 1U);

  ExpressionOperator letter(FilterType(), {{"where", "10 / amount = 2"}, {"on-error", "dead-letter"}});
  ASSERT_TRUE(letter.Process(make()).ok());
  ASSERT_EQ(letter.output().side.size(), 1U);
  const Batch& letters = letter.output().side[0];
  ASSERT_EQ(letters.rows(), 1U);
  EXPECT_EQ(letters.at(0, 4).text(), R"({"id":1,"amount":0})");
  EXPECT_EQ(letters.at(0, 5).text(), "column 1: division by zero, in: 10 / amount");
}

TEST(FilterTest, AConditionThatIsNoBooleanIsRefused) {
  EXPECT_EQ(FirstProblem(FilterType(), {{"where", "1 + 1"}, {"on-error", "fail"}}),
            "expected a condition that is true or false, found one of type int64");
  EXPECT_EQ(FirstProblem(FilterType(), {{"where", "amount >"}, {"on-error", "fail"}}),
            "column 9: expected an expression, found the end\n  amount >\n          ^");
  EXPECT_EQ(FirstProblem(FilterType(), {{"where", "amount"}, {"on-error", "fail"}}), "");
  ExpressionOperator skip(FilterType(), {{"where", "amount"}, {"on-error", "skip"}});
  Batch batch(OrdersSchema(), 2);
  AddOrder(batch, 1, Value::Int64(3));
  ASSERT_TRUE(skip.Process(std::move(batch)).ok());
  EXPECT_EQ(skip.metrics().bad_records.load(), 1U);
}

}  // namespace
}  // namespace weir::operators
