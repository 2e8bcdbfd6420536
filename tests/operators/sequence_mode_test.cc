// `sequence` with a best-effort-window: when it switches, what leaves then, and that nothing leaves twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "operators/lag_switch.h"
#include "operators/sequence.h"
#include "tests/harness/operator_test_harness.h"
#include "tests/simulation/manual_clock.h"

namespace weir::operators {
namespace {

using std::chrono::seconds;

const std::vector<std::string> kRowsState = {"rows"};
const std::vector<std::string> kLeftState = {"left"};

class SequenceModeTest : public testing::TestWithParam<HarnessMode> {
 protected:
  OperatorTestHarness Make(const std::string& window = "100s") const {
    return OperatorTestHarness(SequenceType(), R"({"best-effort-window": ")" + window + "\"}",
                               {.mode = GetParam(), .keys = {"k"}, .clock = &clock_});
  }
  // Second `second` after the clock's first.
  static Watermark At(int64_t second) { return {{(kBegin + second) * 1'000'000'000, 0}}; }
  // A row of that second; `members` without braces.
  static std::string Row(int64_t second, const std::string& members, const std::string& kind = "+I") {
    return kind + " {" + members + ", \"@time\": " + std::to_string((kBegin + second) * 1'000'000'000) + "}";
  }
  static Rows Sorted(Rows rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  // The watermark is at second `second`, the clock `lag` further.
  void Lag(OperatorTestHarness& harness, int64_t second, int64_t lag) {
    clock_.JumpWall(seconds(kBegin + second + lag) - std::chrono::nanoseconds(clock_.WallNs()));
    ASSERT_TRUE(harness.ProcessWatermark(At(second)).ok());
    ASSERT_TRUE(harness.Continue().ok());
  }

  static constexpr int64_t kBegin = 1'704'067'200;
  simulation::ManualClock clock_{kBegin * 1'000'000'000};
};

INSTANTIATE_TEST_SUITE_P(Modes, SequenceModeTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(SequenceModeTest, B42_ItBeginsInBestEffortAndSwitchesByLagWithHysteresis) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({Row(1, R"("k": 1)")}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1})"}) << "no watermark has come";
  EXPECT_EQ(harness.NamedMetric("best_effort"), 1);
  // Each lag, and the mode that holds from then on.
  const std::vector<std::pair<int64_t, bool>> course = {{500, true}, {100, true}, {26, true},  {25, false}, {26, false},
                                                        {99, false}, {26, false}, {100, true}, {99, true},  {26, true},
                                                        {24, false}, {-5, false}, {99, false}, {101, true}, {0, false}};
  int64_t second = 10;
  int64_t k = 10;
  size_t waiting = 0;
  for (const auto& [lag, best_effort] : course) {
    // A restored subtask takes what it was in between for consistent.
    if (GetParam() != HarnessMode::kPlain && lag > 25 && lag < 100) continue;
    Lag(harness, second, lag);
    EXPECT_EQ(harness.NamedMetric("best_effort"), best_effort ? 1 : 0) << lag;
    EXPECT_EQ(harness.Take().size(), waiting) << "the watermark has passed the row before";
    ASSERT_TRUE(harness.Process({Row(second + 1, "\"k\": " + std::to_string(++k))}).ok());
    waiting = best_effort ? 0 : 1;
    EXPECT_EQ(harness.Take().size(), 1 - waiting) << lag;
    second += 10;
  }
  if (GetParam() == HarnessMode::kPlain) {
    EXPECT_EQ(harness.NamedMetric("mode_switches"), 5);
  }
}

// The frontier is held back: no watermark comes, no row comes, but time goes on.
TEST_P(SequenceModeTest, B42_ItSwitchesByTheClockAloneAndAllThatWaitsLeavesInOrder) {
  OperatorTestHarness harness = Make();
  Lag(harness, 0, 10);
  ASSERT_TRUE(harness.Process({Row(30, R"("k": 1, "v": 3)"), Row(10, R"("k": 1, "v": 1)")}).ok());
  ASSERT_TRUE(harness.Process({Row(20, R"("k": 1, "v": 2)")}).ok());
  clock_.Advance(seconds(89));
  ASSERT_TRUE(harness.Continue().ok());
  EXPECT_EQ(harness.Take(), Rows{}) << "a lag of 99 s";
  EXPECT_EQ(harness.NamedMetric("rows_waiting"), 3);
  clock_.Advance(seconds(1));
  ASSERT_TRUE(harness.Continue().ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"v":1})", R"(+I {"k":1,"v":2})", R"(+I {"k":1,"v":3})"}));
  EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
  ASSERT_TRUE(harness.Process({Row(40, R"("k": 1, "v": 4)")}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"v":4})"});
  EXPECT_EQ(harness.NamedMetric("rows_early"), 4);
}

// Of rows that had waited, of those that passed through, before and after the way back to consistent.
TEST_P(SequenceModeTest, B42_WhatHasLeftEarlyAndComesAgainIsDropped) {
  OperatorTestHarness harness = Make();
  Lag(harness, 0, 10);
  const Rows waited = {Row(10, R"("k": 1, "v": 1)"), Row(20, R"("k": 1, "v": 2)"), Row(30, R"("k": 2)", "-D")};
  const Rows passed = {Row(40, R"("k": 1, "v": 4)"), Row(50, R"("k": 2, "v": "x", "w": null)"),
                       Row(50, R"("k": 3, "v": 1)", "-U"), Row(50, R"("k": 3, "v": 2)", "+U")};
  ASSERT_TRUE(harness.Process(waited).ok());
  clock_.Advance(seconds(100));
  ASSERT_TRUE(harness.Continue().ok());
  ASSERT_TRUE(harness.Process(passed).ok());
  EXPECT_EQ(harness.Take().size(), 7U);
  for (const bool consistent : {false, true}) {
    if (consistent) Lag(harness, 5, 20);
    ASSERT_TRUE(harness.Process(passed).ok());
    ASSERT_TRUE(harness.Process(waited).ok());
    EXPECT_EQ(harness.Take(), Rows{});
    EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
  }
  EXPECT_EQ(harness.NamedMetric("rows_duplicate"), 14);
  Lag(harness, 30, 20);
  ASSERT_TRUE(harness.Process(passed).ok());
  ASSERT_TRUE(harness.Process(waited).ok());
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 3) << "the watermark has passed them: their time tells";
  ASSERT_TRUE(harness.Process({Row(60, R"("k": 1, "v": 5)")}).ok());
  EXPECT_EQ(harness.Take(), Rows{}) << "rows wait again";
  Lag(harness, 60, 20);
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"v":5})"});
  EXPECT_EQ(harness.StateEntries(kLeftState), 0U);
}

TEST_P(SequenceModeTest, B12_B42_ARedeliveredVersionNeverFollowsANewerOne) {
  OperatorTestHarness harness = Make();
  for (const int v : {1, 2, 3, 2, 4, 1, 3}) {
    ASSERT_TRUE(harness.Process({Row(v, R"("k": 1, "v": )" + std::to_string(v))}).ok());
  }
  EXPECT_EQ(harness.Take(),
            (Rows{R"(+I {"k":1,"v":1})", R"(+I {"k":1,"v":2})", R"(+I {"k":1,"v":3})", R"(+I {"k":1,"v":4})"}));
}

TEST_P(SequenceModeTest, B43_StubsGoWithTheWatermark) {
  OperatorTestHarness harness = Make();
  size_t most = 0;
  for (int i = 1; i <= 300; ++i) {
    ASSERT_TRUE(harness.Process({Row(i, "\"k\": " + std::to_string(i))}).ok());
    most = std::max(most, harness.StateEntries(kLeftState));
    if (i % 10 == 0) Lag(harness, i, 100);
  }
  EXPECT_EQ(harness.Take().size(), 300U);
  EXPECT_EQ(most, 10U);
  EXPECT_EQ(harness.StateEntries(kLeftState), 0U);
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
}

// Rows of other columns are no repetitions, those that had waited and became one row are each known.
TEST_P(SequenceModeTest, case_H56_ColumnFamiliesPassEachOnItsOwn) {
  OperatorTestHarness harness = Make();
  const Rows families = {Row(10, R"("k": 1, "a": 1)"), Row(10, R"("k": 1, "b": null)"), Row(10, R"("k": 1, "c": 3)")};
  Lag(harness, 0, 10);
  ASSERT_TRUE(harness.Process({families[0]}).ok());
  ASSERT_TRUE(harness.Process({families[1]}).ok());
  clock_.Advance(seconds(100));
  ASSERT_TRUE(harness.Continue().ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"a":1,"b":null})"});
  ASSERT_TRUE(harness.Process({families[1]}).ok());
  ASSERT_TRUE(harness.Process({families[0]}).ok());
  ASSERT_TRUE(harness.Process({Row(10, R"("b": null, "k": 1)")}).ok()) << "the same in another order";
  EXPECT_EQ(harness.Take(), Rows{});
  Lag(harness, 5, 0);
  // That time is out already: what belongs to it does not wait.
  ASSERT_TRUE(harness.Process({families[2]}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"c":3})"});
  for (const std::string& row : families) ASSERT_TRUE(harness.Process({row}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  // Null is not absent, and another value is another row.
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1, "a": null)")}).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"a":null})"});
  Lag(harness, 10, 0);
  EXPECT_EQ(harness.Take(), Rows{});
  EXPECT_EQ(harness.StateEntries(kLeftState), 0U);
}

