#include "operators/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

const std::vector<std::string> kStates = {"groups", "values-0", "values-3", "values-4"};

class AggregateTest : public testing::TestWithParam<HarnessMode> {
 protected:
  // `aggregates` and further options; the key is "k".
  OperatorTestHarness Make(const std::string& aggregates, const std::string& more = "") const {
    return OperatorTestHarness(AggregateType(), "{\"keys\": \"k\", \"aggregates\": {" + aggregates + "}" + more + "}",
                               {.mode = GetParam(), .keys = {"k"}});
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, AggregateTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

constexpr char kAll[] =
    R"("n": {"function": "count"}, "a": {"function": "count", "column": "v"}, "s": {"function": "sum", "column": "v"},
    "lo": {"function": "min", "column": "v"}, "hi": {"function": "max", "column": "v"}, "m": {"function": "avg",
      "column": "v"})";

TEST_P(AggregateTest, AnswersEachRow) {
  OperatorTestHarness harness = Make(kAll);
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 2.50})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 2, "v": null})", R"({"k": 1, "v": 1})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{
                                R"(+I {"k":1,"n":1,"a":1,"s":2.50,"lo":2.50,"hi":2.50,"m":2.5000000000000000})",
                                R"(+I {"k":2,"n":1,"a":0,"s":null,"lo":null,"hi":null,"m":null})",
                                R"(+U {"k":1,"n":2,"a":2,"s":3.50,"lo":1,"hi":2.50,"m":1.7500000000000000})",
                            }));
}

TEST_P(AggregateTest, FollowsRowsThatAreTakenBack) {
  OperatorTestHarness harness = Make(kAll);
  ASSERT_TRUE(
      harness.Process({R"({"k": 1, "v": 3})", R"({"k": 1, "v": 1})", R"({"k": 1, "v": 1})", R"({"k": 1, "v": 5})"})
          .ok());
  harness.Take();
  ASSERT_TRUE(harness.Process({R"(-U {"k": 1, "v": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 1, "v": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 1, "v": 5.0})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 1, "v": 3})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{
                                R"(+U {"k":1,"n":3,"a":3,"s":9,"lo":1,"hi":5,"m":3.0000000000000000})",
                                R"(+U {"k":1,"n":2,"a":2,"s":8,"lo":3,"hi":5,"m":4.0000000000000000})",
                                R"(+U {"k":1,"n":1,"a":1,"s":3.0,"lo":3,"hi":3,"m":3.0000000000000000})",
                                R"(-D {"k":1,"n":1,"a":1,"s":3.0,"lo":3,"hi":3,"m":3.0000000000000000})",
                            }));
  EXPECT_EQ(harness.StateEntries(kStates), 0U);
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 4})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"n":1,"a":1,"s":4,"lo":4,"hi":4,"m":4.0000000000000000})"});
}

TEST_P(AggregateTest, PutsOldValuesInFrontWhereAsked) {
  OperatorTestHarness harness = Make(R"("lo": {"function": "min", "column": "v"})", R"(, "changelog": "retract")");
  ASSERT_TRUE(harness.Process({R"({"k": "a", "v": "y"})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": "a", "v": "x"})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": "a", "v": "x"})", R"(-D {"k": "a", "v": "y"})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":"a","lo":"y"})", R"(-U {"k":"a","lo":"y"})", R"(+U {"k":"a","lo":"x"})",
                                  R"(-U {"k":"a","lo":"x"})", R"(+U {"k":"a","lo":"y"})", R"(-D {"k":"a","lo":"y"})"}));
}

TEST_P(AggregateTest, AnswersTheLastRowOfAKeyInABatch) {
  OperatorTestHarness harness =
      Make(R"("s": {"function": "sum", "column": "v"})", R"(, "emit": "per-batch", "changelog": "retract")");
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 1})", R"({"k": 1, "v": 2})", R"({"k": 1, "v": 3})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"s":6})"});
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 4})", R"(-D {"k": 1, "v": 1})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(-U {"k":1,"s":6})", R"(+U {"k":1,"s":9})"}));
  ASSERT_TRUE(harness.Process({R"({"k": 2, "v": 4})", R"(-D {"k": 2, "v": 4})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.Process({R"(-D {"k": 1, "v": 4})", R"(-D {"k": 1, "v": 2})", R"(-D {"k": 1, "v": 3})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(-D {"k":1,"s":9})"});
  EXPECT_EQ(harness.StateEntries(kStates), 0U);
}

TEST_P(AggregateTest, ABadRowChangesNothing) {
  OperatorTestHarness harness = Make(kAll, R"(, "on-error": "dead-letter")");
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 2})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "two"})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 1, "v": 7})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 9, "v": 7})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 3})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"n":1,"a":1,"s":2,"lo":2,"hi":2,"m":2.0000000000000000})",
                                  R"(+U {"k":1,"n":2,"a":2,"s":5,"lo":2,"hi":3,"m":2.5000000000000000})"}));
  const Rows letters = harness.TakeSide("dead-letter");
  ASSERT_EQ(letters.size(), 3U);
  EXPECT_NE(letters[0].find(
                R"("key":"1","value":"{\"k\":1,\"v\":\"two\"}","error":"\"s\" (sum of v) of key 1: a string is no )"
                R"(number: \"two\"")"),
            std::string::npos)
      << letters[0];
  EXPECT_NE(letters[1].find("\\\"lo\\\" (min of v) of key 1: a value is taken back that was never added"),
            std::string::npos)
      << letters[1];
  EXPECT_NE(letters[2].find("a row of key 9 is taken back, and the key has no rows"), std::string::npos) << letters[2];
}

