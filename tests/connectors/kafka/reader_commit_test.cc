// What a Kafka reader commits to its group while the cluster answers late or not at all. A simulated cluster, workers
// that run when the test says so.
#include <gtest/gtest.h>

#include "connectors/kafka/reader.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::connectors {
namespace {

class ReaderCommitTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kafka_.CreateTopic("t", 1).ok());
    operators::ReaderContext context;
    context.uid = "source";
    context.clock = &clock_;
    context.workers = &workers_;
    context.wakeup = &wakeup_;
    context.metrics = &metrics_;
    KafkaSourceOptions options;
    options.connection.bootstrap_servers = "sim:9092";
    options.topics = {"t"};
    options.group = "g";
    reader_ = std::make_unique<KafkaReader>(options, nullptr, BadRecordPolicy::kFail, *clients_);
    ASSERT_TRUE(reader_->Open(context).ok());
    KafkaSplit split;
    split.partition = {"t", 0};
    split.offset = 7;
    ASSERT_TRUE(reader_->AddSplits({split.ToSourceSplit()}).ok());
  }

  void ApplyCheckpoint(uint64_t number) {
    const CheckpointId id{.number = number, .id = {}};
    (void)reader_->SnapshotState(id);
    ASSERT_TRUE(reader_->NotifyCheckpointApplied(id).ok());
  }

  simulation::ManualClock clock_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  operators::SubtaskMetrics metrics_;
  simulation::SimKafka kafka_{clock_, std::make_unique<SeededRandom>(1)};
  std::unique_ptr<KafkaClientFactory> clients_ = kafka_.NewClientFactory();
  std::unique_ptr<KafkaReader> reader_;
};

TEST_F(ReaderCommitTest, OffsetsThatWaitGiveWayToNewerOnes) {
  for (uint64_t number = 1; number <= 50; ++number) ApplyCheckpoint(number);
  workers_.RunAll();
  EXPECT_EQ(kafka_.group_commits(), 1U);
  EXPECT_EQ(kafka_.AcknowledgedOffsets(), (std::map<TopicPartition, int64_t>{{{"t", 0}, 7}}));
  ApplyCheckpoint(51);
  workers_.RunAll();
  EXPECT_EQ(kafka_.group_commits(), 2U);
}

TEST_F(ReaderCommitTest, TheLastOffsetsAreCommittedAtTheEnd) {
  ApplyCheckpoint(1);
  reader_.reset();
  EXPECT_EQ(kafka_.group_commits(), 1U);
}

TEST_F(ReaderCommitTest, TheEndDoesNotTryAgainWhereTheClusterDidNotAnswer) {
  kafka_.SetReachable(false);
  ApplyCheckpoint(1);
  workers_.RunAll();
  ApplyCheckpoint(2);
  kafka_.SetReachable(true);  // a commit would be counted
  reader_.reset();
  EXPECT_EQ(kafka_.group_commits(), 0U);
}

}  // namespace
}  // namespace weir::connectors
