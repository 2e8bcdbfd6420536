// librdkafka as a KafkaConsumer.
//
// Batches come from rd_kafka_consume_batch_queue on the consumer's queue; end-of-partition events and errors arrive
// among them as messages. The batch interface of 2.0.2 may lose messages if seek, pause or assignment run beside it:
// here all of them are calls of one thread.
#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/log.h"
#include "connectors/kafka/rdkafka_block.h"
#include "connectors/kafka/rdkafka_fetch_wake.h"
#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
namespace {

constexpr size_t kFetchRecords = 1024;
constexpr int kRequestTimeoutMs = 1000;

class RdKafkaConsumer final : public KafkaConsumer {
 public:
  RdKafkaConsumer(const KafkaClientContext& context, std::string address)
      : context_(context), address_(std::move(address)), worker_(context.workers->NewWorker("kafka-consumer")) {}

  ~RdKafkaConsumer() override {
    if (client_ == nullptr) return;
    rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
    queue_.reset();
    // Takes half a second; the worker's end waits for it.
    worker_->Submit([client = client_] { rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE); });
    worker_.reset();
  }
  RdKafkaConsumer(const RdKafkaConsumer&) = delete;
  RdKafkaConsumer& operator=(const RdKafkaConsumer&) = delete;

  Status Start(const KafkaConnection& connection) {
    RdKafkaConfig config(KafkaRole::kConsumer);
    config.Apply(connection);
    fetch_wake_.Configure(config);
    rd_kafka_conf_set_error_cb(config.raw(), &RecordRdKafkaError);
    WEIR_ASSIGN_OR_RETURN(client_, config.NewClient(RD_KAFKA_CONSUMER, &complaint_));
    rd_kafka_poll_set_consumer(client_);
    queue_.reset(rd_kafka_queue_get_consumer(client_));
    rd_kafka_queue_cb_event_enable(
        queue_.get(), [](rd_kafka_t*, void* wakeup) { static_cast<Wakeup*>(wakeup)->Wake(); }, context_.wakeup);
    return {};
  }

  Status Assign(std::span<const PartitionStart> starts) override;
  Result<std::unique_ptr<FetchedBlock>> Fetch() override;
  int64_t Position(uint32_t partition) const override { return partitions_[partition].position; }
  int64_t HighWatermark(uint32_t partition) const override {
    const TopicPartition& name = partitions_[partition].name;
    int64_t low = 0;
    int64_t high = 0;
    if (rd_kafka_get_watermark_offsets(client_, name.topic.c_str(), name.partition, &low, &high) != 0) return -1;
    return high < 0 ? -1 : high;
  }
  Status Pause(uint32_t partition) override { return Switch(partition, &rd_kafka_pause_partitions); }
  Status Resume(uint32_t partition) override { return Switch(partition, &rd_kafka_resume_partitions); }
  Status Seek(uint32_t partition, int64_t offset) override;

 private:
  struct Partition {
    TopicPartition name;
    int64_t position = 0;
  };
  struct Topic {
    std::string name;
    std::unordered_map<int32_t, uint32_t> indices;
  };

  Result<uint32_t> IndexOf(const rd_kafka_message_t& message);
  Status HandleEvent(const rd_kafka_message_t& message);
  Status OutOfRange(const Partition& partition, const std::string& reason);
  std::optional<int64_t> OffsetOf(const Partition& partition, int64_t time);
  Status Switch(uint32_t partition, rd_kafka_resp_err_t (*call)(rd_kafka_t*, rd_kafka_topic_partition_list_t*));
  void KeepFetching(bool empty);
  std::string Name(const rd_kafka_message_t& message) const;

  // Set once.
  const KafkaClientContext context_;
  const std::string address_;
  std::unique_ptr<Worker> worker_;
  RdKafkaComplaint complaint_;
  rd_kafka_t* client_ = nullptr;
  RdKafkaPtr<rd_kafka_queue_t> queue_;

