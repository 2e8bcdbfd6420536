// The frontier of the kafka source on the simulated cluster and on a real broker: what holds it back, that new and
// retired partitions count from the right moment, steps, pauses, and that it goes on from a checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/connectors/kafka/frontier_feed.h"

namespace weir::kafka_test {
namespace {

class KafkaFrontierTest : public testing::TestWithParam<bool> {
 protected:
  KafkaFrontierTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {}

  std::string Topic(int partitions, const std::string& stem = "Feed") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<SourceDriver> Started(Definition definition, const SourceSnapshot* restored = nullptr,
                                        uint32_t parallelism = 1) {
    auto driver = std::make_unique<SourceDriver>(*world_, std::move(definition), parallelism);
    EXPECT_EQ(driver->Start(restored).ToString(), "ok");
    return driver;
  }
  void Rows(const std::string& topic, int32_t partition, int from, int to) {
    std::vector<TestRecord> records;
    for (int time = from; time < to; ++time) records.push_back(FeedRow(time, time));
    world_->Append(topic, partition, records);
  }
  void Resolve(const std::string& topic, int32_t partition, int time) {
    world_->Append(topic, partition, {FeedResolved(time)});
  }
  // All of `splits` have this watermark.
  static bool AllAt(SourceDriver& driver, size_t splits, int time) {
    return driver.watermarks.size() == splits &&
           std::ranges::all_of(driver.watermarks, [&](const auto& each) { return FeedTimeOf(each.second) == time; });
  }
  static void Reaches(SourceDriver& driver, size_t splits, int time) {
    EXPECT_TRUE(driver.Until([&] { return AllAt(driver, splits, time); })) << driver.error.ToString();
  }
  static void Settle(SourceDriver& driver) { driver.Linger(std::chrono::milliseconds(700)); }

