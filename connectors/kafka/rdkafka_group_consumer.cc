#include "connectors/kafka/rdkafka_group_consumer.h"

#include <algorithm>
#include <array>

#include "base/log.h"

namespace weir::connectors {
namespace {

using PartitionList = RdKafkaPtr<rd_kafka_topic_partition_list_t>;
using std::chrono::milliseconds;

constexpr size_t kBlockRecords = 1024;
constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr size_t kQueuedRecordsMax = 8 * kBlockRecords;
constexpr size_t kQueuedBytesMax = 8 * kBlockBytes;
constexpr milliseconds kFullPatience{200};  // a queue that is full for longer pauses the partitions
constexpr int kGroupPollMs = 100;           // a commit, room and the end wake the poll before

}  // namespace

RdKafkaGroupConsumer::~RdKafkaGroupConsumer() {
  if (client_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  room_.notify_one();
  rd_kafka_queue_yield(queue_.get());
  worker_.reset();  // waits until the group is left
  waking_worker_.reset();
  filling_.reset();
  events_.clear();
  queue_.reset();
  commit_answers_.reset();
  rd_kafka_destroy_flags(client_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

size_t RdKafkaGroupConsumer::BytesOf(const GroupEvent& event) {
  size_t bytes = 0;
  if (event.block == nullptr) return bytes;
  for (const KafkaRecord& record : event.block->records()) bytes += record.key.size() + record.value.size();
  return bytes;
}

Status RdKafkaGroupConsumer::Start(const KafkaConnection& connection) {
  RdKafkaConfig config(KafkaRole::kConsumer);
  config.Apply(connection);
  config.Set("group.id", membership_.group);
  config.Set("partition.assignment.strategy", membership_.strategy);
  if (!membership_.instance_id.empty()) config.Set("group.instance.id", membership_.instance_id);
  if (config.Get("topic.blacklist").empty()) config.Set("topic.blacklist", "^__");  // the cluster's own
  fetch_wake_.Configure(config);
  rd_kafka_conf_set_error_cb(config.raw(), [](rd_kafka_t* client, int error, const char* reason, void* self) {
    auto& consumer = *static_cast<RdKafkaGroupConsumer*>(self);
    RecordRdKafkaError(client, error, reason, &consumer.complaint_);
    if (error == RD_KAFKA_RESP_ERR__FATAL) consumer.Fail(consumer.Fatal());
  });
  rd_kafka_conf_set_rebalance_cb(
      config.raw(), [](rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list, void* self) {
        static_cast<RdKafkaGroupConsumer*>(self)->Rebalance(error, list);
      });
  WEIR_ASSIGN_OR_RETURN(client_, config.NewClient(RD_KAFKA_CONSUMER, this));
  rd_kafka_poll_set_consumer(client_);
  queue_.reset(rd_kafka_queue_get_consumer(client_));
  commit_answers_.reset(rd_kafka_queue_new(client_));
  std::vector<std::string> names = membership_.topics;
  if (!membership_.topic_pattern.empty()) names = {"^(" + membership_.topic_pattern + ")$"};
  const PartitionList topics(rd_kafka_topic_partition_list_new(static_cast<int>(names.size())));
  for (const std::string& name : names) {
    rd_kafka_topic_partition_list_add(topics.get(), name.c_str(), RD_KAFKA_PARTITION_UA);
  }
  if (const auto error = rd_kafka_subscribe(client_, topics.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Status::InvalidArgument("Kafka subscribe: " + std::string(rd_kafka_err2str(error)));
  }
  waking_worker_ = context_.workers->NewWorker("kafka-fetch");
  worker_ = context_.workers->NewWorker("kafka-group");
  worker_->Submit([this] { Loop(); });
  return {};
}

int64_t RdKafkaGroupConsumer::HighWatermark(const TopicPartition& partition) const {
  int64_t low = 0;
  int64_t high = 0;
  const auto error = rd_kafka_get_watermark_offsets(client_, partition.topic.c_str(), partition.partition, &low, &high);
  return error != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0 ? -1 : high;
}

Result<std::optional<GroupEvent>> RdKafkaGroupConsumer::Poll() {
  std::optional<GroupEvent> event;
  bool waited_for = false;
  {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
      if (!error_.ok()) return Error(error_);
      return event;
    }
    event = std::move(events_.front());
    events_.pop_front();
    queued_records_ -= RecordsOf(*event);
    queued_bytes_ -= BytesOf(*event);
    waited_for = paused_ && queued_records_ <= kQueuedRecordsMax / 2 && queued_bytes_ <= kQueuedBytesMax / 2;
  }
  room_.notify_one();
  if (waited_for) rd_kafka_queue_yield(queue_.get());
  return event;
}

void RdKafkaGroupConsumer::Commit(std::span<const GroupOffset> offsets) {
  {
    const std::lock_guard lock(mutex_);
    for (const GroupOffset& each : offsets) {
      const auto applied = applied_.find(each.partition);
      if (applied != applied_.end()) applied->second = std::max(applied->second, each.offset);
    }
    commit_due_ = true;
  }
  rd_kafka_queue_yield(queue_.get());
}

void RdKafkaGroupConsumer::Loop() {
  while (GoesOn()) {
    MindRoom();
    MindCommits();
    rd_kafka_message_t* message = rd_kafka_consumer_poll(client_, kGroupPollMs);
    while (message != nullptr) {
      Take(message);
      const bool full =
          filling_ != nullptr && (filling_->records().size() >= kBlockRecords || filling_bytes_ >= kBlockBytes);
      message = full ? nullptr : rd_kafka_consumer_poll(client_, 0);
    }
    PublishBlock();
  }
  Leave();
}

bool RdKafkaGroupConsumer::GoesOn(milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto ends = [this] { return closing_ || !error_.ok(); };
  if (wait == milliseconds(0)) return !ends();
  return !room_.wait_for(lock, wait, ends);
}

void RdKafkaGroupConsumer::MindRoom() {
  bool pause = false;
  {
    std::unique_lock lock(mutex_);
    const auto fits = [this](size_t part) {
      return queued_records_ <= kQueuedRecordsMax / part && queued_bytes_ <= kQueuedBytesMax / part;
    };
    if (paused_ && !fits(2)) return;
    if (!paused_ && room_.wait_for(lock, kFullPatience, [&] { return closing_ || fits(1); })) return;
    pause = paused_ = !paused_;
  }
  SwitchAll(pause);
}

void RdKafkaGroupConsumer::SwitchAll(bool pause) {
  if (partitions_.empty()) return;
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions_.size())));
  for (const auto& [index, partition] : partitions_) {
    rd_kafka_topic_partition_list_add(list.get(), partition.name.topic.c_str(), partition.name.partition);
  }
  const auto error =
      pause ? rd_kafka_pause_partitions(client_, list.get()) : rd_kafka_resume_partitions(client_, list.get());
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) LogWarning(Group() + ": pause: " + rd_kafka_err2str(error));
}

