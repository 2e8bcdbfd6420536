#include "operators/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

const std::vector<std::string> kRowsState = {"rows"};

Watermark At(int64_t ns, int32_t logical = 0) { return {{ns, logical}}; }

class SequenceTest : public testing::TestWithParam<HarnessMode> {
 protected:
  OperatorTestHarness Make(const std::string& options = "{}") const {
    return OperatorTestHarness(SequenceType(), options, {.mode = GetParam(), .keys = {"k"}});
  }
  // At several subtasks each releases its own rows: their order is per subtask.
  static Rows Sorted(Rows rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, SequenceTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(SequenceTest, B19_RowsOfOneTimeLeaveTogetherOnceTheWatermarkHasPassedThem) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 1, "@time": 20})", R"({"k": 2, "@time": 10})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "@time": 20})"}).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.ProcessWatermark(At(19)).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":2})"});
  ASSERT_TRUE(harness.ProcessWatermark(At(20)).ok());
  EXPECT_EQ(Sorted(harness.Take()), (Rows{R"(+I {"k":1})", R"(+I {"k":3})"}));
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
}

TEST_P(SequenceTest, B20_NothingAboveTheWatermarkLeaves) {
  OperatorTestHarness harness = Make();
  for (int i = 1; i <= 9; ++i) {
    ASSERT_TRUE(
        harness.Process({R"({"k": )" + std::to_string(i) + R"(, "@time": 5.000000000)" + std::to_string(i) + "}"})
            .ok());
  }
  ASSERT_TRUE(harness.ProcessWatermark(At(5)).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.ProcessWatermark(At(5, 4)).ok());
  EXPECT_EQ(harness.Take().size(), 4U);
  EXPECT_EQ(harness.StateEntries(kRowsState), 5U);
}

TEST_P(SequenceTest, B11_VersionsLeaveInOrderAndExactRepetitionsCollapse) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness
                  .Process({R"({"k": 1, "v": "new", "@time": 2})", R"({"k": 1, "v": "old", "@time": 1})",
                            R"({"k": 1, "v": "new", "@time": 2})"})
                  .ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "old", "@time": 1})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(2)).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"v":"old"})", R"(+I {"k":1,"v":"new"})"}));
  EXPECT_EQ(harness.NamedMetric("rows_duplicate"), 2);
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 0);
}

// The repetition of 2 comes after 3, once before and once after the watermark that lets both go.
TEST_P(SequenceTest, B12_ARedeliveredVersionNeverFollowsANewerOne) {
  for (const bool released : {false, true}) {
    OperatorTestHarness harness = Make();
    ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 1, "@time": 1})", R"({"k": 1, "v": 2, "@time": 2})"}).ok());
    ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 3, "@time": 3})"}).ok());
    if (released) {
      ASSERT_TRUE(harness.ProcessWatermark(At(3)).ok());
    }
    ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 2, "@time": 2})"}).ok());
    ASSERT_TRUE(harness.ProcessWatermark(At(3)).ok());
    Rows rows = harness.Take();
    EXPECT_EQ(rows, (Rows{R"(+I {"k":1,"v":1})", R"(+I {"k":1,"v":2})", R"(+I {"k":1,"v":3})"}));
    ASSERT_TRUE(harness.Process({R"({"k": 1, "v": 4, "@time": 4})"}).ok());
    ASSERT_TRUE(harness.ProcessWatermark(At(4)).ok());
    EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1,"v":4})"});
    EXPECT_EQ(harness.NamedMetric("rows_stale"), released ? 1 : 0);
    EXPECT_EQ(harness.NamedMetric("rows_duplicate"), released ? 0 : 1);
  }
}

TEST_P(SequenceTest, Weakness_j_AnOldVersionIsStaleAtAnyAge) {
  OperatorTestHarness harness = Make();
  constexpr int64_t kYearNs = 365LL * 24 * 3'600 * 1'000'000'000;
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "old", "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({"{\"k\": 1, \"v\": \"new\", \"@time\": " + std::to_string(kYearNs) + "}"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(kYearNs)).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"v":"old"})", R"(+I {"k":1,"v":"new"})"}));
  // Nothing is remembered of the key: what the watermark has passed is enough. Also a version that was never here.
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "old", "@time": 1})", R"({"k": 1, "v": "between", "@time": 2})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(2 * kYearNs)).ok());
  EXPECT_EQ(harness.Take(), Rows{});
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 2);
}

