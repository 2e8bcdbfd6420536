// The same cases on the simulated cluster and on a real broker: what they agree on is what Weir may rely on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/connectors/kafka/kafka_world.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::kafka_test {
namespace {

using connectors::FetchedBlock;
using connectors::KafkaConsumer;
using connectors::KafkaProducer;
using connectors::PartitionStart;
using connectors::ProduceRow;
using connectors::TopicPartition;

class KafkaConformanceTest : public testing::TestWithParam<bool> {
 protected:
  KafkaConformanceTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {}

  // A fresh topic with that many partitions.
  std::string Topic(int partitions, const std::string& stem = "t") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<KafkaConsumer> Consumer(bool committed = true) {
    connectors::KafkaConnection connection = world_->connection();
    connection.properties.emplace_back("isolation.level", committed ? "read_committed" : "read_uncommitted");
    auto consumer = world_->factory().NewConsumer(connection, world_->context());
    EXPECT_TRUE(consumer.has_value()) << consumer.error().ToString();
    return std::move(*consumer);
  }
  std::unique_ptr<KafkaConsumer> ConsumerAt(const std::string& topic, int64_t offset, bool committed = true) {
    auto consumer = Consumer(committed);
    EXPECT_EQ(consumer->Assign(std::vector<PartitionStart>{{{topic, 0}, offset}}).ToString(), "ok");
    return consumer;
  }
  std::unique_ptr<KafkaProducer> Producer() {
    auto producer = world_->factory().NewProducer(world_->connection(), world_->context());
    EXPECT_TRUE(producer.has_value()) << producer.error().ToString();
    return std::move(*producer);
  }

  // Adds to `seen` what comes; false once an error does, which is kept.
  bool Poll(KafkaConsumer& consumer) {
    auto block = consumer.Fetch();
    if (!block.has_value()) {
      error_ = block.error();
      return false;
    }
    if (*block == nullptr) return true;
    for (const connectors::KafkaRecord& record : (*block)->records()) {
      seen_.push_back((record.value.data() == nullptr ? "null" : std::string(record.value)));
      offsets_.push_back(record.offset);
      partitions_.push_back(record.partition);
      keys_.push_back(record.key.data() == nullptr ? "null" : std::string(record.key));
      times_.push_back(record.timestamp_ms);
    }
    return true;
  }
  bool Read(KafkaConsumer& consumer, size_t count) {
    return world_->Until([&] { return !Poll(consumer) || seen_.size() >= count; }) && error_.ok();
  }
  // Reads until the position of partition 0 is there.
  bool ReadTo(KafkaConsumer& consumer, int64_t position) {
    return world_->Until([&] { return !Poll(consumer) || consumer.Position(0) >= position; }) && error_.ok();
  }
  bool ReadToError(KafkaConsumer& consumer) {
    return world_->Until([&] { return !Poll(consumer); });
  }
  // Some time in which something unwanted could happen.
  void Linger(KafkaConsumer& consumer) {
    const MonotonicTime start = world_->context().clock->Now();
    (void)world_->Until([&] {
      return !Poll(consumer) || world_->context().clock->Now() - start > std::chrono::milliseconds(300);
    });
  }
  bool Acknowledged(KafkaProducer& producer) {
    return world_->Until([&] {
      const auto& progress = producer.Progress();
      return !progress.error.ok() || progress.acknowledged == progress.accepted;
    });
  }

  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> values;
    for (int i = from; i < to; ++i) values.push_back(std::to_string(i));
    return values;
  }

  std::unique_ptr<KafkaWorld> world_;
  std::vector<std::string> seen_;
  std::vector<std::string> keys_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> times_;
  std::vector<uint32_t> partitions_;
  Status error_;
};

TEST_P(KafkaConformanceTest, ReadsFromTheBeginningInOrder) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 2500));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 2500)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(0, 2500));
  EXPECT_EQ(offsets_.back(), 2499);
  EXPECT_EQ(consumer->Position(0), 2500);
}

TEST_P(KafkaConformanceTest, ReadsFromAnOffset) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  const auto consumer = ConsumerAt(topic, 7);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(7, 10));
}

TEST_P(KafkaConformanceTest, GivesRecordsThatComeLater) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  Linger(*consumer);
  EXPECT_TRUE(seen_.empty());
  world_->AppendValues(topic, 0, {"late"});
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"late"});
}

TEST_P(KafkaConformanceTest, TellsNullFromEmpty) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0, {{.key = "k", .value = std::nullopt}, {.key = "", .value = ""}, {.value = "v"}});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(seen_, (std::vector<std::string>{"null", "", "v"}));
  EXPECT_EQ(keys_, (std::vector<std::string>{"k", "", "null"}));
}