  std::unique_ptr<KafkaWorld> world_;
};

TEST_P(KafkaFrontierTest, case_H55_B17_IsTheMinimumOverAllPartitions) {
  const std::string topic = Topic(3);
  for (int32_t p = 0; p < 3; ++p) Rows(topic, p, 80, 96);
  Resolve(topic, 0, 100);
  Resolve(topic, 1, 90);
  auto driver = Started(FeedSource({topic}), nullptr, 2);
  ASSERT_TRUE(driver->ReadRows(48)) << driver->error.ToString();
  Settle(*driver);
  EXPECT_TRUE(driver->history.empty());
  Resolve(topic, 2, 85);
  Reaches(*driver, 3, 85);
  Settle(*driver);
  for (const auto& [split, history] : driver->history) EXPECT_EQ(FeedTimesOf(history), std::vector<int>{85}) << split;
  EXPECT_EQ(driver->late_rows, 0U);
  EXPECT_GE(driver->Metric("waiting_rows"), 30) << "86 to 95 in each";
}

TEST_P(KafkaFrontierTest, B18_APartitionThatWasNeverResolvedHoldsItBackAlsoAfterARestart) {
  const std::string topic = Topic(2);
  Resolve(topic, 0, 50);
  SourceSnapshot snapshot;
  {
    auto driver = Started(FeedSource({topic}));
    Settle(*driver);
    EXPECT_TRUE(driver->history.empty());
    snapshot = driver->Snapshot(1);
  }
  Resolve(topic, 0, 60);
  auto driver = Started(FeedSource({topic}), &snapshot, 2);
  Settle(*driver);
  EXPECT_TRUE(driver->history.empty());
  Resolve(topic, 1, 55);
  Reaches(*driver, 2, 55);
}

TEST_P(KafkaFrontierTest, case_H58_AScanOfOneTimeAndResolvedTimesBelowItsRows) {
  const std::string topic = Topic(2);
  for (int32_t p = 0; p < 2; ++p) {
    std::vector<TestRecord> scan;
    for (int id = 0; id < 300; ++id) scan.push_back(FeedRow(id, 50));
    world_->Append(topic, p, scan);
    Resolve(topic, p, 40);
  }
  auto driver = Started(FeedSource({topic}, {{"release-rows-max", Number(10)}}), nullptr, 2);
  ASSERT_TRUE(driver->ReadRows(600)) << driver->error.ToString();
  Reaches(*driver, 2, 40);
  for (int32_t p = 0; p < 2; ++p) {
    Rows(topic, p, 100'000, 100'005);
    Resolve(topic, p, 100'003);
  }
  Reaches(*driver, 2, 100'003);
  EXPECT_EQ(driver->late_rows, 0U);
  EXPECT_EQ(driver->Metric("resolved_backwards"), 0);
}

TEST_P(KafkaFrontierTest, B22_AResolvedThatGoesBackIsCountedAndNotApplied) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0, {FeedResolved(50), FeedResolved(40), FeedRow(1, 45), FeedResolved(50)});
  auto driver = Started(FeedSource({topic}));
  Reaches(*driver, 1, 50);
  Resolve(topic, 0, 30);
  EXPECT_TRUE(driver->Until([&] { return driver->Metric("resolved_backwards") == 2; })) << driver->error.ToString();
  Settle(*driver);
  EXPECT_EQ(FeedTimesOf(driver->history[topic + "-0"]), std::vector<int>{50});
  Resolve(topic, 0, 60);
  Reaches(*driver, 1, 60);
  EXPECT_EQ(driver->Metric("resolved_backwards"), 2);
}

// Nobody looks for partitions within the test, but for the frontier's sake.
TEST_P(KafkaFrontierTest, B41_APartitionThatIsNewCountsBeforeItIsRead) {
  const std::string topic = Topic(1);
  Resolve(topic, 0, 10);
  auto driver = Started(FeedSource({topic}, {}, {{"discovery-interval", Text("1h")}}), nullptr, 2);
  Reaches(*driver, 1, 10);
  ASSERT_EQ(world_->AddPartitions(topic, 2).ToString(), "ok");
  Rows(topic, 1, 12, 15);
  Resolve(topic, 0, 20);
  ASSERT_TRUE(driver->ReadRows(3)) << driver->error.ToString();
  EXPECT_EQ(driver->late_rows, 0U);
  Settle(*driver);
  EXPECT_EQ(FeedTimeOf(driver->watermarks[topic + "-0"]), 10);
  Resolve(topic, 1, 18);
  Reaches(*driver, 2, 18);
  EXPECT_EQ(driver->late_rows, 0U);
}

TEST_P(KafkaFrontierTest, Weakness_i_ATopicThatIsMadeLaterIsReadAndCounts) {
  const std::string first = Topic(1, "Late");
  const std::string pattern = first + ".*";
  Resolve(first, 0, 10);
  Definition definition = FeedSource({}, {}, {{"topic-pattern", Text(pattern)}});
  definition.erase(definition.begin());
  auto driver = Started(definition);
  Reaches(*driver, 1, 10);
  const std::string second = first + "-Table2";
  ASSERT_EQ(world_->CreateTopic(second, 1).ToString(), "ok");
  Rows(second, 0, 15, 17);
  Resolve(first, 0, 30);
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  Resolve(second, 0, 25);
  Reaches(*driver, 2, 25);
  EXPECT_EQ(driver->late_rows, 0U);
}

TEST_P(KafkaFrontierTest, B41_Weakness_h_WhatIsRetiredHoldsNothingBack) {
  const std::string kept = Topic(2, "Kept");
  const std::string gone = Topic(1, "Gone");
  for (int32_t p = 0; p < 2; ++p) Resolve(kept, p, 20);
  Resolve(gone, 0, 10);
  SourceSnapshot snapshot;
  {
    auto driver = Started(FeedSource({kept, gone}));
    Reaches(*driver, 3, 10);
    snapshot = driver->Snapshot(1);
  }
  ASSERT_EQ(world_->DeleteTopic(gone).ToString(), "ok");
  auto refused = Started(FeedSource({kept}), &snapshot);
  EXPECT_FALSE(refused->Until([] { return false; }));
  EXPECT_EQ(refused->error.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused->error.message().find(gone + " partition 0"), std::string::npos) << refused->error.ToString();
  EXPECT_NE(refused->error.message().find("frontier.retire"), std::string::npos) << refused->error.ToString();
  refused.reset();
  // By a topic's name, also while the definition still names it, and by a partition's.
  auto driver = Started(FeedSource({kept, gone}, {{"retire", List({gone, kept + "-1"})}}), &snapshot);
  Reaches(*driver, 1, 20);
  Resolve(kept, 0, 30);
  Reaches(*driver, 1, 30);
  snapshot = driver->Snapshot(2);
  EXPECT_EQ(snapshot.splits.size(), 1U);
  EXPECT_EQ(snapshot.enumerator.find(gone), std::string::npos) << snapshot.enumerator;
}

TEST_P(KafkaFrontierTest, Weakness_g_TopicsWithCapitals) {
  const std::string capitals = Topic(1, "Orders.Public.T");
  const std::string small = Topic(1, "orders.public.t");
  auto driver = Started(FeedSource({capitals, small}));
  for (int time = 10; time <= 30; time += 10) {
    Resolve(capitals, 0, time);
    Resolve(small, 0, time + 5);
    Reaches(*driver, 2, time);
  }
}

TEST_P(KafkaFrontierTest, AFrontierThatWasHeldBackGoesOnInStepsTheSameInAllReaders) {
  const std::string topic = Topic(4);
  constexpr int kRowsOfTime = 12;  // in all partitions
  for (int32_t p = 0; p < 3; ++p) {
    for (int i = 0; i < kRowsOfTime / 3; ++i) Rows(topic, p, 10, 40);
    Resolve(topic, p, 200);
  }
  const Definition source = FeedSource({topic}, {{"release-rows-max", Number(3 * kRowsOfTime)}});
  SourceSnapshot snapshot;
  std::vector<int> steps;
  {
    auto driver = Started(source, nullptr, 2);
    ASSERT_TRUE(driver->ReadRows(30 * kRowsOfTime)) << driver->error.ToString();
    Settle(*driver);
    EXPECT_TRUE(driver->history.empty());
    Resolve(topic, 3, 150);
    ASSERT_TRUE(driver->Until([&] { return driver->history[topic + "-0"].size() == 4; })) << driver->error.ToString();
    steps = FeedTimesOf(driver->history[topic + "-0"]);
    snapshot = driver->Snapshot(1);
  }
  auto driver = Started(source, &snapshot, 3);
  Reaches(*driver, 4, 150);
  const std::vector<int> more = FeedTimesOf(driver->history[topic + "-0"]);
  for (const auto& [split, history] : driver->history) EXPECT_EQ(FeedTimesOf(history), more) << split;
  // The newest step comes again.
  EXPECT_GE(more.front(), steps.back());
  steps.insert(steps.end(), more.begin(), more.end());
  steps.erase(std::ranges::unique(steps).begin(), steps.end());
  EXPECT_EQ(steps, (std::vector<int>{12, 15, 18, 21, 24, 27, 30, 33, 36, 150}));
  EXPECT_EQ(driver->Metric("waiting_rows"), 0);
}

TEST_P(KafkaFrontierTest, B44_PartitionsAheadArePausedAndTheHolderIsReadOn) {
  const std::string topic = Topic(2);
  constexpr int kRows = 30'000;
  std::vector<TestRecord> ahead;
  for (int i = 1; i <= kRows; ++i) {
    ahead.push_back(FeedRow(i, i, 300));
    if (i % 100 == 0) ahead.push_back(FeedResolved(i));
  }
  world_->Append(topic, 0, ahead);
  const Definition source =
      FeedSource({topic}, {{"waiting-bytes-max", Text("1MiB")}, {"waiting-bytes-limit", Text("1GiB")}});
  auto driver = Started(source, nullptr, 2);
  ASSERT_TRUE(driver->Until([&] { return driver->Metric("partitions_paused") == 1; })) << driver->error.ToString();
  Settle(*driver);
  const size_t read = driver->rows.size();
  EXPECT_LT(read, static_cast<size_t>(kRows));
  const SourceSnapshot snapshot = driver->Snapshot(1);
  driver.reset();
  driver = Started(source, &snapshot);
  Settle(*driver);
  EXPECT_EQ(driver->Metric("partitions_paused"), 1) << "what waits is part of the checkpoint";
  Rows(topic, 1, 500, 510);
  EXPECT_TRUE(driver->Until([&] { return driver->rows.size() >= 10; }))
      << "the holder is read: " << driver->error.ToString();
  Resolve(topic, 1, kRows + 1);
  EXPECT_TRUE(driver->Until([&] { return read + driver->rows.size() >= static_cast<size_t>(kRows) + 10; }))
      << driver->error.ToString();
  Reaches(*driver, 2, kRows);
  EXPECT_EQ(driver->Metric("partitions_paused"), 0);
  EXPECT_EQ(read + driver->rows.size(), static_cast<size_t>(kRows) + 10);
  EXPECT_EQ(driver->late_rows, 0U);
}

TEST_P(KafkaFrontierTest, BeyondTheLimitOneErrorNamesTheHolder) {
  const std::string topic = Topic(2);
  Resolve(topic, 0, 50);
  std::vector<TestRecord> rows = {FeedResolved(20)};
  for (int i = 0; i < 2000; ++i) rows.push_back(FeedRow(i, 100 + i, 100));
  world_->Append(topic, 1, rows);
  auto driver = Started(FeedSource({topic}, {{"waiting-bytes-max", Text("50kB")}}));
  EXPECT_FALSE(driver->Until([] { return false; }));
  EXPECT_EQ(driver->error.code(), StatusCode::kResourceExhausted) << driver->error.ToString();
  EXPECT_NE(driver->error.message().find("partition " + topic + "-1 holds the frontier back"), std::string::npos)
      << driver->error.ToString();
  EXPECT_NE(driver->error.message().find("waiting-bytes-limit (100000)"), std::string::npos)
      << driver->error.ToString();
}

TEST_P(KafkaFrontierTest, TheOptionMayComeAndGo) {
  const std::string topic = Topic(2);
  Resolve(topic, 0, 50);
  Resolve(topic, 1, 40);
  Definition plain = FeedSource({topic});
  plain.pop_back();
  SourceSnapshot snapshot;
  {
    auto driver = Started(plain);
    ASSERT_TRUE(driver->Until([&] { return driver->watermarks.size() == 2; })) << driver->error.ToString();
    EXPECT_EQ(FeedTimeOf(driver->watermarks[topic + "-0"]), 50);
    snapshot = driver->Snapshot(1);
  }
  {
    auto driver = Started(FeedSource({topic}), &snapshot);
    Reaches(*driver, 2, 40);
    snapshot = driver->Snapshot(2, 3);
  }
  auto driver = Started(plain, &snapshot, 2);
  EXPECT_TRUE(driver->Until([&] { return driver->watermarks.size() == 2; })) << driver->error.ToString();
  EXPECT_EQ(FeedTimeOf(driver->watermarks[topic + "-0"]), 50);
  EXPECT_EQ(driver->Snapshot(3).enumerator.find("frontier"), std::string::npos);
}

TEST_P(KafkaFrontierTest, ABoundedSourceEndsAtTheEndOfAllPartitions) {
  const std::string topic = Topic(2);
  for (int32_t p = 0; p < 2; ++p) Rows(topic, p, 10, 60);
  Resolve(topic, 0, 30);
  auto driver = Started(FeedSource({topic}, {{"release-rows-max", Number(20)}}, {{"end", Text("latest")}}), nullptr, 3);
  ASSERT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_EQ(driver->rows.size(), 100U);
  EXPECT_EQ(driver->late_rows, 0U);
  for (const auto& [split, history] : driver->history) {
    EXPECT_EQ(history.back(), operators::EventTime::Max());
    EXPECT_GE(history.size(), 5U);
  }
  const SourceSnapshot snapshot = driver->Snapshot(1);
  driver = Started(FeedSource({topic}, {}, {{"end", Text("latest")}}), &snapshot);
  EXPECT_TRUE(driver->ReadToEnd()) << driver->error.ToString();
  EXPECT_TRUE(driver->rows.empty());
}

TEST_P(KafkaFrontierTest, Weakness_n_EachPartitionIsShown) {
  const std::string topic = Topic(2);
  Rows(topic, 1, 10, 15);
  Resolve(topic, 1, 12);
  Definition plain = FeedSource({topic});
  plain.pop_back();
  auto driver = Started(plain);
  ASSERT_TRUE(driver->ReadRows(5)) << driver->error.ToString();
  driver->Linger(std::chrono::milliseconds(2500));
  const operators::MetricLabels labels{{"topic", topic}, {"partition", "1"}};
  EXPECT_EQ(driver->Metric("partition_offset", labels), 6);
  EXPECT_EQ(driver->Metric("partition_lag", labels), 0);
  EXPECT_NEAR(driver->Metric("partition_resolved_seconds", labels), 0.12, 1e-6);
  EXPECT_NEAR(driver->Metric("partition_polled_seconds", labels),
              static_cast<double>(world_->context().clock->WallNs()) / 1e9, 5);
  EXPECT_TRUE(std::isnan(driver->Metric("partition_resolved_seconds", {{"topic", topic}, {"partition", "0"}})));
  EXPECT_EQ(driver->Metric("partition_offset", {{"topic", topic}, {"partition", "0"}}), 0);
  EXPECT_EQ(driver->Metric("records_received"), 6);
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaFrontierTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