TEST_P(SequenceTest, B23_WhatWaitsSurvivesAndLeavesOnce) {
  OperatorTestHarness harness = Make();
  Rows expected;
  for (int i = 0; i < 100; ++i) {
    const std::string k = std::to_string(i);
    ASSERT_TRUE(harness.Process({"{\"k\": " + k + ", \"@time\": " + std::to_string(100 + i) + "}"}).ok());
    expected.push_back("+I {\"k\":" + k + "}");
  }
  ASSERT_TRUE(harness.ProcessWatermark(At(149)).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(500)).ok());
  EXPECT_EQ(Sorted(harness.Take()), Sorted(expected));
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
}

TEST_P(SequenceTest, B43_StateIsEmptyOnceAllHasLeft) {
  OperatorTestHarness harness = Make();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(harness.Process({"{\"k\": " + std::to_string(i) + ", \"@time\": " + std::to_string(i) + "}"}).ok());
    if (i % 10 != 9) continue;
    ASSERT_TRUE(harness.ProcessWatermark(At(i)).ok());
    EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
  }
  EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
}

TEST_P(SequenceTest, case_H52_ADeletedRowStaysDeletedWhenOldVersionsComeAgain) {
  OperatorTestHarness harness = Make();
  const Rows versions = {R"({"k": 1, "v": 1, "@time": 1})", R"(+U {"k": 1, "v": 2, "@time": 2})",
                         R"(-D {"k": 1, "@time": 3})"};
  for (const std::string& version : versions) ASSERT_TRUE(harness.Process({version}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(2)).ok());
  for (const std::string& version : versions) ASSERT_TRUE(harness.Process({version}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(3)).ok());
  ASSERT_TRUE(harness.Process({versions[0]}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(9)).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"v":1})", R"(+U {"k":1,"v":2})", R"(-D {"k":1})"}));
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 3);
  EXPECT_EQ(harness.NamedMetric("rows_duplicate"), 1);
}

TEST_P(SequenceTest, case_H53_BothPartsOfTheTimeCountAsNumbers) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "c", "@time": 1700000000123456789.0000000010})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "b", "@time": 1700000000123456789.0000000002})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "v": "a", "@time": 1700000000123456788.2000000000})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(1700000000123456789, 10)).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"v":"a"})", R"(+I {"k":1,"v":"b"})", R"(+I {"k":1,"v":"c"})"}));
}

// Three partitions at 100, 90 and none, then 85: the watermark that comes of it is none, then 85 less one tick.
TEST_P(SequenceTest, case_H55_OutputGoesAsFarAsTheSlowestPartition) {
  OperatorTestHarness harness = Make();
  for (const int time : {80, 84, 85, 90, 95}) {
    ASSERT_TRUE(
        harness.Process({"{\"k\": 1, \"t\": " + std::to_string(time) + ", \"@time\": " + std::to_string(time) + "}"})
            .ok());
  }
  EXPECT_EQ(harness.Take(), Rows{});
  ASSERT_TRUE(harness.ProcessWatermark({EventTime{85, 0}.Previous()}).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":1,"t":80})", R"(+I {"k":1,"t":84})"}));
}

TEST_P(SequenceTest, case_H56_RowsOfColumnFamiliesBecomeOneRow) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 1, "b": null, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "c": 3, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 3, "a": 7, "b": 8, "@time": 2})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 3, "@time": 4})", R"(-D {"k": 3, "@time": 4})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(9)).ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"k":3,"a":1,"b":null,"c":3})", R"(+I {"k":3,"a":7,"b":8})", R"(-D {"k":3})"}));
  EXPECT_EQ(harness.NamedMetric("rows_duplicate"), 1);
}

TEST_P(SequenceTest, OfTwoRowsOfOneTimeTheLaterCountsColumnByColumn) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 1, "a": 1, "b": 2, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(+U {"k": 1, "b": null, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(1)).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+U {"k":1,"a":1,"b":null})"});
  EXPECT_EQ(harness.NamedMetric("rows_duplicate"), 1);
}