TEST_P(KafkaConformanceTest, GivesTimestamps) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0, {{.value = "a", .timestamp_ms = 1'700'000'000'123}});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(times_, std::vector<int64_t>{1'700'000'000'123});
}

TEST_P(KafkaConformanceTest, NumbersPartitionsAsTheyWereAssigned) {
  const std::string topic = Topic(3);
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, {std::to_string(p)});
  const auto consumer = Consumer();
  ASSERT_TRUE(consumer->Assign(std::vector<PartitionStart>{{{topic, 2}, 0}, {{topic, 0}, 0}}).ok());
  ASSERT_TRUE(Read(*consumer, 2)) << error_.ToString();
  for (size_t i = 0; i < seen_.size(); ++i) EXPECT_EQ(seen_[i], partitions_[i] == 0 ? "2" : "0");
  Linger(*consumer);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_P(KafkaConformanceTest, TakesMorePartitionsWhileReading) {
  const std::string topic = Topic(2);
  world_->AppendValues(topic, 0, Numbers(0, 5));
  world_->AppendValues(topic, 1, {"x", "y"});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 5));
  ASSERT_TRUE(consumer->Assign(std::vector<PartitionStart>{{{topic, 1}, 1}}).ok());
  ASSERT_TRUE(Read(*consumer, 6)) << error_.ToString();
  EXPECT_EQ(seen_.back(), "y");
  EXPECT_EQ(partitions_.back(), 1U);
  EXPECT_EQ(consumer->Position(0), 5);
  EXPECT_EQ(consumer->Position(1), 2);
}

TEST_P(KafkaConformanceTest, RefusesAPartitionTwice) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  EXPECT_EQ(consumer->Assign(std::vector<PartitionStart>{{{topic, 0}, 0}}).code(), StatusCode::kAlreadyExists);
}

TEST_P(KafkaConformanceTest, HidesAnAbortedTransaction) {
  const std::string topic = Topic(1);
  const uint64_t bad = world_->BeginTransaction();
  const uint64_t good = world_->BeginTransaction();
  world_->AppendIn(bad, topic, 0, {{.value = "bad1"}});
  world_->AppendIn(good, topic, 0, {{.value = "good1"}});
  world_->AppendIn(bad, topic, 0, {{.value = "bad2"}});
  world_->AppendIn(good, topic, 0, {{.value = "good2"}});
  world_->EndTransaction(bad, false);
  world_->EndTransaction(good, true);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(ReadTo(*consumer, 6)) << error_.ToString();
  EXPECT_EQ(seen_, (std::vector<std::string>{"good1", "good2"}));
}

TEST_P(KafkaConformanceTest, ShowsAbortedDataToUncommittedReaders) {
  const std::string topic = Topic(1);
  const uint64_t bad = world_->BeginTransaction();
  world_->AppendIn(bad, topic, 0, {{.value = "bad"}});
  world_->EndTransaction(bad, false);
  const auto consumer = ConsumerAt(topic, 0, false);
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"bad"});
}

TEST_P(KafkaConformanceTest, StopsBeforeAnOpenTransaction) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, {"before"});
  const uint64_t open = world_->BeginTransaction();
  world_->AppendIn(open, topic, 0, {{.value = "open"}});
  world_->AppendValues(topic, 0, {"behind"});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  Linger(*consumer);
  EXPECT_EQ(seen_, std::vector<std::string>{"before"});
  EXPECT_EQ(consumer->Position(0), 1);
  world_->EndTransaction(open, true);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(seen_, (std::vector<std::string>{"before", "open", "behind"}));
}

TEST_P(KafkaConformanceTest, PositionPassesAMarkerAtTheTail) {
  const std::string topic = Topic(1);
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "a"}, {.value = "b"}});
  world_->EndTransaction(transaction, true);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(ReadTo(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(consumer->Position(0), 3);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_P(KafkaConformanceTest, PositionPassesATailThatWasAborted) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, {"a"});
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "x"}, {.value = "y"}});
  world_->EndTransaction(transaction, false);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(ReadTo(*consumer, 4)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"a"});
}

TEST_P(KafkaConformanceTest, ReadsOnFromAnOffsetInAGap) {
  const std::string topic = Topic(1);
  for (const char* value : {"0", "2", "4"}) {
    const uint64_t transaction = world_->BeginTransaction();
    world_->AppendIn(transaction, topic, 0, {{.value = value}});
    world_->EndTransaction(transaction, true);
  }
  const auto consumer = ConsumerAt(topic, 3);
  ASSERT_TRUE(ReadTo(*consumer, 6)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"4"});
}

