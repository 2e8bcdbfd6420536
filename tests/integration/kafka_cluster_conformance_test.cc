// Conformance: what the cluster tells, and what a producer does.
#include "tests/integration/kafka_conformance.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::kafka_test {
namespace {

class KafkaClusterConformanceTest : public KafkaConformance {};

TEST_P(KafkaClusterConformanceTest, AdminListsAndDescribes) {
  const std::string topic = Topic(3);
  const auto admin = world_->NewAdmin();
  const auto described = admin->DescribeTopic(topic);
  ASSERT_TRUE(described.has_value()) << described.error().ToString();
  EXPECT_EQ(described->partitions, 3);
  const auto listed = admin->ListTopics();
  ASSERT_TRUE(listed.has_value());
  EXPECT_EQ(std::ranges::count(*listed, topic, &connectors::TopicMetadata::name), 1);
}

TEST_P(KafkaClusterConformanceTest, AdminMissesATopicWithoutMakingIt) {
  const auto admin = world_->NewAdmin();
  for (int i = 0; i < 2; ++i) {
    const auto missing = admin->DescribeTopic(world_->NewName("missing"));
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code(), StatusCode::kNotFound) << missing.error().ToString();
    EXPECT_NE(missing.error().message().find("missing"), std::string::npos);
  }
}

TEST_P(KafkaClusterConformanceTest, AdminCreatesATopicOnce) {
  const auto admin = world_->NewAdmin();
  const std::string topic = world_->NewName("created");
  EXPECT_EQ(admin->CreateTopic(topic, 2, {}).ToString(), "ok");
  EXPECT_EQ(admin->DescribeTopic(topic)->partitions, 2);
  EXPECT_EQ(admin->CreateTopic(topic, 2, {}).code(), StatusCode::kAlreadyExists);
}

TEST_P(KafkaClusterConformanceTest, AdminTellsWatermarksOverGapsAndTrimming) {
  const std::string topic = Topic(2);
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "a"}, {.value = "b"}});
  world_->EndTransaction(transaction, true);
  world_->TrimLog(topic, 0, 1);
  const std::vector<TopicPartition> asked = {{topic, 0}, {topic, 1}};
  EXPECT_EQ(world_->CommittedEnds(asked), (std::vector<int64_t>{3, 0}));
  const auto marks = world_->NewAdmin()->QueryWatermarks(asked);
  ASSERT_TRUE(marks.has_value()) << marks.error().ToString();
  EXPECT_EQ((*marks)[0].low, 1);
  EXPECT_EQ((*marks)[0].high, 3);
  EXPECT_EQ((*marks)[1].high, 0);
}

TEST_P(KafkaClusterConformanceTest, AdminFindsOffsetsForATime) {
  const std::string topic = Topic(2);
  world_->Append(topic, 0, {{.value = "a", .timestamp_ms = 1000}, {.value = "b", .timestamp_ms = 2000}});
  const std::vector<TopicPartition> both = {{topic, 0}, {topic, 1}};
  const auto admin = world_->NewAdmin();
  EXPECT_EQ(*admin->OffsetsForTime(both, 1500), (std::vector<std::optional<int64_t>>{1, std::nullopt}));
  EXPECT_EQ(*admin->OffsetsForTime(both, 2000), (std::vector<std::optional<int64_t>>{1, std::nullopt}));
  EXPECT_EQ(*admin->OffsetsForTime(both, 2001), (std::vector<std::optional<int64_t>>{std::nullopt, std::nullopt}));
}

TEST_P(KafkaClusterConformanceTest, AdminKeepsAGroupsOffsets) {
  const std::string topic = Topic(2);
  const std::string group = world_->NewName("group");
  const std::vector<TopicPartition> both = {{topic, 0}, {topic, 1}};
  const auto admin = world_->NewAdmin();
  EXPECT_EQ(*admin->CommittedOffsets(group, both), (std::vector<std::optional<int64_t>>{std::nullopt, std::nullopt}));
  EXPECT_EQ(admin->CommitOffsets(group, std::vector<PartitionStart>{{{topic, 1}, 42}}).ToString(), "ok");
  EXPECT_EQ(*world_->NewAdmin()->CommittedOffsets(group, both),
            (std::vector<std::optional<int64_t>>{std::nullopt, 42}));
}

TEST_P(KafkaClusterConformanceTest, AdminGivesUpOnAnUnreachableCluster) {
  const std::string topic = Topic(1);
  const auto admin = world_->NewAdmin(std::chrono::milliseconds(500));
  world_->SetReachable(false);
  const auto answer = admin->DescribeTopic(topic);
  world_->SetReachable(true);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), StatusCode::kUnavailable) << answer.error().ToString();
  EXPECT_NE(answer.error().message().find(world_->connection().bootstrap_servers), std::string::npos);
}

TEST_P(KafkaClusterConformanceTest, ReadsOnAfterTheClusterWasUnreachable) {
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

TEST_P(KafkaClusterConformanceTest, ProducesInOrderAndAcknowledges) {
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

TEST_P(KafkaClusterConformanceTest, ProducesNullsAndTimestamps) {
  const std::string topic = Topic(1);
  const auto producer = Producer();
  const std::vector<ProduceRow> rows = {
      {.key = "k", .value = {}, .timestamp_ms = 1234},
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

TEST_P(KafkaClusterConformanceTest, TheKeyChoosesThePartitionAsInJava) {
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

TEST_P(KafkaClusterConformanceTest, ProducesToTheGivenPartition) {
  const std::string topic = Topic(3);
  const auto producer = Producer();
  ASSERT_EQ(producer->Produce(topic, std::vector<ProduceRow>{{.key = "k", .value = "v", .partition = 2}}).value_or(0),
            1U);
  ASSERT_TRUE(Acknowledged(*producer));
  EXPECT_EQ((*world_->NewAdmin()->QueryWatermarks(std::vector<TopicPartition>{{topic, 2}}))[0].high, 1);
}

TEST_P(KafkaClusterConformanceTest, ARowThatIsTooLargeIsNamed) {
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

TEST_P(KafkaClusterConformanceTest, ProducingWaitsForAnUnreachableCluster) {
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

TEST_P(KafkaClusterConformanceTest, AProducersQueueIsBounded) {
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

TEST_P(KafkaClusterConformanceTest, ReadsPartitionsThatWereAddedLater) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  Linger(*consumer);
  ASSERT_EQ(world_->AddPartitions(topic, 2).ToString(), "ok");
  world_->AppendValues(topic, 1, {"new"});
  ASSERT_TRUE(consumer->Assign(std::vector<PartitionStart>{{{topic, 1}, 0}}).ok());
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"new"});
}

TEST_P(KafkaClusterConformanceTest, CheckPropertyKnowsThem) {
  EXPECT_TRUE(world_->factory().CheckProperty(connectors::KafkaRole::kConsumer, "fetch.wait.max.ms", "10").ok());
  const Status unknown = world_->factory().CheckProperty(connectors::KafkaRole::kConsumer, "nonsense", "10");
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("nonsense"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaClusterConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
