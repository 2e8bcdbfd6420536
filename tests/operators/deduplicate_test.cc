#include "operators/deduplicate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/random.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

const std::vector<std::string> kStates = {"newest", "to-forget"};

std::string Row(int64_t key, int64_t time, const std::string& kind = "+I") {
  const std::string t = std::to_string(time);
  return kind + " {\"k\": " + std::to_string(key) + ", \"t\": " + t + ", \"@time\": " + t + "}";
}

class DeduplicateTest : public testing::TestWithParam<HarnessMode> {
 protected:
  OperatorTestHarness Make(const std::string& options = "{}") const {
    return OperatorTestHarness(DeduplicateType(), options, {.mode = GetParam(), .keys = {"k"}});
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, DeduplicateTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(DeduplicateTest, B12_ARedeliveredVersionDoesNotPass) {
  OperatorTestHarness harness = Make();
  for (const int64_t version : {1, 2, 3, 2}) ASSERT_TRUE(harness.Process({Row(1, version)}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"t":1})", R"(+I {"k":1,"t":2})", R"(+I {"k":1,"t":3})"}));
  ASSERT_TRUE(harness.Process({Row(1, 4), Row(2, 2)}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"t":4})", R"(+I {"k":2,"t":2})"}));
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 1);
}

TEST_P(DeduplicateTest, B11_TheNewerOfABatchWinsAndRepetitionsGo) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({Row(1, 2), Row(1, 1), Row(1, 2)}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"t":2})"});
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 2);
}

TEST_P(DeduplicateTest, B21_RowsPassAtOnce) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({Row(1, 7)}).ok());
  EXPECT_EQ(harness.Take().size(), 1U);
}

TEST_P(DeduplicateTest, case_H52_ADeletedRowStaysDeleted) {
  OperatorTestHarness harness = Make();
  const Rows versions = {Row(1, 1), Row(1, 2, "+U"), R"(-D {"k": 1, "@time": 3})"};
  for (int times = 0; times < 2; ++times) {
    for (const std::string& version : versions) ASSERT_TRUE(harness.Process({version}).ok());
    ASSERT_TRUE(harness.Process({versions[0]}).ok());
  }
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"t":1})", R"(+U {"k":1,"t":2})", R"(-D {"k":1})"}));
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 5);
}

TEST_P(DeduplicateTest, case_H56_FamiliesOfOneTimePassOnceEach) {
  OperatorTestHarness harness = Make();
  const Rows families = {R"({"k": 3, "a": 1, "b": 2, "@time": 1})", R"({"k": 3, "c": 3, "@time": 1})"};
  for (const std::string& family : {families[0], families[1], families[0], families[1]}) {
    ASSERT_TRUE(harness.Process({family}).ok());
  }
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":3,"a":1,"b":2})", R"(+I {"k":3,"c":3})"}));
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 5, "b": 6, "@time": 2})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 3, "@time": 4})"}).ok());
  ASSERT_TRUE(harness.Process({families[1]}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":3,"a":5,"b":6})", R"(-D {"k":3})"}));
}

// A catch-up scan emits one family's history before the next one's.
TEST_P(DeduplicateTest, case_H56_WithColumnsApartAFamilyMayComeBehindANewerOne) {
  OperatorTestHarness harness = Make(R"({"columns-apart": true})");
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 1, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 5, "@time": 5})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "c": 4, "@time": 4})"}).ok());
  EXPECT_EQ(harness.Take().size(), 3U);
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 1, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "c": 4, "@time": 4})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 3, "@time": 4})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.Process({R"(-D {"k": 3, "@time": 6})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "d": 1, "@time": 5})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(-D {"k":3})"});
}

TEST_P(DeduplicateTest, AnUpdatePassesWithItsOldImage) {
  OperatorTestHarness harness = Make();
  const Rows update = {Row(1, 2, "-U"), Row(1, 2, "+U")};
  ASSERT_TRUE(harness.Process({Row(1, 1)}).ok());
  ASSERT_TRUE(harness.Process({update[0]}).ok());
  ASSERT_TRUE(harness.Process({update[1]}).ok());
  ASSERT_TRUE(harness.Process(update).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"t":1})", R"(-U {"k":1,"t":2})", R"(+U {"k":1,"t":2})"}));
}

