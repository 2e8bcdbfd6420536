// librdkafka as a KafkaGroupConsumer. Included by its two files alone: rdkafka_group_consumer.cc has the records,
// rdkafka_group_assignment.cc what the group gives, takes and is told.
//
// All calls to librdkafka that concern the membership are made by one thread, which polls as long as the object lives:
// it takes messages one at a time (the batch interface of 2.0.2 loses or wrongly returns messages in a rebalance), and
// in its rebalance callback it gives partitions an index, or commits what was applied of those that go and drops their
// records from the queue. Events for the task stand in `events_`, in their order.
//
// Back-pressure: when the task does not take events and the queue has been full for a moment, the thread pauses all
// partitions and goes on polling, which then brings rebalances and nothing else; librdkafka reads a paused partition
// again from behind the last message that it gave out. So neither max.poll.interval.ms nor a rebalance ever waits for a
// sink.
//
// A commit is one request at a time; what is applied meanwhile goes with the next. It carries the generation of the
// membership, so the broker refuses that of a member which has been put out. And it holds only partitions which the
// member has now, by index: an assignment that has ended can't move the offset of a later owner.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "connectors/kafka/group_consumer.h"
#include "connectors/kafka/rdkafka_block.h"
#include "connectors/kafka/rdkafka_fetch_wake.h"
#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {

class RdKafkaGroupConsumer final : public KafkaGroupConsumer {
 public:
  RdKafkaGroupConsumer(const KafkaClientContext& context, KafkaGroupMembership membership, std::string address)
      : context_(context), membership_(std::move(membership)), address_(std::move(address)) {}

  ~RdKafkaGroupConsumer() override;
  RdKafkaGroupConsumer(const RdKafkaGroupConsumer&) = delete;
  RdKafkaGroupConsumer& operator=(const RdKafkaGroupConsumer&) = delete;

  Status Start(const KafkaConnection& connection);
  Result<std::optional<GroupEvent>> Poll() override;
  void Commit(std::span<const GroupOffset> offsets) override;
  int64_t HighWatermark(const TopicPartition& partition) const override;
  GroupCounts Counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  struct Partition {
    TopicPartition name;
    int64_t next = -1;       // behind the last message; -1: none yet
    int64_t committed = -1;  // by us, in this assignment
  };

  static size_t RecordsOf(const GroupEvent& event) {
    return event.block == nullptr ? 0 : event.block->records().size();
  }
  static size_t BytesOf(const GroupEvent& event);

  // All below: the polling thread.
  void Loop();
  void MindRoom();
  void MindCommits();
  void SwitchAll(bool pause);
  void Take(rd_kafka_message_t* message);
  void TakeProblem(const rd_kafka_message_t& message);
  std::optional<uint32_t> Find(const rd_kafka_message_t& message);
  void Publish(GroupEvent event);
  void PublishBlock();
  void KeepFetching(bool empty);
  void Fail(Status status);
  Status Fatal() const;
  // False: the loop is to end.
  bool GoesOn(std::chrono::milliseconds wait = std::chrono::milliseconds(0));

  void Rebalance(rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list);
  void Assigned(rd_kafka_topic_partition_list_t* list);
  void Revoked(rd_kafka_topic_partition_list_t* list);
  void HandToClient(rd_kafka_topic_partition_list_t* list, bool assign);
  bool FindStarts(rd_kafka_topic_partition_list_t* list);
  bool FixLatest(rd_kafka_topic_partition_list_t* list);
  bool Answered(const char* question, rd_kafka_resp_err_t error, const rd_kafka_topic_partition_list_t* list);

  RdKafkaPtr<rd_kafka_topic_partition_list_t> Uncommitted();
  bool SendCommit(const rd_kafka_topic_partition_list_t* list);
  rd_kafka_resp_err_t HearCommit(std::chrono::milliseconds patience);
  void CommitApplied(std::chrono::milliseconds patience);
  void Leave();
  std::string Group() const { return "group " + membership_.group; }

  // Set once.
  const KafkaClientContext context_;
  const KafkaGroupMembership membership_;
  const std::string address_;
  rd_kafka_t* client_ = nullptr;
  RdKafkaPtr<rd_kafka_queue_t> queue_;  // what the thread polls
  RdKafkaPtr<rd_kafka_queue_t> commit_answers_;

  // The polling thread only.
  RdKafkaComplaint complaint_;
  std::map<uint32_t, Partition> partitions_;  // assigned, by index
  std::map<TopicPartition, uint32_t> indices_;
  uint32_t next_index_ = 0;
  const rd_kafka_topic_t* last_topic_ = nullptr;  // of the newest message, with its partition and index
  int32_t last_partition_ = -1;
  uint32_t last_index_ = 0;
  std::unique_ptr<RdKafkaBlock> filling_;
  size_t filling_bytes_ = 0;
  bool commit_under_way_ = false;
  bool commit_failed_ = false;  // the last one
  RdKafkaFetchWake fetch_wake_;
  uint32_t next_wake_ = 0;  // index

  mutable std::mutex mutex_;
  std::condition_variable room_;
  // Guarded by mutex_.
  std::deque<GroupEvent> events_;
  size_t queued_records_ = 0;
  size_t queued_bytes_ = 0;
  bool paused_ = false;
  std::map<uint32_t, int64_t> applied_;  // what may be committed, by index, of the partitions that are assigned
  bool commit_due_ = false;              // Commit was called since the last one was sent
  GroupCounts counts_;
  Status error_;
  bool closing_ = false;

  std::unique_ptr<Worker> waking_worker_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::connectors