TEST_P(SequenceModeTest, AnUpdateAndADeletionOfOneTime) {
  OperatorTestHarness harness = Make();
  Lag(harness, 0, 10);
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1, "v": 2)", "+U")}).ok());
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1, "v": 1)", "-U")}).ok());
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 2)", "-D"), Row(10, R"("k": 2, "v": 1)", "-U")}).ok());
  clock_.Advance(seconds(100));
  ASSERT_TRUE(harness.Continue().ok());
  EXPECT_EQ(Sorted(harness.Take()), (Rows{R"(+U {"k":1,"v":2})", R"(-D {"k":2})", R"(-U {"k":1,"v":1})"}));
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 2, "v": 1)", "-U")}).ok());
  EXPECT_EQ(harness.Take(), Rows{}) << "the deletion has taken it back";
  // What passes through keeps its order.
  ASSERT_TRUE(harness.Process({Row(20, R"("k": 1, "v": 2)", "-U"), Row(20, R"("k": 1, "v": 3)", "+U")}).ok());
  ASSERT_TRUE(harness.Process({Row(30, R"("k": 1)", "-D"), Row(40, R"("k": 1, "v": 4)")}).ok());
  EXPECT_EQ(harness.Take(),
            (Rows{R"(-U {"k":1,"v":2})", R"(+U {"k":1,"v":3})", R"(-D {"k":1})", R"(+I {"k":1,"v":4})"}));
}