TEST_P(SequenceTest, AnUpdateKeepsItsOldImageInFront) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"(+U {"k": 1, "v": 3, "@time": 3})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-U {"k": 1, "v": 2, "@time": 3})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-U {"k": 1, "v": 1, "@time": 2})", R"(+U {"k": 1, "v": 2, "@time": 2})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(3)).ok());
  EXPECT_EQ(harness.Take(),
            (Rows{R"(-U {"k":1,"v":1})", R"(+U {"k":1,"v":2})", R"(-U {"k":1,"v":2})", R"(+U {"k":1,"v":3})"}));
}

// A key that is changed twice at one time: what leaves takes it from the image before the first change to that after
// the last.
TEST_P(SequenceTest, TwoChangesOfOneTimeBecomeOne) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"(-U {"k": 1, "v": 1, "@time": 1})", R"(+U {"k": 1, "v": 2, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-U {"k": 1, "v": 2, "@time": 1})", R"(+U {"k": 1, "v": 3, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 2, "v": 1, "@time": 1})", R"({"k": 2, "v": 2, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-U {"k": 3, "v": 1, "@time": 1})", R"(+U {"k": 3, "v": 2, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"(-D {"k": 3, "v": 2, "@time": 1})", R"(-U {"k": 3, "v": 1, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 4, "v": 1, "@time": 1})", R"(-D {"k": 4, "v": 1, "@time": 1})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(1)).ok());
  EXPECT_EQ(Sorted(harness.Take()), (Rows{R"(+I {"k":2,"v":2})", R"(+U {"k":1,"v":3})", R"(-D {"k":3,"v":1})",
                                          R"(-D {"k":4,"v":1})", R"(-U {"k":1,"v":1})", R"(-U {"k":2,"v":1})"}));
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
  EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
}

TEST_P(SequenceTest, RowsOfManyTablesKeepTheirColumnsAndTheirOrder) {
  OperatorTestHarness harness = Make();
  Rows expected;
  for (int i = 0; i < 60; ++i) {
    const std::string members = "\"k\":1,\"column" + std::to_string(i % 7) + "\":" + std::to_string(i) + ".50";
    ASSERT_TRUE(harness.Process({"{" + members + ", \"@time\": " + std::to_string(1000 - i) + "}"}).ok());
    expected.insert(expected.begin(), "+I {" + members + "}");
  }
  ASSERT_TRUE(harness.ProcessWatermark({EventTime::Max()}).ok());
  EXPECT_EQ(harness.Take(), expected);
}

TEST_P(SequenceTest, TheEndOfTheInputLetsEverythingGo) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(
      harness.Process({R"({"k": 1, "@time": 9223372036854775807.2147483647})", R"({"k": 2, "@time": -5})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark({EventTime::Max()}).ok());
  ASSERT_TRUE(harness.Finish().ok());
  EXPECT_EQ(Sorted(harness.Take()), (Rows{R"(+I {"k":1})", R"(+I {"k":2})"}));
}

TEST_P(SequenceTest, AfterADrainALaterStartReadsOn) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 1, "@time": 10})", R"({"k": 1, "@time": 30})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(20)).ok());
  ASSERT_TRUE(harness.ProcessWatermark({EventTime::Max()}).ok());
  ASSERT_TRUE(harness.Finish().ok());
  EXPECT_EQ(harness.Take().size(), 2U);
  ASSERT_TRUE(harness.SnapshotAndRestore(1).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "@time": 20})", R"({"k": 1, "@time": 25})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(40)).ok());
  EXPECT_EQ(harness.Take(), Rows{R"(+I {"k":1})"});
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 1);
}

TEST_P(SequenceTest, ARowWithoutEventTimeGoesTheWayOfThePolicy) {
  OperatorTestHarness letters = Make(R"({"on-error": "dead-letter"})");
  ASSERT_TRUE(letters.Process({R"({"k": 1})", R"({"k": 2, "@time": 1})"}).ok());
  ASSERT_TRUE(letters.ProcessWatermark(At(1)).ok());
  EXPECT_EQ(letters.Take(), Rows{R"(+I {"k":2})"});
  const Rows kept = letters.TakeSide("dead-letter");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_NE(kept[0].find("the row has no event time"), std::string::npos) << kept[0];
  OperatorTestHarness fails = Make();
  EXPECT_EQ(fails.Process({R"({"k": 1})"}).message(), R"(the row has no event time; the row is +I {"k":1})");
}

