// Conformance: what a marker is read by.
#include "tests/integration/kafka_transactions.h"

namespace weir::kafka_test {
namespace {

class KafkaMarkerConformanceTest : public KafkaTransactions {};

TEST_P(KafkaMarkerConformanceTest, AMarkerIsCommittedWithTheRows) {
  const std::string topic = Topic(1);
  const std::string markers = MarkerTopic();
  ProducerPtr producer = Started("id");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(producer->Begin().ToString(), "ok");
    ASSERT_EQ(Write(*producer, topic, {std::to_string(i)}).ToString(), "ok");
    ASSERT_EQ(Write(*producer, markers, {"checkpoint " + std::to_string(i)}, "job").ToString(), "ok");
    if (i == 4) break;
    ASSERT_EQ(producer->Commit().ToString(), "ok");
  }
  producer.reset();  // dies in the fifth
  producer = Started("id");
  EXPECT_EQ(Newest(markers, "job"), "checkpoint 3");
  EXPECT_EQ(Visible(topic), Numbers(0, 4));
}

TEST_P(KafkaMarkerConformanceTest, NewestValueOfNoneAndOneAndMany) {
  const std::string markers = MarkerTopic();
  const auto reader = Reader();
  EXPECT_EQ(*reader->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd), std::nullopt);
  const ProducerPtr producer = Started("id");
  InOne(*producer, markers, {"other"}, "another job");
  EXPECT_EQ(*reader->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd), std::nullopt);
  for (int i = 0; i < 10; ++i) {
    InOne(*producer, markers, {std::to_string(i)}, "job");
    EXPECT_EQ(*reader->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd), std::to_string(i));
    InOne(*producer, markers, {"other"}, "another job");
    EXPECT_EQ(*reader->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd), std::to_string(i));
  }
  InOne(*producer, markers, Numbers(0, 500), "job");
  EXPECT_EQ(*reader->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd), "499");
  EXPECT_EQ(*reader->NewestValue({markers, 0}, "another job", connectors::KafkaReadUpTo::kEnd), "other");
  EXPECT_EQ(*reader->NewestValue({markers, 0}, "jo", connectors::KafkaReadUpTo::kEnd), std::nullopt);
}

TEST_P(KafkaMarkerConformanceTest, NewestValueKnowsTombstonesAndEmptyValues) {
  const std::string markers = MarkerTopic();
  const ProducerPtr producer = Started("id");
  InOne(*producer, markers, {"a"}, "job");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_EQ(producer->Produce(markers, std::vector<ProduceRow>{{.key = "job", .value = {}}}).ToString(), "ok");
  ASSERT_EQ(producer->Commit().ToString(), "ok");
  EXPECT_EQ(Newest(markers, "job"), std::nullopt);
  InOne(*producer, markers, {""}, "job");
  EXPECT_EQ(Newest(markers, "job"), "");
}

TEST_P(KafkaMarkerConformanceTest, NewestValueIgnoresANewerAbortedOne) {
  const std::string markers = MarkerTopic();
  const ProducerPtr producer = Started("id");
  InOne(*producer, markers, {"a"}, "job");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  ASSERT_TRUE(WriteUntilStored(*producer, markers, "job"));
  ASSERT_EQ(producer->Abort().ToString(), "ok");
  EXPECT_EQ(Newest(markers, "job"), "a");
}

TEST_P(KafkaMarkerConformanceTest, NewestValueWaitsForACommitBelowTheEnd) {
  const std::string markers = MarkerTopic();
  const uint64_t other = world_->BeginTransaction();
  world_->AppendIn(other, markers, 0, {{.key = "job", .value = "from the other"}});
  world_->Later(std::chrono::milliseconds(700), [&] { world_->EndTransaction(other, true); });
  const MonotonicTime start = Now();
  EXPECT_EQ(Newest(markers, "job"), "from the other");
  EXPECT_GE(Now() - start, std::chrono::milliseconds(600));
}

TEST_P(KafkaMarkerConformanceTest, NewestValueWaitsForAnAbortBelowTheEnd) {
  const std::string markers = MarkerTopic();
  const ProducerPtr producer = Started("id");
  const uint64_t other = world_->BeginTransaction();
  world_->AppendIn(other, markers, 0, {{.key = "job", .value = "lost"}});
  InOne(*producer, markers, {"behind"}, "job");
  world_->AppendIn(other, markers, 0, {{.key = "job", .value = "lost"}});
  world_->Later(std::chrono::milliseconds(700), [&] { world_->EndTransaction(other, false); });
  EXPECT_EQ(Newest(markers, "job"), "behind");
}

TEST_P(KafkaMarkerConformanceTest, NewestValueGivesUpOnATransactionThatStaysOpen) {
  const std::string markers = MarkerTopic();
  world_->Append(markers, 0, {{.key = "job", .value = "a"}});
  const uint64_t other = world_->BeginTransaction();
  world_->AppendIn(other, markers, 0, {{.key = "job", .value = "b"}});
  const MonotonicTime start = Now();
  const auto found = Reader(std::chrono::seconds(1))->NewestValue({markers, 0}, "job", connectors::KafkaReadUpTo::kEnd);
  EXPECT_LT(Now() - start, std::chrono::seconds(4));
  ASSERT_FALSE(found.has_value());
  ExpectCode(StatusCode::kUnavailable, found.error());
  world_->EndTransaction(other, true);
  EXPECT_EQ(Newest(markers, "job"), "b");
}

TEST_P(KafkaMarkerConformanceTest, NewestValueOfNoTopicIsNotFound) {
  const auto found = Reader()->NewestValue({world_->NewName("missing"), 0}, "job", connectors::KafkaReadUpTo::kEnd);
  ASSERT_FALSE(found.has_value());
  ExpectCode(StatusCode::kNotFound, found.error());
  const auto beyond = Reader()->NewestValue({MarkerTopic(), 7}, "job", connectors::KafkaReadUpTo::kEnd);
  ASSERT_FALSE(beyond.has_value());
  ExpectCode(StatusCode::kNotFound, beyond.error());
}

TEST_P(KafkaMarkerConformanceTest, TheClusterIdStays) {
  const auto id = Reader()->ClusterId();
  ASSERT_TRUE(id.has_value()) << id.error().ToString();
  EXPECT_GE(id->size(), 16U);
  EXPECT_EQ(*Reader()->ClusterId(), *id);
}

TEST_P(KafkaMarkerConformanceTest, TellsATopicsConfiguration) {
  const auto reader = Reader();
  const std::string markers = MarkerTopic();
  EXPECT_EQ(*reader->TopicConfig(markers, "cleanup.policy"), "compact");
  EXPECT_EQ(*reader->TopicConfig(markers, "no.such.setting"), std::nullopt);
  EXPECT_EQ(*reader->TopicConfig(Topic(1), "cleanup.policy"), "delete");
  const auto missing = reader->TopicConfig(world_->NewName("missing"), "cleanup.policy");
  ASSERT_FALSE(missing.has_value());
  ExpectCode(StatusCode::kNotFound, missing.error());
  EXPECT_NE(missing.error().message().find("missing"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaMarkerConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