TEST_P(KafkaConformanceTest, PausedPartitionsDeliverNothingAndLoseNothing) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 10));
  ASSERT_TRUE(consumer->Pause(0).ok());
  world_->AppendValues(topic, 0, Numbers(10, 20));
  Linger(*consumer);
  EXPECT_EQ(seen_.size(), 10U);
  ASSERT_TRUE(consumer->Resume(0).ok());
  ASSERT_TRUE(Read(*consumer, 20)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(0, 20));
}

TEST_P(KafkaConformanceTest, SeeksBack) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 10));
  ASSERT_TRUE(consumer->Seek(0, 4).ok());
  seen_.clear();
  ASSERT_TRUE(Read(*consumer, 6)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(4, 10));
}

TEST_P(KafkaConformanceTest, BlocksStayValidWhileOthersAreFetched) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 3000));
  const auto consumer = ConsumerAt(topic, 0);
  std::vector<std::unique_ptr<FetchedBlock>> blocks;
  size_t records = 0;
  ASSERT_TRUE(world_->Until([&] {
    auto block = consumer->Fetch();
    if (block.has_value() && *block != nullptr) {
      records += (*block)->records().size();
      blocks.push_back(std::move(*block));
    }
    return records == 3000;
  }));
  int next = 0;
  for (const auto& block : blocks) {
    for (const auto& record : block->records()) EXPECT_EQ(record.value, std::to_string(next++));
  }
}

TEST_P(KafkaConformanceTest, AnOffsetBeyondTheEndIsAnErrorWithNumbers) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 5));
  const auto consumer = ConsumerAt(topic, 50);
  ASSERT_TRUE(ReadToError(*consumer));
  EXPECT_EQ(error_.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(error_.message().find("50"), std::string::npos) << error_.ToString();
  EXPECT_NE(error_.message().find("from 0 to 5"), std::string::npos) << error_.ToString();
  EXPECT_NE(error_.message().find(topic), std::string::npos);
}

TEST_P(KafkaConformanceTest, ATrimmedOffsetIsAnErrorWithNumbers) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  world_->TrimLog(topic, 0, 6);
  const auto consumer = ConsumerAt(topic, 2);
  ASSERT_TRUE(ReadToError(*consumer));
  EXPECT_NE(error_.message().find("from 6 to 10"), std::string::npos) << error_.ToString();
}

TEST_P(KafkaConformanceTest, KnowsTheHighWatermark) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 8));
  const auto consumer = ConsumerAt(topic, 5);
  ASSERT_TRUE(Read(*consumer, 3));
  EXPECT_TRUE(world_->Until([&] { return Poll(*consumer) && consumer->HighWatermark(0) == 8; }));
}

TEST_P(KafkaConformanceTest, AdminListsAndDescribes) {
  const std::string topic = Topic(3);
  const auto admin = world_->NewAdmin();
  const auto described = admin->DescribeTopic(topic);
  ASSERT_TRUE(described.has_value()) << described.error().ToString();
  EXPECT_EQ(described->partitions, 3);
  const auto listed = admin->ListTopics();
  ASSERT_TRUE(listed.has_value());
  EXPECT_EQ(std::ranges::count(*listed, topic, &connectors::TopicMetadata::name), 1);
}

TEST_P(KafkaConformanceTest, AdminMissesATopicWithoutMakingIt) {
  const auto admin = world_->NewAdmin();
  for (int i = 0; i < 2; ++i) {
    const auto missing = admin->DescribeTopic(world_->NewName("missing"));
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code(), StatusCode::kNotFound) << missing.error().ToString();
    EXPECT_NE(missing.error().message().find("missing"), std::string::npos);
  }
}

TEST_P(KafkaConformanceTest, AdminCreatesATopicOnce) {
  const auto admin = world_->NewAdmin();
  const std::string topic = world_->NewName("created");
  EXPECT_EQ(admin->CreateTopic(topic, 2, {}).ToString(), "ok");
  EXPECT_EQ(admin->DescribeTopic(topic)->partitions, 2);
  EXPECT_EQ(admin->CreateTopic(topic, 2, {}).code(), StatusCode::kAlreadyExists);
}

TEST_P(KafkaConformanceTest, AdminTellsWatermarksOverGapsAndTrimming) {
  const std::string topic = Topic(2);
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "a"}, {.value = "b"}});
  world_->EndTransaction(transaction, true);
  world_->TrimLog(topic, 0, 1);
  const auto marks = world_->NewAdmin()->QueryWatermarks(std::vector<TopicPartition>{{topic, 0}, {topic, 1}});
  ASSERT_TRUE(marks.has_value()) << marks.error().ToString();
  EXPECT_EQ((*marks)[0].low, 1);
  EXPECT_EQ((*marks)[0].high, 3);
  EXPECT_EQ((*marks)[1].high, 0);
}