// Two feeds of one table, one behind the other, into one target: behind a union the newest wins.
TEST_P(DeduplicateTest, case_H59_OfTwoFeedsTheNewestWins) {
  OperatorTestHarness harness = Make();
  SeededRandom random(5);
  std::map<std::string, int64_t> target;
  uint64_t first = 1;
  uint64_t second = 1;
  while (first <= 40 || second <= 40) {
    const bool ahead = second > 40 || (first <= 40 && random.OneIn(2));
    const auto time = static_cast<int64_t>(ahead ? first++ : second++);
    ASSERT_TRUE(harness.Process({Row(time % 3, time, "+U")}).ok());
    for (const std::string& row : harness.Take()) {
      int64_t& newest = target[row.substr(0, row.find(",\"t\""))];
      const int64_t passed = std::stoll(row.substr(row.find("\"t\":") + 4));
      EXPECT_GT(passed, newest);
      newest = passed;
    }
  }
  EXPECT_EQ(target, (std::map<std::string, int64_t>{{R"(+U {"k":0)", 39}, {R"(+U {"k":1)", 40}, {R"(+U {"k":2)", 38}}));
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 40);
}

TEST_P(DeduplicateTest, B43_KeysBehindTheRetentionAreForgotten) {
  OperatorTestHarness harness = Make(R"({"retention": 1})");  // ms
  constexpr int64_t kNs = 10'000;                             // between two rows: 100 in a retention
  const int rows = GetParam() == HarnessMode::kPlain ? 5000 : 500;
  for (int i = 0; i < rows; ++i) {
    // One key of each ten is always the same: it stays.
    ASSERT_TRUE(harness.Process({Row(i % 10 == 0 ? -1 : i, i * kNs)}).ok());
    if (i % 50 != 49) continue;
    const bool rescaled = GetParam() == HarnessMode::kRescale;  // a subtask's newest row is its own
    ASSERT_LE(harness.StateEntries(kStates), rescaled ? 500U : 190U) << i;
  }
  EXPECT_EQ(harness.Take().size(), static_cast<size_t>(rows));
  ASSERT_TRUE(harness.Process({Row(-1, (rows - 10) * kNs)}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.Process({Row(1, 1 * kNs)}).ok());  // forgotten
  EXPECT_EQ(harness.Take().size(), 1U);
}

TEST_P(DeduplicateTest, WithoutRetentionNothingIsForgotten) {
  OperatorTestHarness harness = Make(R"({"retention": 0})");
  for (int i = 1; i < 100; ++i) ASSERT_TRUE(harness.Process({Row(i, i * 1'000'000'000'000)}).ok());
  EXPECT_EQ(harness.Take().size(), 99U);
  EXPECT_EQ(harness.StateEntries(kStates), 99U);
  ASSERT_TRUE(harness.Process({Row(1, 1)}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
}

TEST_P(DeduplicateTest, ARowWithoutEventTimeGoesTheWayOfThePolicy) {
  OperatorTestHarness harness = Make(R"({"on-error": "skip"})");
  ASSERT_TRUE(harness.Process({R"({"k": 1})", Row(2, 1)}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":2,"t":1})"});
  EXPECT_EQ(harness.metrics().bad_records.load(), 1U);
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 0);
}

TEST_P(DeduplicateTest, EqualsTheSlowWay) {
  SeededRandom random(11);
  OperatorTestHarness harness = Make();
  std::map<int64_t, int64_t> newest;
  const int inputs = GetParam() == HarnessMode::kPlain ? 3000 : 150;
  for (int i = 0; i < inputs; ++i) {
    Rows rows;
    Rows expected;
    for (uint64_t n = 0; n < 1 + random.Below(5); ++n) {
      const auto key = static_cast<int64_t>(random.Below(12));
      const int64_t time = i + static_cast<int64_t>(random.Below(30));
      rows.push_back(Row(key, time));
      if (newest.contains(key) && newest[key] >= time) continue;
      newest[key] = time;
      expected.push_back("+I {\"k\":" + std::to_string(key) + ",\"t\":" + std::to_string(time) + "}");
    }
    ASSERT_TRUE(harness.Process(rows).ok());
    ASSERT_EQ(harness.Take(), expected) << i;
  }
}

TEST(DeduplicateOptionsTest, AreChecked) {
  EXPECT_EQ(ProblemsOf(DeduplicateType(), R"({"retention": "-1h"})").size(), 1U);
  EXPECT_EQ(ProblemsOf(DeduplicateType(), R"({"retention": "48h", "columns-apart": true})"), Rows{});
}

}  // namespace
}  // namespace weir::operators