std::optional<uint32_t> RdKafkaGroupConsumer::Find(const rd_kafka_message_t& message) {
  if (message.rkt == nullptr) return std::nullopt;
  if (message.rkt == last_topic_ && message.partition == last_partition_) [[likely]]
    return last_index_;
  const auto index = indices_.find({rd_kafka_topic_name(message.rkt), message.partition});
  if (index == indices_.end()) return std::nullopt;
  last_topic_ = message.rkt;
  last_partition_ = message.partition;
  last_index_ = index->second;
  return last_index_;
}

void RdKafkaGroupConsumer::Take(rd_kafka_message_t* message) {
  const std::optional<uint32_t> index = Find(*message);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    TakeProblem(*message);
    rd_kafka_message_destroy(message);
    return;
  }
  // None of a partition that is not ours, and none twice, whatever the client does around a pause or a rebalance.
  if (!index.has_value() || message->offset < partitions_.at(*index).next) {
    rd_kafka_message_destroy(message);
    return;
  }
  partitions_.at(*index).next = message->offset + 1;
  if (filling_ == nullptr) filling_ = std::make_unique<RdKafkaBlock>(kBlockRecords);
  filling_bytes_ += message->len + message->key_len;
  filling_->Add(message, *index);
}

// Of what comes in a message's place: the end of a partition is a position, what can't heal is an error, the rest is
// the client's own business: it reconnects, retries and joins again for ever.
void RdKafkaGroupConsumer::TakeProblem(const rd_kafka_message_t& message) {
  const std::string reason = rd_kafka_message_errstr(&message);
  std::string where = message.rkt == nullptr ? "Kafka at " + address_
                                             : "topic " + std::string(rd_kafka_topic_name(message.rkt)) +
                                                   " partition " + std::to_string(message.partition);
  const std::optional<uint32_t> index = Find(message);
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      if (!index.has_value() || message.offset <= partitions_.at(*index).next) return;
      partitions_.at(*index).next = message.offset;
      Publish({.kind = GroupEvent::Kind::kPosition, .partition = *index, .offset = message.offset});
      return;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      if (!membership_.topic_pattern.empty()) return;  // the group goes on with those that match
      Fail(Status::NotFound(where + ": a topic does not exist (any more) at " + address_ + ": " + reason));
      return;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      Fail(Status::FailedPrecondition(where + ": the offset from which " + Group() +
                                      " goes on is not in the log any more: " + reason));
      return;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED: Fail(Status::FailedPrecondition(where + ": " + reason)); return;
    case RD_KAFKA_RESP_ERR__FATAL: Fail(Fatal()); return;
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      LogWarning(Group() + ": this process stood still for longer than max.poll.interval.ms and joins again");
      return;
    default: LogDebug(where + ": " + reason); return;
  }
}