TEST_P(KafkaConformanceTest, AdminFindsOffsetsForATime) {
  const std::string topic = Topic(2);
  world_->Append(topic, 0, {{.value = "a", .timestamp_ms = 1000}, {.value = "b", .timestamp_ms = 2000}});
  const std::vector<TopicPartition> both = {{topic, 0}, {topic, 1}};
  const auto admin = world_->NewAdmin();
  EXPECT_EQ(*admin->OffsetsForTime(both, 1500), (std::vector<std::optional<int64_t>>{1, std::nullopt}));
  EXPECT_EQ(*admin->OffsetsForTime(both, 2000), (std::vector<std::optional<int64_t>>{1, std::nullopt}));
  EXPECT_EQ(*admin->OffsetsForTime(both, 2001), (std::vector<std::optional<int64_t>>{std::nullopt, std::nullopt}));
}

TEST_P(KafkaConformanceTest, AdminKeepsAGroupsOffsets) {
  const std::string topic = Topic(2);
  const std::string group = world_->NewName("group");
  const std::vector<TopicPartition> both = {{topic, 0}, {topic, 1}};
  const auto admin = world_->NewAdmin();
  EXPECT_EQ(*admin->CommittedOffsets(group, both), (std::vector<std::optional<int64_t>>{std::nullopt, std::nullopt}));
  EXPECT_EQ(admin->CommitOffsets(group, std::vector<PartitionStart>{{{topic, 1}, 42}}).ToString(), "ok");
  EXPECT_EQ(*world_->NewAdmin()->CommittedOffsets(group, both), (std::vector<std::optional<int64_t>>{std::nullopt, 42}));
}

TEST_P(KafkaConformanceTest, AdminGivesUpOnAnUnreachableCluster) {
  const std::string topic = Topic(1);
  const auto admin = world_->NewAdmin(std::chrono::milliseconds(500));
  world_->SetReachable(false);
  const auto answer = admin->DescribeTopic(topic);
  world_->SetReachable(true);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), StatusCode::kUnavailable) << answer.error().ToString();
  EXPECT_NE(answer.error().message().find(world_->connection().bootstrap_servers), std::string::npos);
}

TEST_P(KafkaConformanceTest, ReadsOnAfterTheClusterWasUnreachable) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, {"a"});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 1));
  world_->SetReachable(false);
  Linger(*consumer);
  EXPECT_TRUE(error_.ok()) << error_.ToString();
  world_->SetReachable(true);
  world_->AppendValues(topic, 0, {"b"});
  ASSERT_TRUE(Read(*consumer, 2)) << error_.ToString();
}

TEST_P(KafkaConformanceTest, ProducesInOrderAndAcknowledges) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  const std::vector<std::string> values = Numbers(0, 500);
  std::vector<ProduceRow> rows;
  for (const std::string& value : values) rows.push_back({.key = "k", .value = value});
  size_t taken = 0;
  ASSERT_TRUE(world_->Until([&] {
    const auto count = producer->Produce(topic, std::span(rows).subspan(taken));
    taken += count.value_or(0);
    return taken == rows.size();
  }));
  producer->Flush();
  ASSERT_TRUE(Acknowledged(*producer));
  EXPECT_EQ(producer->Progress().acknowledged, 500U);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 500)) << error_.ToString();
  EXPECT_EQ(seen_, values);
}

TEST_P(KafkaConformanceTest, ProducesNullsAndTimestamps) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  const std::vector<ProduceRow> rows = {{.key = "k", .value = {}, .timestamp_ms = 1234},
                                        {.key = {}, .value = "v", .timestamp_ms = 99},
                                        {.key = std::string_view("", 0), .value = std::string_view("", 0), .timestamp_ms = 1}};
  ASSERT_EQ(producer->Produce(topic, rows).value_or(0), 3U);
  ASSERT_TRUE(Acknowledged(*producer));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(keys_, (std::vector<std::string>{"k", "null", ""}));
  EXPECT_EQ(seen_, (std::vector<std::string>{"null", "v", ""}));
  EXPECT_EQ(times_, (std::vector<int64_t>{1234, 99, 1}));
}

