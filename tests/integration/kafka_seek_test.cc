// Where a kafka source with min-timestamp begins. Behaviours Bnn are those of reference/replicator-kafka.md, and the
// layouts those of its TestGetOffsets.
#include "connectors/kafka/split.h"
#include "tests/integration/changefeed_source.h"

namespace weir::kafka_test {
namespace {

class KafkaSeekTest : public ChangefeedSourceTest {
 protected:
  Definition From(const std::vector<std::string>& topics, const std::string& min, const std::string& interval = "1s",
                  Definition more = {}) const {
    more.emplace_back("min-timestamp", Text(min));
    more.emplace_back("resolved-interval", Text(interval));
    return Source(topics, std::move(more));
  }
  Definition From(const std::string& topic, double min, const std::string& interval = "1s") const {
    return From(std::vector<std::string>{topic}, Hlc(min), interval);
  }
  // A driver that has its splits.
  std::unique_ptr<SourceDriver> Sought(Definition definition) {
    auto driver = Started(std::move(definition));
    EXPECT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
    return driver;
  }
  static int64_t BeginOf(const SourceDriver& driver, const std::string& topic, int32_t partition = 0) {
    const std::string id = topic + "-" + std::to_string(partition);
    const auto found = driver.begins.find(id);
    if (found == driver.begins.end()) return -1;
    return connectors::KafkaSplit::Parse({id, found->second}).value_or(connectors::KafkaSplit()).offset;
  }
  // So many records in front, which are gone afterwards.
  void BeginLogAt(const std::string& topic, int64_t low) {
    std::string messages;
    for (int64_t i = 0; i < low; ++i) messages += "x ";
    Put(topic, 0, messages);
    world_->TrimLog(topic, 0, low);
  }
};

// The nine layouts. Where the model says "newest", which its forward-only mark turns into the committed offset or the
// oldest, the answer here is the newest resolved message before min; without one, where nothing was written that late.
TEST_P(KafkaSeekTest, B25_TestGetOffsets) {
  const std::string plain = "r1 m2 r2 r3 r4 r5";
  const auto topic = [&](const std::vector<std::string>& partitions, int64_t log_start = 0) {
    const std::string name = Topic(static_cast<int>(partitions.size()));
    if (log_start > 0) BeginLogAt(name, log_start);
    for (size_t p = 0; p < partitions.size(); ++p) Put(name, static_cast<int32_t>(p), partitions[p]);
    return name;
  };
  const std::string empty = topic({""}), one = topic({plain}), late = topic({plain}, 100), later = topic({plain}, 123);
  const std::string doubled = topic({"r1 r1 m2 r2 r3 r3 r4 r5"});
  const std::vector<std::string> three = {plain, "r1 m2 m2 r2 r3 r4", "r1 r1 m2 m2 r2 r2 r3 r4 r5"};
  const std::string thrice = topic(three), first = topic({three[1]}), second = topic(three);
  for (const char* interval : {"500ms", "1s", "2s"}) {
    SCOPED_TRACE(interval);
    auto four = Sought(From({empty, one, late, doubled, thrice, first, second}, Hlc(4), interval));
    EXPECT_EQ(BeginOf(*four, empty), 0);
    EXPECT_EQ(BeginOf(*four, one), 3);
    EXPECT_EQ(BeginOf(*four, late), 103);
    EXPECT_EQ(BeginOf(*four, doubled), 5);
    EXPECT_EQ(BeginOf(*four, thrice, 0), 3);
    EXPECT_EQ(BeginOf(*four, thrice, 1), 4);
    EXPECT_EQ(BeginOf(*four, thrice, 2), 6);
    EXPECT_EQ(BeginOf(*four, first), 4);
    EXPECT_EQ(BeginOf(*four, second, 0), 3);
    EXPECT_EQ(BeginOf(*four, second, 1), 4);
    EXPECT_EQ(BeginOf(*four, second, 2), 6);
    auto zero = Sought(From({one, later}, "0.0", interval));
    EXPECT_EQ(BeginOf(*zero, one), 0);
    EXPECT_EQ(BeginOf(*zero, later), 123);
    auto six = Sought(From({one}, Hlc(6), interval));
    EXPECT_EQ(BeginOf(*six, one), 5);
  }
}

// Records copied from elsewhere were written long after what they tell.
TEST_P(KafkaSeekTest, B25_TheRecordsOwnTimestampsNeedNotBeThoseOfTheRows) {
  const std::string topic = Topic(2);
  Put(topic, 0, "r1 m2 r2 r3 r4 r5", 1000);
  Put(topic, 1, "r1 r1 m2 r2 r3 r3 r4 r5", 1000);
  auto driver = Sought(From(topic, 4));
  EXPECT_EQ(BeginOf(*driver, topic, 0), 3);
  EXPECT_EQ(BeginOf(*driver, topic, 1), 5);
}

// The model begins at r4 and loses m6: a resolved message says that no older row follows, not that no newer one came.
TEST_P(KafkaSeekTest, NoRowOfMinOrLaterIsInFrontOfTheStart) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m3 m6");
  Put(topic, 0, "r4", 6.5);
  Put(topic, 0, "m7");
  auto driver = Sought(From(topic, 5));
  EXPECT_EQ(BeginOf(*driver, topic), 0);
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m6 m7"));
}

TEST_P(KafkaSeekTest, ClocksThatAreHalfASecondApartLoseNothing) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 r2 r3");
  Put(topic, 0, "m4", 3.6);
  Put(topic, 0, "r3.5 m4.1");
  auto driver = Sought(From(topic, 4, "1ms"));
  EXPECT_EQ(BeginOf(*driver, topic), 2);
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m4 m4.1"));
}

