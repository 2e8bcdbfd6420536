#include <algorithm>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "connectors/kafka/rdkafka_group_consumer.h"

namespace weir::connectors {
namespace {

using PartitionList = RdKafkaPtr<rd_kafka_topic_partition_list_t>;
using std::chrono::milliseconds;

constexpr milliseconds kRevokeCommitMax{3000};
constexpr milliseconds kLeaveCommitMax{500};
constexpr milliseconds kLeaveMax{1000};
constexpr int kAskMs = 1000;
constexpr milliseconds kAskPause{100};

std::string Names(const rd_kafka_topic_partition_list_t& list) {
  constexpr int kNamesMax = 20;
  std::string text;
  for (int i = 0; i < std::min(list.cnt, kNamesMax); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(list.elems[i].topic) + "-" + std::to_string(list.elems[i].partition);
  }
  return list.cnt <= kNamesMax ? text : text + " and " + std::to_string(list.cnt - kNamesMax) + " more";
}

}  // namespace

void RdKafkaGroupConsumer::Rebalance(rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list) {
  PublishBlock();
  last_topic_ = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ++counts_.rebalances;
  }
  if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    Assigned(list);
  } else if (list != nullptr) {
    Revoked(list);
  }
}

void RdKafkaGroupConsumer::Assigned(rd_kafka_topic_partition_list_t* list) {
  (void)FindStarts(list);
  HandToClient(list, true);
  if (list->cnt > 0) LogInfo(Group() + ": given " + Names(*list));
  if (list->cnt == 0 && partitions_.empty()) LogInfo(Group() + ": no partition for this member now, it stands by");
  for (int i = 0; i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& start = list->elems[i];
    const TopicPartition name{start.topic, start.partition};
    const uint32_t index = next_index_++;
    const int64_t offset = start.offset >= 0 ? start.offset : -1;
    partitions_[index] = {name, offset, offset};
    indices_[name] = index;
    {
      const std::lock_guard lock(mutex_);
      applied_[index] = offset;
    }
    Publish({.kind = GroupEvent::Kind::kAssigned, .partition = index, .name = name, .offset = offset});
  }
  bool paused = false;
  {
    const std::lock_guard lock(mutex_);
    paused = paused_;
  }
  if (paused) SwitchAll(true);
}

void RdKafkaGroupConsumer::Revoked(rd_kafka_topic_partition_list_t* list) {
  const bool lost = rd_kafka_assignment_lost(client_) != 0;
  if (!lost) CommitApplied(kRevokeCommitMax);
  HandToClient(list, false);
  if (list->cnt > 0) LogInfo(Group() + (lost ? ": lost " : ": gives up ") + Names(*list));
  for (int i = 0; i < list->cnt; ++i) {
    const auto known = indices_.find({list->elems[i].topic, list->elems[i].partition});
    if (known == indices_.end()) continue;
    const uint32_t index = known->second;
    indices_.erase(known);
    partitions_.erase(index);
    {
      const std::lock_guard lock(mutex_);
      applied_.erase(index);
      for (GroupEvent& event : events_) {
        if (event.block == nullptr) continue;
        queued_records_ -= RecordsOf(event);
        queued_bytes_ -= BytesOf(event);
        static_cast<RdKafkaBlock&>(*event.block).Drop(index);
        queued_records_ += RecordsOf(event);
        queued_bytes_ += BytesOf(event);
      }
    }
    Publish({.kind = GroupEvent::Kind::kRevoked, .partition = index});
  }
}

void RdKafkaGroupConsumer::HandToClient(rd_kafka_topic_partition_list_t* list, bool assign) {
  std::string problem;
  if (std::string_view(rd_kafka_rebalance_protocol(client_)) == "COOPERATIVE") {
    const RdKafkaPtr<rd_kafka_error_t> error(assign ? rd_kafka_incremental_assign(client_, list)
                                                    : rd_kafka_incremental_unassign(client_, list));
    if (error != nullptr) problem = rd_kafka_error_string(error.get());
  } else if (const auto error = rd_kafka_assign(client_, assign ? list : nullptr);
             error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    problem = rd_kafka_err2str(error);
  }
  if (!problem.empty()) Fail(Status::Internal(Group() + ": assignment: " + problem));
}

// Asked here and not left to the client, which would begin a partition without an offset and one whose offset is out
// of the log by the same rule. The membership lives on meanwhile. False: the end comes first.
bool RdKafkaGroupConsumer::FindStarts(rd_kafka_topic_partition_list_t* list) {
  if (list->cnt == 0) return true;
  while (!Answered("committed offsets", rd_kafka_committed(client_, list, kAskMs), list)) {
    if (!GoesOn(kAskPause)) return false;
  }
  if (membership_.start_latest) return FixLatest(list);
  for (int i = 0; i < list->cnt; ++i) {
    if (list->elems[i].offset < 0) list->elems[i].offset = RD_KAFKA_OFFSET_BEGINNING;
  }
  return true;
}