  // The task's thread only.
  std::vector<Partition> partitions_;
  std::unordered_map<std::string, Topic> topics_;  // by name; never iterated
  const rd_kafka_topic_t* last_topic_ = nullptr;   // of the newest message, with its partition and index
  int32_t last_partition_ = -1;
  uint32_t last_index_ = 0;
  std::vector<rd_kafka_message_t*> fetched_ = std::vector<rd_kafka_message_t*>(kFetchRecords);
  RdKafkaFetchWake fetch_wake_;
  uint32_t next_wake_partition_ = 0;
};

Status RdKafkaConsumer::Assign(std::span<const PartitionStart> starts) {
  if (starts.empty()) return {};
  RdKafkaPtr<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(static_cast<int>(starts.size())));
  for (const PartitionStart& start : starts) {
    WEIR_CHECK_GE(start.offset, 0);
    const auto [topic, fresh] = topics_.try_emplace(start.partition.topic);
    if (!topic->second.indices.emplace(start.partition.partition, partitions_.size()).second) {
      return Status::AlreadyExists(start.partition.ToString() + " is assigned already");
    }
    partitions_.push_back({start.partition, start.offset});
    rd_kafka_topic_partition_list_add(list.get(), start.partition.topic.c_str(), start.partition.partition)->offset =
        start.offset;
  }
  RdKafkaPtr<rd_kafka_error_t> error(rd_kafka_incremental_assign(client_, list.get()));
  if (error != nullptr) return Status::Internal(std::string("Kafka assign: ") + rd_kafka_error_string(error.get()));
  // What the client's own metadata does not know yet - a topic assigned after its first connection, partitions made
  // since it last looked - is fetched only when it looks again: the topic at the next tick of a second.
  worker_->Submit([client = client_] {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client, 0, nullptr, &metadata, kRequestTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_metadata_destroy(metadata);
    }
  });
  return {};
}

Result<std::unique_ptr<FetchedBlock>> RdKafkaConsumer::Fetch() {
  const ssize_t count = rd_kafka_consume_batch_queue(queue_.get(), 0, fetched_.data(), fetched_.size());
  if (count <= 0) {
    KeepFetching(true);
    return nullptr;
  }
  auto block = std::make_unique<RdKafkaBlock>(static_cast<size_t>(count));
  Status status;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    rd_kafka_message_t* message = fetched_[i];
    if (!status.ok()) {
      rd_kafka_message_destroy(message);
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      status = HandleEvent(*message);
      rd_kafka_message_destroy(message);
    } else if (Result<uint32_t> index = IndexOf(*message); index.has_value()) {
      partitions_[*index].position = message->offset + 1;
      block->Add(message, *index);
    } else {
      status = index.error();
      rd_kafka_message_destroy(message);
    }
  }
  if (!status.ok()) return Error(std::move(status));
  fetch_wake_.Took(block->records().size());
  KeepFetching(false);
  return block;
}

Result<uint32_t> RdKafkaConsumer::IndexOf(const rd_kafka_message_t& message) {
  if (message.rkt == last_topic_ && message.partition == last_partition_) [[likely]]
    return last_index_;
  if (message.rkt == nullptr) return Error(Status::Internal("a Kafka message without a topic"));
  const auto topic = topics_.find(rd_kafka_topic_name(message.rkt));
  if (topic == topics_.end() || !topic->second.indices.contains(message.partition)) {
    return Error(Status::Internal("a Kafka message of " + Name(message) + ", which is not assigned"));
  }
  last_topic_ = message.rkt;
  last_partition_ = message.partition;
  last_index_ = topic->second.indices.at(message.partition);
  return last_index_;
}

std::string RdKafkaConsumer::Name(const rd_kafka_message_t& message) const {
  if (message.rkt == nullptr) return "Kafka at " + address_;
  return "topic " + std::string(rd_kafka_topic_name(message.rkt)) + " partition " + std::to_string(message.partition);
}

