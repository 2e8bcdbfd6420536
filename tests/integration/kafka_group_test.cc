// The kafka source as members of a consumer group, on a real broker: who reads what, what is committed when, and what a
// rebalance leaves alone. A driver is a process with its members; who steps one and not the other has one that stands
// still.
#include <gtest/gtest.h>

#include <set>

#include "tests/connectors/kafka/connector_driver.h"
#include "tests/harness/kafka_broker.h"

namespace weir::kafka_test {
namespace {

using connectors::TopicPartition;
using Driver = std::unique_ptr<SourceDriver>;
using Values = std::vector<std::string>;

class KafkaGroupTest : public testing::Test {
 protected:
  std::string Topic(int partitions, const std::string& stem = "g") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  static Definition With(Definition definition, Definition more) {
    for (auto& member : more) definition.push_back(std::move(member));
    return definition;
  }
  // A member whose session ends after 3 s, and which hears of a rebalance within 0.2 s.
  Definition Group(const std::vector<std::string>& topics, Definition more = {}) const {
    return With({{"topics", List(topics)},
                 {"format", Text("raw")},
                 {"assignment", Text("group")},
                 {"group", Text(group_)},
                 {"properties", Object({{"session.timeout.ms", Text("3000")},
                                        {"heartbeat.interval.ms", Text("200")},
                                        {"max.poll.interval.ms", Text("6000")},
                                        {"fetch.wait.max.ms", Text("10")}})}},
                std::move(more));
  }
  Driver Start(Definition definition, uint32_t parallelism = 1) {
    auto driver = std::make_unique<SourceDriver>(*world_, std::move(definition), parallelism);
    EXPECT_EQ(driver->Start().ToString(), "ok");
    return driver;
  }
  bool Together(const std::vector<SourceDriver*>& drivers, const std::function<bool()>& done) {
    const bool reached = world_->Until([&] {
      for (SourceDriver* driver : drivers) driver->Step();
      return done();
    });
    for (SourceDriver* driver : drivers) EXPECT_EQ(driver->error.ToString(), "ok");
    return reached;
  }
  // Once the metric, which is looked at each second, is up to date.
  static double Rebalances(SourceDriver& driver) {
    driver.Linger(std::chrono::milliseconds(1200));
    return driver.MetricSum("rebalances");
  }
  static int Held(const SourceDriver& driver) {
    return static_cast<int>(driver.MetricSum("partitions_assigned") - driver.MetricSum("partitions_revoked"));
  }
  std::vector<int64_t> Committed(const std::string& topic, int partitions) {
    std::vector<TopicPartition> names;
    for (int32_t p = 0; p < partitions; ++p) names.push_back({topic, p});
    std::vector<int64_t> result;
    const auto offsets = world_->NewAdmin()->CommittedOffsets(group_, names);
    if (!offsets.has_value()) return result;
    for (const std::optional<int64_t>& offset : *offsets) result.push_back(offset.value_or(-1));
    return result;
  }
  bool Commits(SourceDriver& driver, const std::string& topic, const std::vector<int64_t>& expected) {
    return driver.Until([&] { return Committed(topic, static_cast<int>(expected.size())) == expected; });
  }
  // `count` values for each of the partitions: "<stem><partition>-<number>".
  void Fill(const std::string& topic, int partitions, int count, const std::string& stem) {
    for (int32_t p = 0; p < partitions; ++p) {
      Values values;
      for (int i = 0; i < count; ++i) values.push_back(stem + std::to_string(p) + "-" + std::to_string(i));
      world_->AppendValues(topic, p, values);
    }
  }
  static std::set<std::string> Distinct(const SourceDriver& a, const SourceDriver& b) {
    std::set<std::string> all(a.rows.begin(), a.rows.end());
    all.insert(b.rows.begin(), b.rows.end());
    return all;
  }

