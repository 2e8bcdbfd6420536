// filter and project on a stream of many tables: what the model has as options of a table (B39: rename, ignore, exprs).
#include <gtest/gtest.h>

#include "operators/filter.h"
#include "operators/project.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

class TableTransformsTest : public testing::TestWithParam<HarnessMode> {
 protected:
  Rows Run(const OperatorType& type, std::string_view options, const Rows& rows) const {
    OperatorTestHarness harness(type, options, {.mode = GetParam()});
    const Status status = harness.Process(rows);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return harness.Take();
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, TableTransformsTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(TableTransformsTest, B39_ProjectChangesTheRowsOfOneTable) {
  EXPECT_EQ(Run(ProjectType(),
                R"({"when": "t = 'orders'", "keep": "all", "columns": {"total": "price * n"}, "drop": ["internal"],
                    "rename": {"id": "order_id", "price": "unit_price"}})",
                {R"({"t": "orders", "id": 1, "internal": 9, "price": 0.50, "n": 4})", R"(-D {"t": "users", "id": 5})",
                 R"(+U {"t": "orders", "id": 2, "price": 1, "n": 1})", R"({"t": null, "id": 3, "price": 1, "n": 1})"}),
            (Rows{R"(+I {"t":"orders","order_id":1,"unit_price":0.50,"n":4,"total":2.00})",
                  R"(-D {"t":"users","id":5})", R"(+U {"t":"orders","order_id":2,"unit_price":1,"n":1,"total":1})",
                  R"(+I {"t":null,"id":3,"price":1,"n":1})"}));
}

TEST_P(TableTransformsTest, RowsOfOneShapeStayInOrder) {
  EXPECT_EQ(Run(ProjectType(), R"({"when": "id % 2 = 0", "keep": "all", "columns": {"even": "true"}})",
                {R"({"id": 1})", R"({"id": 2})", R"({"id": 4})", R"({"id": 5})", R"({"id": 6})"}),
            (Rows{R"(+I {"id":1})", R"(+I {"id":2,"even":true})", R"(+I {"id":4,"even":true})", R"(+I {"id":5})",
                  R"(+I {"id":6,"even":true})"}));
}

TEST_P(TableTransformsTest, RenamedColumnsKeepTheirPlaceAndTakeThatOfOthers) {
  const Rows row = {R"({"a": 1, "b": 2, "c": 3})"};
  EXPECT_EQ(Run(ProjectType(), R"({"keep": "all", "rename": {"a": "b", "b": "a"}})", row),
            Rows{R"(+I {"b":1,"a":2,"c":3})"});
  EXPECT_EQ(Run(ProjectType(), R"({"keep": "all", "rename": {"a": "c"}})", row), Rows{R"(+I {"c":1,"b":2})"});
  EXPECT_EQ(Run(ProjectType(), R"({"keep": "all", "rename": {"z": "c"}})", row), Rows{R"(+I {"a":1,"b":2,"c":3})"});
  EXPECT_EQ(Run(ProjectType(), R"({"keep": "all", "rename": {"a": "d"}, "columns": {"d": "a + 1"}})", row),
            Rows{R"(+I {"b":2,"c":3,"d":2})"});
}

TEST_P(TableTransformsTest, B39_FilterAsksTheRowsOfOneTable) {
  EXPECT_EQ(Run(FilterType(), R"({"when": "t = 'orders'", "where": "n > 1"})",
                {R"({"t": "orders", "n": 1})", R"({"t": "orders", "n": 2})", R"({"t": "users"})", R"({"n": 0})"}),
            (Rows{R"(+I {"t":"orders","n":2})", R"(+I {"t":"users"})", R"(+I {"n":0})"}));
}

TEST_P(TableTransformsTest, AConditionWithoutAnAnswerIsABadRow) {
  for (const auto& [type, more] :
       {std::pair(ProjectType(), R"("keep": "all")"), std::pair(FilterType(), R"("where": "true")")}) {
    OperatorTestHarness harness(type, std::string(R"({"when": "1 / n = 1", "on-error": "dead-letter", )") + more + "}",
                                {.mode = GetParam()});
    ASSERT_TRUE(harness.Process({R"({"n": 1})", R"({"n": 0})", R"({"n": 2})"}).ok());
    EXPECT_EQ(harness.Take(), (Rows{R"(+I {"n":1})", R"(+I {"n":2})"}));
    EXPECT_EQ(harness.TakeSide("dead-letter").size(), 1U);
  }
}

TEST(TableTransformsCheckTest, WhatMakesNoSenseIsTold) {
  EXPECT_EQ(ProblemsOf(ProjectType(), R"({"columns": {"a": "1"}, "rename": {"b": "c"}, "drop": ["d"]})"),
            (Rows{R"(/rename: rename is for columns that are passed on: it needs "keep": "all")",
                  R"(/drop: drop is for columns that are passed on: it needs "keep": "all")"}));
  EXPECT_EQ(ProblemsOf(ProjectType(), R"({"keep": "all", "rename": {"a": "c", "b": "c"}, "drop": ["a"]})"),
            (Rows{"/rename/a: the column is also in `drop`", R"(/rename/b: two columns get the name "c")"}));
  EXPECT_EQ(ProblemsOf(ProjectType(), R"({"keep": "all", "when": "1"})"),
            Rows{"/when: expected a condition that is true or false, found one of type int64"});
  EXPECT_EQ(ProblemsOf(FilterType(), R"({"where": "true", "when": "'x'"})").size(), 1U);
}

}  // namespace
}  // namespace weir::operators