TEST_P(KafkaSeekTest, AnIdleTopicWithoutAResolvedMessageFromMinOnDoesNotHangTheStart) {
  const std::string topic = Topic(4);
  Put(topic, 0, "r1 m2");
  Put(topic, 1, "m1 m2");
  Put(topic, 2, "x x");
  auto driver = Sought(From(topic, 100));
  EXPECT_EQ(BeginOf(*driver, topic, 0), 0);
  EXPECT_EQ(BeginOf(*driver, topic, 1), 2);
  EXPECT_EQ(BeginOf(*driver, topic, 2), 2);
  EXPECT_EQ(BeginOf(*driver, topic, 3), 0);
  Put(topic, 1, "m99 m100 m101");
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m100 m101"));
}

TEST_P(KafkaSeekTest, WhatRetentionTookIsSaid) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 m10 m11 r12 m13");
  world_->TrimLog(topic, 0, 3);
  testing::internal::CaptureStderr();
  auto driver = Sought(From(topic, 5));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(BeginOf(*driver, topic), 3);
  std::vector<std::string> parts = {topic + " partition 0: min-timestamp " + Hlc(5) + " is before everything",
                                    "at offset 3"};
  if (GetParam()) parts.push_back("the oldest record was written at 20");  // the simulated clock begins elsewhere
  for (const std::string& part : parts) EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m11 m13"));
}

TEST_P(KafkaSeekTest, NothingIsSaidWhereAllThatIsWantedIsKept) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 m10 m11 r12");
  world_->TrimLog(topic, 0, 1);
  testing::internal::CaptureStderr();
  auto driver = Sought(From(topic, 5));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(BeginOf(*driver, topic), 2);
  EXPECT_EQ(said.find("min-timestamp"), std::string::npos) << said;
}

TEST_P(KafkaSeekTest, AnEmptiedTopicBeginsAtItsEnd) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 r3");
  world_->TrimLog(topic, 0, 3);
  auto driver = Sought(From(topic, 2));
  EXPECT_EQ(BeginOf(*driver, topic), 3);
}