  std::unique_ptr<KafkaWorld> world_ = NewRealWorld();
  std::string group_ = world_->NewName("group");
};

TEST_F(KafkaGroupTest, B06_B16_GoesOnFromTheCommittedOffsetAndCommitsAppliedCheckpointsOnly) {
  const std::string topic = Topic(1);
  Fill(topic, 1, 10, "a");
  {
    Driver driver = Start(Group({topic}));
    ASSERT_TRUE(driver->ReadRows(10)) << driver->error.ToString();
    EXPECT_EQ(driver->Snapshot(1).splits.size(), 0U);
    Fill(topic, 1, 5, "b");
    ASSERT_TRUE(driver->ReadRows(15));
    (void)driver->Snapshot(2);
    driver->Linger(std::chrono::milliseconds(300));
    EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{-1});
    driver->Applied(1);
    EXPECT_TRUE(Commits(*driver, topic, {10}));
    driver->Linger(std::chrono::milliseconds(300));
    EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{10});
  }
  EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{10});  // the end of the process commits nothing more
  Driver next = Start(Group({topic}));
  ASSERT_TRUE(next->ReadRows(5));
  EXPECT_EQ(next->rows, (Values{"b0-0", "b0-1", "b0-2", "b0-3", "b0-4"}));
}

TEST_F(KafkaGroupTest, WhatIsAppliedAtTheEndIsCommittedBeforeTheGroupIsLeft) {
  const std::string topic = Topic(1);
  Fill(topic, 1, 10, "a");
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(10)) << driver->error.ToString();
  (void)driver->Snapshot(1);
  driver->Applied(1);
  driver.reset();
  EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{10});
}

TEST_F(KafkaGroupTest, AnOffsetPassesTheControlRecordsBehindTheLastRow) {
  const std::string topic = Topic(1);
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "a"}, {.value = "b"}});
  world_->EndTransaction(transaction, true);
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(2));
  for (uint64_t n = 1; n <= 50 && Committed(topic, 1) != std::vector<int64_t>{3}; ++n) {
    driver->Linger(std::chrono::milliseconds(100));
    (void)driver->Snapshot(n);
    driver->Applied(n);
  }
  EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{3});
}

TEST_F(KafkaGroupTest, B30_MembersShareThePartitionsAndTakeOverWhatOneLeaves) {
  const std::string topic = Topic(6);
  Driver a = Start(Group({topic}));
  ASSERT_TRUE(a->Until([&] { return Held(*a) == 6; }));
  Driver b = Start(Group({topic}), 2);  // two subtasks are two members
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Held(*a) == 2 && Held(*b) == 4; }));
  Fill(topic, 6, 20, "x");
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return a->rows.size() + b->rows.size() >= 120; }));
  EXPECT_EQ(a->rows.size(), 40U);
  EXPECT_EQ(Distinct(*a, *b).size(), 120U);
  (void)a->Snapshot(1);
  a->Applied(1);
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return a->MetricSum("group_commits") >= 1; }));
  b.reset();  // nothing of it was applied
  ASSERT_TRUE(a->Until([&] { return Held(*a) == 6 && a->rows.size() >= 120; }));
  EXPECT_EQ(std::set<std::string>(a->rows.begin(), a->rows.end()).size(), 120U);
  EXPECT_EQ(a->rows.size(), 120U);  // what stayed with it was not read again
}

TEST_F(KafkaGroupTest, B24_ARevokedPartitionIsReadAgainFromWhatWasApplied) {
  const std::string topic = Topic(2);
  Fill(topic, 2, 10, "a");
  Driver a = Start(Group({topic}));
  ASSERT_TRUE(a->ReadRows(20));
  (void)a->Snapshot(1);
  a->Applied(1);
  Fill(topic, 2, 10, "b");
  ASSERT_TRUE(a->ReadRows(40));
  (void)a->Snapshot(2);
  Driver b = Start(Group({topic}));
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Held(*a) == 1 && Held(*b) == 1 && b->rows.size() >= 10; }));
  EXPECT_EQ(b->rows.size(), 10U);
  for (const std::string& row : b->rows) EXPECT_TRUE(row.starts_with("b")) << row;
  EXPECT_EQ(Committed(topic, 2), (std::vector<int64_t>{10, 10}));
  // The older checkpoint is applied only now: it moves what stayed, and not what has a new owner.
  a->Applied(2);
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] {
    const auto committed = Committed(topic, 2);
    return committed.size() == 2 && std::max(committed[0], committed[1]) == 20;
  }));
  const auto committed = Committed(topic, 2);
  EXPECT_EQ(std::min(committed[0], committed[1]), 10);
}