Status RdKafkaGroupConsumer::Fatal() const {
  std::array<char, 512> reason{};
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(client_, reason.data(), reason.size());
  if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
    return Status::Fenced(Group() + ": another process has joined with the group instance id " +
                          membership_.instance_id + " (" + reason.data() + ")");
  }
  return Status::FailedPrecondition(Group() + " at " + address_ + ": " + reason.data());
}

void RdKafkaGroupConsumer::Fail(Status status) {
  {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = std::move(status);
  }
  context_.wakeup->Wake();
}

void RdKafkaGroupConsumer::Publish(GroupEvent event) {
  PublishBlock();
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  context_.wakeup->Wake();
}

void RdKafkaGroupConsumer::PublishBlock() {
  if (filling_ == nullptr) {
    KeepFetching(true);
    return;
  }
  fetch_wake_.Took(filling_->records().size());
  {
    const std::lock_guard lock(mutex_);
    queued_records_ += filling_->records().size();
    queued_bytes_ += std::exchange(filling_bytes_, 0);
    events_.push_back({.kind = GroupEvent::Kind::kRecords, .block = std::move(filling_)});
  }
  context_.wakeup->Wake();
  KeepFetching(false);
}

void RdKafkaGroupConsumer::KeepFetching(bool empty) {
  const MonotonicTime now = context_.clock->Now();
  if (partitions_.empty() || !fetch_wake_.Due(empty, queue_.get(), now)) return;
  auto next = partitions_.upper_bound(next_wake_);
  if (next == partitions_.end()) next = partitions_.begin();
  next_wake_ = next->first;
  fetch_wake_.Ask(client_, next->second.name, *waking_worker_, now);
}

Result<std::unique_ptr<KafkaGroupConsumer>> NewRdKafkaGroupConsumer(const KafkaConnection& connection,
                                                                    const KafkaGroupMembership& membership,
                                                                    const KafkaClientContext& context) {
  auto consumer = std::make_unique<RdKafkaGroupConsumer>(context, membership, connection.bootstrap_servers);
  WEIR_RETURN_IF_ERROR(consumer->Start(connection));
  return consumer;
}

}  // namespace weir::connectors