TEST_P(KafkaSeekTest, GapsAndAbortedRecordsAreNoObstacle) {
  const std::string topic = Topic(2);
  const auto in = [&](const std::string& message, bool commit, int32_t partition) {
    const uint64_t transaction = world_->BeginTransaction();
    world_->AppendIn(transaction, topic, partition, {MessageOf(message)});
    world_->EndTransaction(transaction, commit);
  };
  in("r1", true, 0);
  in("r2", true, 0);   // at offset 2
  in("r3", false, 0);  // never was
  in("m5", true, 0);
  in("r1", true, 1);
  for (int i = 0; i < 3; ++i) in("r2", false, 1);
  auto driver = Sought(From(topic, 4));
  EXPECT_EQ(BeginOf(*driver, topic, 0), 2);
  EXPECT_EQ(BeginOf(*driver, topic, 1), 0);
  ASSERT_TRUE(driver->ReadRows(1)) << driver->error.ToString();
  EXPECT_EQ(driver->rows, WordsOf("m5"));
}

TEST_P(KafkaSeekTest, MessagesOfAnotherKindAreSkippedAndCounted) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2");
  Put(topic, 0, "x x", 3);
  world_->Append(topic, 0, {{.key = "[1]", .value = std::nullopt, .timestamp_ms = MsOf(3)}});
  Put(topic, 0, "m4 r5");
  auto driver = Started(From({topic}, Hlc(4), "5s", {{"on-error", Text("skip")}}));
  ASSERT_TRUE(driver->Until([&] { return driver->ready(); })) << driver->error.ToString();
  EXPECT_EQ(BeginOf(*driver, topic), 0);
  EXPECT_EQ(driver->MetricSum("seeks_skipped"), 2);
}

TEST_P(KafkaSeekTest, ReadsNoMoreThanItNeeds) {
  const std::string topic = Topic(2);
  std::string busy, quiet = "r1 ";
  for (int second = 1; second <= 2000; ++second) {
    busy += "m" + std::to_string(second) + (second % 5 == 0 ? " r" + std::to_string(second) + " " : " ");
    if (second % 10 == 0) quiet += "m" + std::to_string(second) + " ";
  }
  Put(topic, 0, busy);
  Put(topic, 1, quiet);
  auto driver = Sought(From(topic, 1001));
  EXPECT_EQ(BeginOf(*driver, topic, 0), 1199);  // r1000, behind 1000 rows and 199 resolved messages
  EXPECT_EQ(BeginOf(*driver, topic, 1), 0);
  EXPECT_LE(driver->MetricSum("seeks"), 120);  // a few of the first, 101 of the second
  EXPECT_GE(driver->MetricSum("seeks"), 101);
  driver = Sought(From(topic, 1001, "10s"));
  EXPECT_EQ(BeginOf(*driver, topic, 0), 1199);
}

TEST_P(KafkaSeekTest, B26_AfterARestartTheCheckpointDecides) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 r3 m4 m5");
  SourceSnapshot snapshot;
  {
    auto driver = Sought(From(topic, 4));
    ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
    EXPECT_EQ(driver->rows, WordsOf("m4 m5"));
    snapshot = driver->Snapshot(1);
  }
  Put(topic, 0, "m3.5 m6");
  for (const double min : {4.0, 2.0}) {
    auto restored = Started(From(topic, min), &snapshot);
    ASSERT_TRUE(restored->Until([&] { return !restored->rows.empty() && restored->rows.back() == "m6"; }))
        << restored->error.ToString();
    EXPECT_EQ(restored->rows.size(), min == 4.0 ? 1U : 2U);  // m3.5 counts from 2 on
    EXPECT_EQ(restored->MetricSum("seeks"), 0);
  }
  auto anew = Sought(From(topic, 4));
  ASSERT_TRUE(anew->ReadRows(3)) << anew->error.ToString();
  EXPECT_EQ(anew->rows, WordsOf("m4 m5 m6"));
}