TEST_P(KafkaConformanceTest, TheKeyChoosesThePartitionAsInJava) {
  const std::string topic = Topic(7);
  const auto producer = Producer();
  const std::vector<std::string> keys = {"", "a", "ab", "abc", "abcd", "[7]", "order-1234567"};
  std::vector<ProduceRow> rows;
  for (const std::string& key : keys) rows.push_back({.key = key, .value = "x"});
  ASSERT_EQ(producer->Produce(topic, rows).value_or(0), keys.size());
  ASSERT_TRUE(Acknowledged(*producer));
  const auto consumer = Consumer();
  std::vector<PartitionStart> all;
  for (int32_t p = 0; p < 7; ++p) all.push_back({{topic, p}, 0});
  ASSERT_TRUE(consumer->Assign(all).ok());
  ASSERT_TRUE(Read(*consumer, keys.size())) << error_.ToString();
  for (size_t i = 0; i < keys_.size(); ++i) {
    EXPECT_EQ(partitions_[i], static_cast<uint32_t>(simulation::Murmur2Partition(keys_[i], 7))) << keys_[i];
  }
  // From Kafka's own tests: murmur2("21") = -973932308, murmur2("foobar") = -790332482.
  EXPECT_EQ(simulation::Murmur2Partition("21", 1000), 340);
  EXPECT_EQ(simulation::Murmur2Partition("foobar", 1000), 166);
}

TEST_P(KafkaConformanceTest, ProducesToTheGivenPartition) {
  const std::string topic = Topic(3);
  const auto producer = Producer();
  ASSERT_EQ(producer->Produce(topic, std::vector<ProduceRow>{{.key = "k", .value = "v", .partition = 2}}).value_or(0), 1U);
  ASSERT_TRUE(Acknowledged(*producer));
  EXPECT_EQ((*world_->NewAdmin()->QueryWatermarks(std::vector<TopicPartition>{{topic, 2}}))[0].high, 1);
}

TEST_P(KafkaConformanceTest, ARowThatIsTooLargeIsNamed) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  const std::string large(1'200'000, 'x');
  const auto taken = producer->Produce(topic, std::vector<ProduceRow>{{.key = "big-one", .value = large}});
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code(), StatusCode::kInvalidArgument);
  for (const char* part : {"big-one", "1200007", "1000000"}) {
    EXPECT_NE(taken.error().message().find(part), std::string::npos) << taken.error().ToString();
  }
}

TEST_P(KafkaConformanceTest, ProducingWaitsForAnUnreachableCluster) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  ASSERT_EQ(producer->Produce(topic, std::vector<ProduceRow>{{.value = "a"}}).value_or(0), 1U);
  ASSERT_TRUE(Acknowledged(*producer));
  world_->SetReachable(false);
  ASSERT_EQ(producer->Produce(topic, std::vector<ProduceRow>{{.value = "b"}}).value_or(0), 1U);
  for (int i = 0; i < 20; ++i) world_->Wait();
  EXPECT_EQ(producer->Progress().acknowledged, 1U);
  world_->SetReachable(true);
  ASSERT_TRUE(Acknowledged(*producer));
  EXPECT_TRUE(producer->Progress().error.ok());
  EXPECT_EQ((*world_->NewAdmin()->QueryWatermarks(std::vector<TopicPartition>{{topic, 0}}))[0].high, 2);
}

TEST_P(KafkaConformanceTest, AProducersQueueIsBounded) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  world_->SetReachable(false);
  const std::string value(200, 'x');
  const std::vector<ProduceRow> rows(1000, ProduceRow{.value = value});
  size_t accepted = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t taken = producer->Produce(topic, rows).value_or(0);
    accepted += taken;
    if (taken < rows.size()) break;
  }
  EXPECT_LT(accepted, 200'000U);
  EXPECT_FALSE(producer->HasRoom());
  world_->SetReachable(true);
  EXPECT_TRUE(world_->Until([&] { return !producer->Progress().error.ok() || producer->HasRoom(); }));
  ASSERT_TRUE(Acknowledged(*producer));
  EXPECT_EQ(producer->Progress().acknowledged, accepted);
}

TEST_P(KafkaConformanceTest, ReadsPartitionsThatWereAddedLater) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  Linger(*consumer);
  ASSERT_EQ(world_->AddPartitions(topic, 2).ToString(), "ok");
  world_->AppendValues(topic, 1, {"new"});
  ASSERT_TRUE(consumer->Assign(std::vector<PartitionStart>{{{topic, 1}, 0}}).ok());
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"new"});
}

TEST_P(KafkaConformanceTest, CheckPropertyKnowsThem) {
  EXPECT_TRUE(world_->factory().CheckProperty(connectors::KafkaRole::kConsumer, "fetch.wait.max.ms", "10").ok());
  const Status unknown = world_->factory().CheckProperty(connectors::KafkaRole::kConsumer, "nonsense", "10");
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("nonsense"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