TEST_F(KafkaGroupTest, B24_WhatIsAppliedBeforeTheRevokeIsCommittedInIt) {
  const std::string topic = Topic(2);
  Fill(topic, 2, 10, "a");
  Driver a = Start(Group({topic}, {{"group-strategy", Text("range")}}));
  ASSERT_TRUE(a->ReadRows(20));
  Driver b = Start(Group({topic}, {{"group-strategy", Text("range")}}));
  (void)a->Snapshot(1);
  a->Applied(1);
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Held(*a) == 1 && Held(*b) == 1; }));
  Fill(topic, 2, 1, "n");
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Distinct(*a, *b).size() == 22 && !b->rows.empty(); }));
  EXPECT_EQ(b->rows.size(), 1U);
}

TEST_F(KafkaGroupTest, Weakness_e_AMemberWithoutPartitionsStandsBy) {
  const std::string topic = Topic(1);
  Driver a = Start(Group({topic}));
  ASSERT_TRUE(a->Until([&] { return Held(*a) == 1; }));
  Driver b = Start(Group({topic}));
  ASSERT_TRUE(
      Together({a.get(), b.get()}, [&] { return b->MetricSum("rebalances") >= 1 || a->MetricSum("rebalances") >= 2; }));
  Fill(topic, 1, 10, "a");
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return a->rows.size() + b->rows.size() == 10; }));
  EXPECT_EQ(Held(*a) + Held(*b), 1);
  SourceDriver& standby = Held(*a) == 0 ? *a : *b;
  EXPECT_EQ(standby.finished, 0U);
  EXPECT_EQ(standby.Snapshot(1).splits.size(), 0U);  // it takes part in checkpoints
  standby.Applied(1);
  (&standby == a.get() ? b : a).reset();
  ASSERT_TRUE(standby.ReadRows(10)) << standby.error.ToString();
}

// Two topics of one partition: range gives both to one member, roundrobin one to each.
TEST_F(KafkaGroupTest, B02_StrategiesByName) {
  const std::string one = Topic(1, "one");
  const std::string two = Topic(1, "two");
  for (const auto& [strategy, most] :
       {std::pair("range", 2), std::pair("roundrobin", 1), std::pair("cooperative-sticky", 1)}) {
    group_ = world_->NewName(strategy);
    const Definition definition = Group({one, two}, {{"group-strategy", Text(strategy)}});
    Driver a = Start(definition);
    ASSERT_TRUE(a->Until([&] { return Held(*a) == 2; })) << strategy;
    Driver b = Start(definition);
    ASSERT_TRUE(Together({a.get(), b.get()},
                         [&] {
                           return Held(*a) + Held(*b) == 2 && std::max(Held(*a), Held(*b)) == most &&
                                  a->MetricSum("rebalances") >= 2;
                         }))
        << strategy << " " << Held(*a) << " " << Held(*b);
  }
}

TEST_F(KafkaGroupTest, B50_Weakness_o_ACooperativeRebalanceLeavesWhatStaysAlone) {
  const std::string topic = Topic(4);
  Driver a = Start(Group({topic}));
  ASSERT_TRUE(a->Until([&] { return Held(*a) == 4; }));
  Fill(topic, 4, 50, "a");
  ASSERT_TRUE(a->ReadRows(200));
  Driver b = Start(Group({topic}));
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Held(*a) == 2 && Held(*b) == 2 && b->rows.size() >= 100; }));
  EXPECT_EQ(a->MetricSum("partitions_revoked"), 2);
  EXPECT_EQ(a->MetricSum("partitions_assigned"), 4);
  EXPECT_EQ(a->rows.size(), 200U);
  EXPECT_EQ(b->rows.size(), 100U);
}

TEST_F(KafkaGroupTest, B50_AStaticMemberComesBackWithoutARebalance) {
  const std::string topic = Topic(2);
  const auto member = [&](const char* id) { return Group({topic}, {{"group-instance-id", Text(id)}}); };
  Driver a = Start(member("a"));
  Driver b = Start(member("b"));
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return Held(*a) == 1 && Held(*b) == 1; }));
  const double before = Rebalances(*a);
  b.reset();
  b = Start(member("b"));
  Fill(topic, 2, 10, "a");
  ASSERT_TRUE(Together({a.get(), b.get()}, [&] { return a->rows.size() == 10 && b->rows.size() == 10; }));
  EXPECT_EQ(Rebalances(*a), before);
}

