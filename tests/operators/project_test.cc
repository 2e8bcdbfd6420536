#include "operators/project.h"

#include <gtest/gtest.h>

#include "tests/operators/expression_operators.h"

namespace weir::operators {
namespace {

TEST(ProjectTest, ComputesColumnsInOrder) {
  ExpressionOperator project(ProjectType(), {{"keep", "none"}, {"on-error", "fail"}},
                             {{"twice", "amount * 2"}, {"id", "id"}, {"name", "'n' || id"}});
  Batch batch(OrdersSchema(), 2);
  AddOrder(batch, 1, Value::Text(ValueType::kDecimal, "0.10"));
  ASSERT_TRUE(project.Process(std::move(batch)).ok());
  EXPECT_EQ(project.Rows(), std::vector<std::string>{"+I twice=0.20 id=1 name=n1"});
}

TEST(ProjectTest, KeepAllPutsTheOtherColumnsInFront) {
  ExpressionOperator project(ProjectType(), {{"keep", "all"}, {"on-error", "fail"}},
                             {{"amount", "amount + 1"}, {"new", "id"}});
  Batch batch(OrdersSchema(), 2);
  AddOrder(batch, 5, Value::Int64(1));
  ASSERT_TRUE(project.Process(std::move(batch)).ok());
  EXPECT_EQ(project.Rows(), std::vector<std::string>{"+I id=5 amount=2 new=5"});
}

TEST(ProjectTest, PassedTextIsNotCopied) {
  ExpressionOperator project(ProjectType(), {{"keep", "none"}, {"on-error", "fail"}}, {{"a", "amount"}});
  Batch batch(OrdersSchema(), 2);
  AddOrder(batch, 5, Value::Text(ValueType::kString, "a text that lives in the first batch"));
  const char* before = batch.at(0, 1).text().data();
  ASSERT_TRUE(project.Process(std::move(batch)).ok());
  EXPECT_EQ(project.output().main[0].at(0, 0).text().data(), before);
  EXPECT_EQ(project.Rows(), std::vector<std::string>{"+I a=a text that lives in the first batch"});
}

TEST(ProjectTest, BatchesOfOneSchemaShareTheirNewOne) {
  ExpressionOperator project(ProjectType(), {{"keep", "all"}, {"on-error", "fail"}}, {{"x", "1"}});
  for (int64_t i = 0; i < 3; ++i) {
    Batch batch(OrdersSchema(), 2);
    AddOrder(batch, i, Value::Null());
    ASSERT_TRUE(project.Process(std::move(batch)).ok());
  }
  EXPECT_EQ(project.output().main[0].schema(), project.output().main[2].schema());
}

TEST(ProjectTest, ARowThatFailsIsLeftOutWhole) {
  ExpressionOperator project(ProjectType(), {{"keep", "none"}, {"on-error", "dead-letter"}},
                             {{"id", "id"}, {"q", "10 / amount"}});
  Batch batch(OrdersSchema(), 4);
  AddOrder(batch, 1, Value::Int64(5));
  AddOrder(batch, 2, Value::Int64(0));
  AddOrder(batch, 3, Value::Int64(2));
  ASSERT_TRUE(project.Process(std::move(batch)).ok());
  EXPECT_EQ(project.Rows(), (std::vector<std::string>{"+I id=1 q=2", "+I id=3 q=5"}));
  ASSERT_EQ(project.output().side.size(), 1U);
  EXPECT_EQ(project.output().side[0].at(0, 5).text(), "q: column 1: division by zero, in: 10 / amount");
}

TEST(ProjectTest, EachBrokenColumnIsReported) {
  EXPECT_EQ(FirstProblem(ProjectType(), {{"keep", "none"}, {"on-error", "fail"}}, {{"a", "1 +"}, {"b", "2"}}),
            "column 4: expected an expression, found the end\n  1 +\n     ^");
  EXPECT_EQ(FirstProblem(ProjectType(), {{"keep", "none"}, {"on-error", "fail"}}),
            "a projection without columns would give empty rows");
}

}  // namespace
}  // namespace weir::operators