TEST_P(SequenceModeTest, WithoutAWindowRowsAlwaysWaitAndTheClockCountsForNothing) {
  OperatorTestHarness harness = Make("0s");
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1)")}).ok());
  clock_.Advance(std::chrono::hours(1'000));
  ASSERT_TRUE(harness.Continue().ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.ProcessWatermark(At(10)).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1})"});
  EXPECT_EQ(harness.NamedMetric("best_effort"), -1);
}

TEST(SequenceOptionsTest, AWindowIsADurationThatIsNotNegative) {
  EXPECT_EQ(ProblemsOf(SequenceType(), R"({"best-effort-window": "1h"})"), Rows{});
  for (const char* bad : {R"("soon")", R"("-1s")", R"(-1)"}) {
    const Rows problems = ProblemsOf(SequenceType(), R"({"best-effort-window": )" + std::string(bad) + "}");
    ASSERT_EQ(problems.size(), 1U) << bad;
    EXPECT_TRUE(problems[0].starts_with("/best-effort-window: ")) << problems[0];
  }
}

// The window is taken away between two starts: what has left is still known.
TEST_P(SequenceModeTest, WithoutTheWindowWhatHasLeftIsStillKnown) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1, "a": 1)")}).ok());
  EXPECT_EQ(harness.Take().size(), 1U);
  harness.SetOptions(R"({"best-effort-window": "0s"})");
  ASSERT_TRUE(harness.SnapshotAndRestore(2).ok());
  ASSERT_TRUE(harness.Process({Row(10, R"("k": 1, "a": 1)"), Row(11, R"("k": 1, "a": 2)")}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.ProcessWatermark(At(11)).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"a":2})"});
}