TEST_F(KafkaGroupTest, B50_AStaticMemberThatIsStartedTwiceIsTakenOver) {
  const std::string topic = Topic(1);
  const Definition member = Group({topic}, {{"group-instance-id", Text("a")}});
  Driver first = Start(member);
  ASSERT_TRUE(first->Until([&] { return Held(*first) == 1; }));
  Driver second = Start(member);
  ASSERT_TRUE(world_->Until([&] {
    first->Step();
    second->Step();
    return !first->error.ok();
  }));
  EXPECT_EQ(first->error.code(), StatusCode::kFenced) << first->error.ToString();
  EXPECT_NE(first->error.message().find(group_), std::string::npos);
  ASSERT_TRUE(second->Until([&] { return Held(*second) == 1; }));
}

// Latest is where the group first began, not where its next member comes in.
TEST_F(KafkaGroupTest, StartLatestIsFixedBeforeTheFirstRecord) {
  const std::string topic = Topic(1);
  Fill(topic, 1, 10, "old");
  const Definition definition = Group({topic}, {{"start", Text("latest")}});
  {
    Driver a = Start(definition);
    ASSERT_TRUE(a->Until([&] { return Held(*a) == 1; }));
    EXPECT_EQ(Committed(topic, 1), std::vector<int64_t>{10});
    Fill(topic, 1, 5, "a");
    ASSERT_TRUE(a->ReadRows(5));
  }
  Fill(topic, 1, 2, "b");
  Driver b = Start(definition);
  ASSERT_TRUE(b->ReadRows(7));
  EXPECT_EQ(b->rows.front(), "a0-0");
  EXPECT_EQ(b->rows.size(), 7U);
}

TEST_F(KafkaGroupTest, ACommittedOffsetThatIsTrimmedAwayIsAnError) {
  const std::string topic = Topic(1);
  Fill(topic, 1, 10, "a");
  ASSERT_TRUE(world_->NewAdmin()->CommitOffsets(group_, std::vector<connectors::PartitionStart>{{{topic, 0}, 4}}).ok());
  world_->TrimLog(topic, 0, 8);
  Driver driver = Start(Group({topic}));
  EXPECT_FALSE(driver->Until([] { return false; }));
  EXPECT_EQ(driver->error.code(), StatusCode::kFailedPrecondition) << driver->error.ToString();
  for (const std::string& part : {topic, group_, std::string("partition 0")}) {
    EXPECT_NE(driver->error.message().find(part), std::string::npos) << driver->error.ToString();
  }
  EXPECT_TRUE(driver->rows.empty());
}

TEST_F(KafkaGroupTest, ATopicThatIsMissingIsAnErrorByName) {
  const std::string topic = world_->NewName("missing");
  Driver driver = Start(Group({topic}));
  EXPECT_FALSE(driver->Until([] { return false; }));
  EXPECT_EQ(driver->error.code(), StatusCode::kNotFound) << driver->error.ToString();
  EXPECT_NE(driver->error.message().find(topic), std::string::npos) << driver->error.ToString();
}

TEST_F(KafkaGroupTest, B41_B49_APatternFindsNewTopicsAndPartitions) {
  const std::string stem = world_->NewName("pattern");
  ASSERT_TRUE(world_->CreateTopic(stem + "-a", 1).ok());
  ASSERT_TRUE(world_->CreateTopic("x" + stem + "-a", 1).ok());  // the whole name must match
  Definition definition = Group({}, {{"topic-pattern", Text(stem + "-.")}, {"discovery-interval", Text("1s")}});
  definition.erase(definition.begin());
  Driver driver = Start(definition);
  ASSERT_TRUE(driver->Until([&] { return Held(*driver) == 1; }));
  ASSERT_TRUE(world_->CreateTopic(stem + "-b", 1).ok());
  ASSERT_TRUE(world_->AddPartitions(stem + "-a", 2).ok());
  Fill(stem + "-b", 1, 3, "b");
  Fill(stem + "-a", 2, 3, "a");
  ASSERT_TRUE(driver->ReadRows(9)) << driver->error.ToString();
  EXPECT_EQ(Held(*driver), 3);
}

