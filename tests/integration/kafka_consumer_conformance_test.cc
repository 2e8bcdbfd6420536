// Conformance: what a consumer gives.
#include "tests/integration/kafka_conformance.h"

namespace weir::kafka_test {
namespace {

class KafkaConsumerConformanceTest : public KafkaConformance {};

TEST_P(KafkaConsumerConformanceTest, ReadsFromTheBeginningInOrder) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 2500));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 2500)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(0, 2500));
  EXPECT_EQ(offsets_.back(), 2499);
  EXPECT_EQ(consumer->Position(0), 2500);
}

TEST_P(KafkaConsumerConformanceTest, ReadsFromAnOffset) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  const auto consumer = ConsumerAt(topic, 7);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(7, 10));
}

TEST_P(KafkaConsumerConformanceTest, GivesRecordsThatComeLater) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  Linger(*consumer);
  EXPECT_TRUE(seen_.empty());
  world_->AppendValues(topic, 0, {"late"});
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"late"});
}

TEST_P(KafkaConsumerConformanceTest, TellsNullFromEmpty) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0, {{.key = "k", .value = std::nullopt}, {.key = "", .value = ""}, {.value = "v"}});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(seen_, (std::vector<std::string>{"null", "", "v"}));
  EXPECT_EQ(keys_, (std::vector<std::string>{"k", "", "null"}));
}

TEST_P(KafkaConsumerConformanceTest, GivesTimestamps) {
  const std::string topic = Topic(1);
  world_->Append(topic, 0, {{.value = "a", .timestamp_ms = 1'700'000'000'123}});
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(times_, std::vector<int64_t>{1'700'000'000'123});
}

TEST_P(KafkaConsumerConformanceTest, NumbersPartitionsAsTheyWereAssigned) {
  const std::string topic = Topic(3);
  for (int32_t p = 0; p < 3; ++p) world_->AppendValues(topic, p, {std::to_string(p)});
  const auto consumer = Consumer();
  ASSERT_TRUE(consumer->Assign(std::vector<PartitionStart>{{{topic, 2}, 0}, {{topic, 0}, 0}}).ok());
  ASSERT_TRUE(Read(*consumer, 2)) << error_.ToString();
  for (size_t i = 0; i < seen_.size(); ++i) EXPECT_EQ(seen_[i], partitions_[i] == 0 ? "2" : "0");
  Linger(*consumer);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_P(KafkaConsumerConformanceTest, TakesMorePartitionsWhileReading) {
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

TEST_P(KafkaConsumerConformanceTest, RefusesAPartitionTwice) {
  const std::string topic = Topic(1);
  const auto consumer = ConsumerAt(topic, 0);
  EXPECT_EQ(consumer->Assign(std::vector<PartitionStart>{{{topic, 0}, 0}}).code(), StatusCode::kAlreadyExists);
}

TEST_P(KafkaConsumerConformanceTest, HidesAnAbortedTransaction) {
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

TEST_P(KafkaConsumerConformanceTest, ShowsAbortedDataToUncommittedReaders) {
  const std::string topic = Topic(1);
  const uint64_t bad = world_->BeginTransaction();
  world_->AppendIn(bad, topic, 0, {{.value = "bad"}});
  world_->EndTransaction(bad, false);
  const auto consumer = ConsumerAt(topic, 0, false);
  ASSERT_TRUE(Read(*consumer, 1)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"bad"});
}

TEST_P(KafkaConsumerConformanceTest, StopsBeforeAnOpenTransaction) {
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

TEST_P(KafkaConsumerConformanceTest, PositionPassesAMarkerAtTheTail) {
  const std::string topic = Topic(1);
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "a"}, {.value = "b"}});
  world_->EndTransaction(transaction, true);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(ReadTo(*consumer, 3)) << error_.ToString();
  EXPECT_EQ(consumer->Position(0), 3);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_P(KafkaConsumerConformanceTest, PositionPassesATailThatWasAborted) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, {"a"});
  const uint64_t transaction = world_->BeginTransaction();
  world_->AppendIn(transaction, topic, 0, {{.value = "x"}, {.value = "y"}});
  world_->EndTransaction(transaction, false);
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(ReadTo(*consumer, 4)) << error_.ToString();
  EXPECT_EQ(seen_, std::vector<std::string>{"a"});
}

TEST_P(KafkaConsumerConformanceTest, ReadsOnFromAnOffsetInAGap) {
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

TEST_P(KafkaConsumerConformanceTest, PausedPartitionsDeliverNothingAndLoseNothing) {
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

TEST_P(KafkaConsumerConformanceTest, SeeksBack) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  const auto consumer = ConsumerAt(topic, 0);
  ASSERT_TRUE(Read(*consumer, 10));
  ASSERT_TRUE(consumer->Seek(0, 4).ok());
  seen_.clear();
  ASSERT_TRUE(Read(*consumer, 6)) << error_.ToString();
  EXPECT_EQ(seen_, Numbers(4, 10));
}

TEST_P(KafkaConsumerConformanceTest, BlocksStayValidWhileOthersAreFetched) {
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

TEST_P(KafkaConsumerConformanceTest, AnOffsetBeyondTheEndIsAnErrorWithNumbers) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 5));
  const auto consumer = ConsumerAt(topic, 50);
  ASSERT_TRUE(ReadToError(*consumer));
  EXPECT_EQ(error_.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(error_.message().find("50"), std::string::npos) << error_.ToString();
  EXPECT_NE(error_.message().find("from 0 to 5"), std::string::npos) << error_.ToString();
  EXPECT_NE(error_.message().find(topic), std::string::npos);
}

TEST_P(KafkaConsumerConformanceTest, ATrimmedOffsetIsAnErrorWithNumbers) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 10));
  world_->TrimLog(topic, 0, 6);
  const auto consumer = ConsumerAt(topic, 2);
  ASSERT_TRUE(ReadToError(*consumer));
  EXPECT_NE(error_.message().find("from 6 to 10"), std::string::npos) << error_.ToString();
}

TEST_P(KafkaConsumerConformanceTest, KnowsTheHighWatermark) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, Numbers(0, 8));
  const auto consumer = ConsumerAt(topic, 5);
  ASSERT_TRUE(Read(*consumer, 3));
  EXPECT_TRUE(world_->Until([&] { return Poll(*consumer) && consumer->HighWatermark(0) == 8; }));
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaConsumerConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