TEST(LagSwitchTest, B42_ItLooksWhenTheLagWillHaveReachedTheWindowAndNowAndThenBefore) {
  simulation::ManualClock clock(1'000'000'000'000);
  OperatorContext context;
  context.clock = &clock;
  LagSwitch mode(seconds(100));
  mode.Open(context, EventTime::Min());
  EXPECT_TRUE(mode.best_effort());
  EXPECT_EQ(mode.NextLook(), std::nullopt);
  mode.Raise({990'000'000'000, 0});
  EXPECT_FALSE(mode.best_effort());
  EXPECT_EQ(*mode.NextLook() - clock.Now(), seconds(10));
  clock.Advance(seconds(85));
  EXPECT_EQ(*mode.NextLook() - clock.Now(), seconds(5));
  clock.Advance(seconds(5));
  EXPECT_EQ(*mode.NextLook() - clock.Now(), std::chrono::milliseconds(1)) << "not again and again";
  mode.Raise({980'000'000'000, 0});
  EXPECT_TRUE(mode.best_effort()) << "a lag of 100 s";
  EXPECT_EQ(mode.NextLook(), std::nullopt);
  clock.JumpWall(-seconds(75));
  mode.Look();
  EXPECT_FALSE(mode.best_effort()) << "the clock was set back";
  LagSwitch never(Duration::zero());
  never.Open(context, EventTime::Min());
  clock.Advance(std::chrono::hours(10'000));
  never.Look();
  EXPECT_FALSE(never.best_effort());
  EXPECT_EQ(never.NextLook(), std::nullopt);
  // Restored between the two lags, and far behind.
  for (const int64_t lag : {26, 99, 100}) {
    LagSwitch restored(seconds(100));
    restored.Open(context, {clock.WallNs() - lag * 1'000'000'000, 0});
    EXPECT_EQ(restored.best_effort(), lag == 100) << lag;
  }
}

// 24 MB wait: they leave in pieces, between which the task may take what comes, and may be cut.
TEST(SequenceModePiecesTest, B44_AllThatWaitsLeavesInPiecesInOrder) {
  simulation::ManualClock clock(1'000'000'000'000);
  OperatorTestHarness harness(SequenceType(), R"({"best-effort-window": "100s"})",
                              {.keys = {"k"}, .clock = &clock, .state_bytes = 8 << 20});
  constexpr int kRows = 12000;
  const std::string text(2000, 'x');
  const auto row = [&](int time) {
    return R"({"k": )" + std::to_string(time % 50) + R"(, "t": )" + std::to_string(time) + R"(, "v": ")" + text +
           R"(", "@time": )" + std::to_string(990'000'000'000 + time) + "}";
  };
  ASSERT_TRUE(harness.ProcessWatermark({{990'000'000'000 - 1, 0}}).ok());
  for (int first = 0; first < kRows; first += 100) {
    Rows rows;
    for (int i = first; i < first + 100; ++i) rows.push_back(row(i * 7919 % kRows));
    ASSERT_TRUE(harness.Process(rows).ok());
  }
  EXPECT_EQ(harness.Take(), Rows{});
  clock.Advance(seconds(100));
  Rows all;
  int pieces = 0;
  for (int late = 0; harness.NamedMetric("rows_waiting") > 0; ++late) {
    // A piece, in front of a row, that is a repetition of one that has left or that waits.
    ASSERT_TRUE(harness.Process({row(late * 4'999 % kRows)}).ok());
    if (late == 2) {
      ASSERT_TRUE(harness.SnapshotAndRestore(1).ok());
    }
    const Rows piece = harness.Take();
    EXPECT_LT(piece.size(), 3'000U);
    pieces += piece.empty() ? 0 : 1;
    all.insert(all.end(), piece.begin(), piece.end());
  }
  EXPECT_GE(pieces, 5);
  ASSERT_EQ(all.size(), static_cast<size_t>(kRows));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE(all[static_cast<size_t>(i)].starts_with("+I {\"k\":" + std::to_string(i % 50) +
                                                        ",\"t\":" + std::to_string(i) + ","))
        << i;
  }
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
  EXPECT_EQ(harness.StateEntries(kLeftState), static_cast<size_t>(kRows));
}

}  // namespace
}  // namespace weir::operators