TEST_P(KafkaSeekTest, B06_WithoutCommittedOffsetsAStartIsAtTheOldestAndWithThemThere) {
  const std::string topic = Topic(1);
  const std::string group = world_->NewName("g");
  Put(topic, 0, "m1 m2");
  const Definition definition = Source({topic}, {{"group", Text(group)}, {"start", Text("group-offsets")}});
  SourceSnapshot snapshot;
  {
    auto driver = Started(definition);
    ASSERT_TRUE(driver->ReadRows(2)) << driver->error.ToString();
    snapshot = driver->Snapshot(1);
    driver->Applied(1);
    ASSERT_TRUE(driver->Until([&] {
      const auto offsets =
          world_->NewAdmin()->CommittedOffsets(group, std::vector<connectors::TopicPartition>{{topic, 0}});
      return offsets.has_value() && (*offsets)[0] == 2;
    }));
  }
  Put(topic, 0, "m3");
  for (const SourceSnapshot* restored : {static_cast<const SourceSnapshot*>(nullptr), &std::as_const(snapshot)}) {
    auto driver = Started(definition, restored);
    ASSERT_TRUE(driver->ReadRows(1)) << driver->error.ToString();
    EXPECT_EQ(driver->rows, WordsOf("m3"));
  }
}

TEST_P(KafkaSeekTest, B50_Weakness_m_ManyPartitionsAreSoughtAtOnce) {
  constexpr int32_t kPartitions = 40;
  const std::string topic = Topic(kPartitions);
  for (int32_t p = 0; p < kPartitions; ++p) Put(topic, p, "r1 m2 r3 m4 r5");
  auto driver = Sought(From(topic, 4));
  for (int32_t p = 0; p < kPartitions; ++p) EXPECT_EQ(BeginOf(*driver, topic, p), 2) << p;
  ASSERT_TRUE(driver->ReadRows(kPartitions)) << driver->error.ToString();
}

TEST_P(KafkaSeekTest, AnUnreachableClusterIsAnErrorInBoundedTime) {
  const std::string topic = Topic(1);
  Put(topic, 0, "r1 m2 r3 m4 r5");
  world_->SetReachable(false);
  auto driver = Started(From({topic}, Hlc(4), "1s", {{"request-timeout", Text("1s")}}));
  ExpectError(*driver, StatusCode::kUnavailable, {world_->connection().bootstrap_servers});
  world_->SetReachable(true);
}

// A real client has all of it before the first look.
class KafkaSlowSeekTest : public KafkaSeekTest {};

TEST_P(KafkaSlowSeekTest, AClusterThatGoesAwayIsAnErrorInBoundedTime) {
  const std::string topic = Topic(1);
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += "m3 ";
  Put(topic, 0, rows);
  auto driver = Started(From({topic}, Hlc(4), "1s", {{"request-timeout", Text("1s")}}));
  ASSERT_TRUE(driver->Until([&] { return driver->MetricSum("seeks") > 0; })) << driver->error.ToString();
  ASSERT_FALSE(driver->ready());
  world_->SetReachable(false);
  ExpectError(*driver, StatusCode::kUnavailable, {"the search for min-timestamp", topic + " partition 0"});
}

TEST_P(KafkaSlowSeekTest, RetentionThatIsFasterThanTheSearchOnlyBeginsItAnew) {
  const std::string topic = Topic(1);
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += "m3 ";
  Put(topic, 0, rows + "r3.5 m4");
  auto driver = Started(From(topic, 4));
  ASSERT_TRUE(driver->Until([&] { return driver->MetricSum("seeks") > 0; })) << driver->error.ToString();
  ASSERT_FALSE(driver->ready());
  world_->TrimLog(topic, 0, 4999);
  ASSERT_TRUE(driver->ReadRows(1)) << driver->error.ToString();
  EXPECT_EQ(BeginOf(*driver, topic), 5000);
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaSeekTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaSlowSeekTest, testing::Values(false),
                         [](const testing::TestParamInfo<bool>&) { return "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