// Of what comes in a message's place: the end of a partition is a position, what can't heal is an error, the rest is
// the client's own business (it reconnects and retries for ever).
Status RdKafkaConsumer::HandleEvent(const rd_kafka_message_t& message) {
  const std::string reason = message.payload != nullptr
                                 ? std::string(static_cast<const char*>(message.payload), message.len)
                                 : rd_kafka_err2str(message.err);
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF: {
      WEIR_ASSIGN_OR_RETURN(const uint32_t index, IndexOf(message));
      partitions_[index].position = std::max(partitions_[index].position, message.offset);
      return {};
    }
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return Status::NotFound(Name(message) + " does not exist (any more) at " + address_ + ": " + reason);
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: {
      WEIR_ASSIGN_OR_RETURN(const uint32_t index, IndexOf(message));
      return OutOfRange(partitions_[index], reason);
    }
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED: return Status::FailedPrecondition(Name(message) + ": " + reason);
    default: LogDebug(Name(message) + ": " + reason); return {};
  }
}

Status RdKafkaConsumer::OutOfRange(const Partition& partition, const std::string& reason) {
  std::string text = "topic " + partition.name.topic + " partition " + std::to_string(partition.name.partition) +
                     ": offset " + std::to_string(partition.position) + " is not in the log any more";
  // The reading has ended, so that waiting here is allowed.
  const std::optional<int64_t> low = OffsetOf(partition, RD_KAFKA_OFFSET_BEGINNING);
  const std::optional<int64_t> high = OffsetOf(partition, RD_KAFKA_OFFSET_END);
  if (low.has_value() && high.has_value()) {
    text += ", which goes from " + std::to_string(*low) + " to " + std::to_string(*high);
  }
  return Status::FailedPrecondition(text + " (" + reason + ")");
}

// Waits a second at most. Not rd_kafka_query_watermark_offsets: see RdKafkaFetchWake.
std::optional<int64_t> RdKafkaConsumer::OffsetOf(const Partition& partition, int64_t time) {
  const RdKafkaPtr<rd_kafka_topic_partition_list_t> list = NewPartitionList({&partition.name, 1});
  list->elems[0].offset = time;
  const bool known = rd_kafka_offsets_for_times(client_, list.get(), kRequestTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR &&
                     list->elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR && list->elems[0].offset >= 0;
  return known ? std::optional(list->elems[0].offset) : std::nullopt;
}

Status RdKafkaConsumer::Switch(uint32_t partition,
                               rd_kafka_resp_err_t (*call)(rd_kafka_t*, rd_kafka_topic_partition_list_t*)) {
  const RdKafkaPtr<rd_kafka_topic_partition_list_t> list = NewPartitionList({&partitions_[partition].name, 1});
  rd_kafka_resp_err_t error = call(client_, list.get());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = list->elems[0].err;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return Status::Internal(partitions_[partition].name.ToString() + ": " + rd_kafka_err2str(error));
}

Status RdKafkaConsumer::Seek(uint32_t partition, int64_t offset) {
  // Taken out and put in again: records of before carry an older version and are dropped by the client.
  const RdKafkaPtr<rd_kafka_topic_partition_list_t> list = NewPartitionList({&partitions_[partition].name, 1});
  RdKafkaPtr<rd_kafka_error_t> error(rd_kafka_incremental_unassign(client_, list.get()));
  list->elems[0].offset = offset;
  if (error == nullptr) error.reset(rd_kafka_incremental_assign(client_, list.get()));
  if (error != nullptr) {
    return Status::Internal(partitions_[partition].name.ToString() + ": seek: " + rd_kafka_error_string(error.get()));
  }
  partitions_[partition].position = offset;
  return {};
}

void RdKafkaConsumer::KeepFetching(bool empty) {
  const MonotonicTime now = context_.clock->Now();
  if (!fetch_wake_.Due(empty, queue_.get(), now)) return;
  next_wake_partition_ = (next_wake_partition_ + 1) % static_cast<uint32_t>(partitions_.size());
  fetch_wake_.Ask(client_, partitions_[next_wake_partition_].name, *worker_, now);
}

}  // namespace

Result<std::unique_ptr<KafkaConsumer>> NewRdKafkaConsumer(const KafkaConnection& connection,
                                                          const KafkaClientContext& context) {
  auto consumer = std::make_unique<RdKafkaConsumer>(context, connection.bootstrap_servers);
  WEIR_RETURN_IF_ERROR(consumer->Start(connection));
  return consumer;
}

}  // namespace weir::connectors