// Longer than the session and than max.poll.interval.ms, with more records than the client keeps.
TEST_F(KafkaGroupTest, case_H07_Weakness_k_AStandstillBehindASlowSinkIsNoRebalance) {
  const std::string topic = Topic(2);
  constexpr int kRecords = 20'000;
  Fill(topic, 2, kRecords, "a");
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(2'000));
  const double before = 1;  // it was given its partitions
  const MonotonicTime stood = world_->context().clock->Now();
  while (world_->context().clock->Now() - stood < std::chrono::seconds(8)) world_->Wait();
  ASSERT_TRUE(driver->ReadRows(size_t{2} * kRecords)) << driver->error.ToString();
  EXPECT_EQ(Rebalances(*driver), before);
  EXPECT_EQ(driver->rows.size(), size_t{2} * kRecords);  // and a pause repeats nothing
  EXPECT_EQ(std::set<std::string>(driver->rows.begin(), driver->rows.end()).size(), size_t{2} * kRecords);
}

TEST_F(KafkaGroupTest, ABrokerThatIsAwayForLongerThanTheSessionIsWaitedFor) {
  const std::string topic = Topic(2);
  Fill(topic, 2, 10, "a");
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(20));
  (void)driver->Snapshot(1);
  world_->SetReachable(false);
  driver->Applied(1);
  driver->Linger(std::chrono::seconds(5));
  EXPECT_EQ(driver->error.ToString(), "ok");
  world_->SetReachable(true);
  Fill(topic, 2, 10, "b");
  ASSERT_TRUE(driver->Until([&] {
    return std::set<std::string>(driver->rows.begin(), driver->rows.end()).size() == 40;
  })) << driver->error.ToString();
  EXPECT_LE(driver->rows.size(), 60U);
}

TEST_F(KafkaGroupTest, ABrokerThatIsKilledAndComesBackIsJoinedAgain) {
  const std::string topic = Topic(2);
  Fill(topic, 2, 10, "a");
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(20));
  (void)driver->Snapshot(1);
  driver->Applied(1);
  ASSERT_TRUE(Commits(*driver, topic, {10, 10}));
  harness::KafkaBroker& broker = harness::SharedKafkaBroker();
  broker.Kill9();
  driver->Linger(std::chrono::seconds(1));
  ASSERT_EQ(broker.Restart().ToString(), "ok");
  Fill(topic, 2, 10, "b");
  ASSERT_TRUE(driver->ReadRows(40)) << driver->error.ToString();
  EXPECT_EQ(std::set<std::string>(driver->rows.begin(), driver->rows.end()).size(), 40U);
  (void)driver->Snapshot(2);
  driver->Applied(2);
  EXPECT_TRUE(Commits(*driver, topic, {20, 20})) << driver->error.ToString();
}

TEST_F(KafkaGroupTest, B33_Weakness_n_MetricsByPartition) {
  const std::string topic = Topic(2);
  Fill(topic, 2, 10, "a");
  Driver driver = Start(Group({topic}));
  ASSERT_TRUE(driver->ReadRows(20));
  driver->Linger(std::chrono::milliseconds(1500));
  EXPECT_EQ(driver->MetricSum("records_received"), 20);
  EXPECT_EQ(driver->MetricSum("partition_offset"), 20);
  EXPECT_EQ(driver->MetricSum("partition_lag"), 0);
  EXPECT_EQ(driver->lag(), 0);
  EXPECT_GT(driver->MetricSum("partition_polled_seconds"), 0);
  EXPECT_EQ(driver->MetricSum("partitions_assigned"), 2);
  Driver other = Start(Group({topic}));
  ASSERT_TRUE(Together({driver.get(), other.get()}, [&] { return Held(*driver) == 1 && Held(*other) == 1; }));
  driver->Linger(std::chrono::milliseconds(1500));
  EXPECT_EQ(driver->MetricSum("partition_offset"), 10);  // the other one's is not ours any more
}

}  // namespace
}  // namespace weir::kafka_test