TEST_P(AggregateTest, AnOverflowNamesKeyAndColumn) {
  OperatorTestHarness harness = Make(R"("total": {"function": "sum", "column": "v"})");
  ASSERT_TRUE(harness.Process({R"({"k": "x", "v": 99999999999999999999999999999999999999})"}).ok());
  EXPECT_EQ(harness.Process({R"({"k": "x", "v": 1})"}).message(),
            R"("total" (sum of v) of key "x": the sum has more than 38 digits; the row is +I {"k":"x","v":1})");
}

TEST_P(AggregateTest, ComputesOfExpressions) {
  OperatorTestHarness harness = Make(R"("paid": {"function": "sum", "column": "CASE WHEN ok THEN v * 2 END"})");
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 2, "ok": true})", R"({"k": 1, "v": 5, "ok": false})"}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"paid":4})", R"(+U {"k":1,"paid":4})"}));
}

TEST_P(AggregateTest, WithoutRetractionsAMinKeepsOneValue) {
  OperatorTestHarness harness = Make(R"("lo": {"function": "min", "column": "v"})", R"(, "retractions": false)");
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 2})", R"({"k": 1, "v": 1})", R"({"k": 1, "v": 3})"}).ok());
  EXPECT_EQ(harness.StateEntries(kStates), 1U);
  EXPECT_NE(harness.Process({R"(-D {"k": 1, "v": 1})"}).message().find("`retractions: false`"), std::string::npos);
}

// Against a plain multiset for each key.
TEST_P(AggregateTest, EqualsTheSlowWay) {
  SeededRandom random(7);
  OperatorTestHarness harness = Make(kAll);
  std::map<uint64_t, std::multiset<int64_t>> groups;
  const int inputs = GetParam() == HarnessMode::kPlain ? 2000 : 150;
  for (int i = 0; i < inputs; ++i) {
    const uint64_t k = random.Below(5);
    std::multiset<int64_t>& group = groups[k];
    const bool retract = !group.empty() && random.OneIn(2);
    int64_t v = static_cast<int64_t>(random.Below(20)) - 10;
    if (retract) v = *std::next(group.begin(), static_cast<int64_t>(random.Below(group.size())));
    const std::multiset<int64_t> before = group;
    if (retract) {
      group.erase(group.find(v));
    } else {
      group.insert(v);
    }
    ASSERT_TRUE(harness
                    .Process({std::string(retract ? "-D" : "+I") + R"( {"k": )" + std::to_string(k) + R"(, "v": )" +
                              std::to_string(v) + "}"})
                    .ok());
    const std::multiset<int64_t>& shown = group.empty() ? before : group;
    int64_t sum = 0;
    for (const int64_t value : shown) sum += value;
    const std::string kind = before.empty() ? "+I" : (group.empty() ? "-D" : "+U");
    const std::string n = std::to_string(shown.size());
    const std::string expected = kind + R"( {"k":)" + std::to_string(k) + R"(,"n":)" + n + R"(,"a":)" + n + R"(,"s":)" +
                                 std::to_string(sum) + R"(,"lo":)" + std::to_string(*shown.begin()) + R"(,"hi":)" +
                                 std::to_string(*shown.rbegin()) + R"(,"m":)";
    const Rows rows = harness.Take();
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(rows[0].substr(0, expected.size()), expected) << i;
  }
}

TEST(AggregateOptionsTest, AreChecked) {
  EXPECT_EQ(ProblemsOf(AggregateType(), R"({"aggregates": {"x": {"function": "sum"}}})"),
            Rows{"/aggregates/x/column: a sum without a column"});
  EXPECT_EQ(ProblemsOf(AggregateType(), R"({"aggregates": {"x": {"function": "mean", "column": "v"}}})"),
            Rows{"/aggregates/x/function: unknown function \"mean\""});
  EXPECT_EQ(ProblemsOf(AggregateType(), R"({"keys": "x", "aggregates": {"x": {"function": "count"}}})"),
            Rows{"/aggregates/x: aggregate \"x\" has the name of a column of the key"});
  EXPECT_EQ(ProblemsOf(AggregateType(), R"({"aggregates": {}})"), Rows{"/aggregates: \"aggregates\" is empty"});
}

}  // namespace
}  // namespace weir::operators