// Latest is now, and must stay that for who gets the partition next: it is committed before the first record is read.
bool RdKafkaGroupConsumer::FixLatest(rd_kafka_topic_partition_list_t* list) {
  std::vector<TopicPartition> fresh;
  for (int i = 0; i < list->cnt; ++i) {
    if (list->elems[i].offset < 0) fresh.push_back({list->elems[i].topic, list->elems[i].partition});
  }
  if (fresh.empty()) return true;
  const PartitionList ends = NewPartitionList(fresh);
  const auto ask = [&] {
    for (int i = 0; i < ends->cnt; ++i) ends->elems[i].offset = RD_KAFKA_OFFSET_END;
    return rd_kafka_offsets_for_times(client_, ends.get(), kAskMs);
  };
  while (!Answered("ends", ask(), ends.get())) {
    if (!GoesOn(kAskPause)) return false;
  }
  for (int i = 0; i < ends->cnt; ++i) {
    rd_kafka_topic_partition_list_find(list, ends->elems[i].topic, ends->elems[i].partition)->offset =
        ends->elems[i].offset;
  }
  if (commit_under_way_) (void)HearCommit(kRevokeCommitMax);
  auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (!commit_under_way_ && SendCommit(ends.get())) error = HearCommit(kRevokeCommitMax);
  // Put out of the group at this very moment: who comes next fixes it anew.
  const bool fenced = error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION || error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || fenced) return true;
  Fail(Status::Unavailable(Group() + ": where new partitions begin can't be committed: " + rd_kafka_err2str(error)));
  return false;
}

bool RdKafkaGroupConsumer::Answered(const char* question, rd_kafka_resp_err_t error,
                                    const rd_kafka_topic_partition_list_t* list) {
  for (int i = 0; i < list->cnt && error == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) error = list->elems[i].err;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return true;
  const Status status =
      RdKafkaFailure(Group() + " at " + address_ + ": " + question, error, milliseconds(kAskMs), complaint_);
  if (status.retryable()) {
    LogDebug(status.message());
  } else {
    Fail(status);
  }
  return false;
}

PartitionList RdKafkaGroupConsumer::Uncommitted() {
  const std::lock_guard lock(mutex_);
  commit_due_ = false;
  PartitionList list;
  for (const auto& [index, offset] : applied_) {
    const Partition& partition = partitions_.at(index);
    if (offset <= partition.committed) continue;
    if (list == nullptr) list.reset(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), partition.name.topic.c_str(), partition.name.partition)->offset =
        offset;
  }
  return list;
}

void RdKafkaGroupConsumer::MindCommits() {
  if (commit_under_way_) (void)HearCommit(milliseconds(0));
  if (commit_under_way_) return;
  {
    const std::lock_guard lock(mutex_);
    if (!commit_due_) return;
  }
  if (const PartitionList list = Uncommitted(); list != nullptr) (void)SendCommit(list.get());
}

bool RdKafkaGroupConsumer::SendCommit(const rd_kafka_topic_partition_list_t* list) {
  // Once put out, the client would send it as one of no member, which a group without members takes.
  if (rd_kafka_assignment_lost(client_) != 0) return false;
  const auto error = rd_kafka_commit_queue(client_, list, commit_answers_.get(), nullptr, nullptr);
  commit_under_way_ = error == RD_KAFKA_RESP_ERR_NO_ERROR;
  return commit_under_way_;
}

rd_kafka_resp_err_t RdKafkaGroupConsumer::HearCommit(milliseconds patience) {
  const RdKafkaPtr<rd_kafka_event_t> answer(
      rd_kafka_queue_poll(commit_answers_.get(), static_cast<int>(patience.count())));
  if (answer == nullptr) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  commit_under_way_ = false;
  rd_kafka_resp_err_t error = rd_kafka_event_error(answer.get());
  const rd_kafka_topic_partition_list_t* list = rd_kafka_event_topic_partition_list(answer.get());
  for (int i = 0; list != nullptr && i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& each = list->elems[i];
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = each.err;
    const auto index = indices_.find({each.topic, each.partition});
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR && index != indices_.end()) {
      partitions_.at(index->second).committed = each.offset;
    }
  }
  const bool failed = error != RD_KAFKA_RESP_ERR_NO_ERROR;
  {
    const std::lock_guard lock(mutex_);
    ++(failed ? counts_.commit_errors : counts_.commits);
  }
  if (failed && !std::exchange(commit_failed_, true)) {
    LogWarning(Group() +
               ": applied offsets were not committed, their records may be read again: " + rd_kafka_err2str(error));
  }
  commit_failed_ = failed;
  return error;
}

void RdKafkaGroupConsumer::CommitApplied(milliseconds patience) {
  if (commit_under_way_) (void)HearCommit(patience);
  if (commit_under_way_) return;  // the cluster does not answer
  if (const PartitionList list = Uncommitted(); list != nullptr && SendCommit(list.get())) (void)HearCommit(patience);
}

void RdKafkaGroupConsumer::Leave() {
  CommitApplied(kLeaveCommitMax);
  const RdKafkaPtr<rd_kafka_queue_t> queue(rd_kafka_queue_new(client_));
  const RdKafkaPtr<rd_kafka_error_t> error(rd_kafka_consumer_close_queue(client_, queue.get()));
  if (error != nullptr) return;
  const MonotonicTime end = context_.clock->Now() + kLeaveMax;
  while (rd_kafka_consumer_closed(client_) == 0 && context_.clock->Now() < end) {
    constexpr int kStepMs = 10;
    const RdKafkaPtr<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kStepMs));
    if (event == nullptr || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_REBALANCE) continue;
    HandToClient(rd_kafka_event_topic_partition_list(event.get()), false);
  }
}

}  // namespace weir::connectors