TEST_P(SequenceTest, AWatermarkThatComesAgainAfterARestartFreesNothing) {
  OperatorTestHarness harness = Make();
  ASSERT_TRUE(harness.Process({R"({"k": 1, "@time": 5})", R"({"k": 1, "@time": 15})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(10)).ok());
  ASSERT_TRUE(harness.SnapshotAndRestore(2).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(7)).ok());
  ASSERT_TRUE(harness.Process({R"({"k": 1, "@time": 8})"}).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(10)).ok());
  EXPECT_EQ(harness.Take().size(), 1U);
  EXPECT_EQ(harness.NamedMetric("rows_stale"), 1);
}

// Each former subtask's rows are stale up to what that one had let go, and not further.
TEST(SequenceRescaleTest, ProgressStaysWithItsKeys) {
  OperatorTestHarness harness(SequenceType(), "{}", {.keys = {"k"}});
  ASSERT_TRUE(harness.SnapshotAndRestore(2).ok());
  Rows at_seven;
  for (int k = 0; k < 20; ++k) {
    const std::string key = "{\"k\": " + std::to_string(k);
    ASSERT_TRUE(harness.Process({key + ", \"@time\": 5}", key + ", \"@time\": 15}"}).ok());
    at_seven.push_back(key + ", \"@time\": 7}");
  }
  ASSERT_TRUE(harness.ProcessWatermark(At(10), 0).ok());
  const size_t ahead = harness.Take().size();
  ASSERT_GT(ahead, 0U);
  ASSERT_LT(ahead, 20U);
  for (const uint32_t parallelism : {1U, 3U, 3U, 1U}) {
    ASSERT_TRUE(harness.SnapshotAndRestore(parallelism).ok());
    ASSERT_TRUE(harness.ProcessWatermark(At(4)).ok());
  }
  EXPECT_EQ(harness.NamedMetric("rows_waiting"), static_cast<double>(40 - ahead));
  ASSERT_TRUE(harness.Process(at_seven).ok());
  EXPECT_EQ(harness.NamedMetric("rows_stale"), static_cast<double>(ahead));
  ASSERT_TRUE(harness.ProcessWatermark(At(8)).ok());
  EXPECT_EQ(harness.Take().size(), 2 * (20 - ahead));
  ASSERT_TRUE(harness.ProcessWatermark(At(15)).ok());
  EXPECT_EQ(harness.Take().size(), 20U);
  EXPECT_EQ(harness.StateEntries(kRowsState), 0U);
}

// More than the chunks of a release hold, and of one key: in one part of the queue.
TEST(SequenceReleaseTest, ALargeReleaseIsReadInPieces) {
  OperatorTestHarness harness(SequenceType(), "{}", {.keys = {"k"}});
  constexpr int kRows = 12000;
  const std::string text(1000, 'x');
  for (int first = 0; first < kRows; first += 100) {
    Rows rows;
    for (int i = first; i < first + 100; ++i) {
      const int time = i * 7919 % kRows;
      rows.push_back("{\"k\": 1, \"t\": " + std::to_string(time) + ", \"v\": \"" + text +
                     "\", \"@time\": " + std::to_string(time) + "}");
    }
    ASSERT_TRUE(harness.Process(rows).ok());
  }
  ASSERT_TRUE(harness.SnapshotAndRestore(1).ok());
  ASSERT_TRUE(harness.ProcessWatermark(At(kRows - 2)).ok());
  const Rows rows = harness.Take();
  ASSERT_EQ(rows.size(), kRows - 1U);
  for (int i = 0; i < kRows - 1; ++i) {
    ASSERT_TRUE(rows[static_cast<size_t>(i)].starts_with("+I {\"k\":1,\"t\":" + std::to_string(i) + ",")) << i;
  }
  EXPECT_EQ(harness.StateEntries(kRowsState), 1U);
}

}  // namespace
}  // namespace weir::operators
