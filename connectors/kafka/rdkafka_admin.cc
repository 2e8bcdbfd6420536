// librdkafka as a KafkaAdmin: the calls that wait. A consumer's handle, so that asking for a topic never creates it.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/clock.h"
#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
namespace {

constexpr int kUnknownTopicPatienceMs = 1000;
constexpr int kPropagationPollMs = 20;

class RdKafkaAdmin final : public KafkaAdmin {
 public:
  RdKafkaAdmin(KafkaConnection connection, Duration timeout) : connection_(std::move(connection)), timeout_(timeout) {}
  ~RdKafkaAdmin() override {
    for (const auto& [group, client] : groups_) rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    if (client_ != nullptr) rd_kafka_destroy_flags(client_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
  RdKafkaAdmin(const RdKafkaAdmin&) = delete;
  RdKafkaAdmin& operator=(const RdKafkaAdmin&) = delete;

  Status Start() {
    WEIR_ASSIGN_OR_RETURN(client_, NewClient(""));
    return {};
  }

  Result<std::vector<TopicMetadata>> ListTopics() override { return Metadata(nullptr); }
  Result<TopicMetadata> DescribeTopic(const std::string& topic) override;
  Result<std::vector<Watermarks>> QueryWatermarks(std::span<const TopicPartition> partitions) override;
  Result<std::vector<std::optional<int64_t>>> OffsetsForTime(std::span<const TopicPartition> partitions,
                                                             int64_t timestamp_ms) override;
  Result<std::vector<std::optional<int64_t>>> CommittedOffsets(const std::string& group,
                                                               std::span<const TopicPartition> partitions) override;
  Status CommitOffsets(const std::string& group, std::span<const PartitionStart> offsets) override;
  Status CreateTopic(const std::string& topic, int32_t partitions,
                     const std::vector<std::pair<std::string, std::string>>& config) override;

 private:
  int timeout_ms() const { return static_cast<int>(timeout_.count() / 1'000'000); }
  // `time`: milliseconds since 1970, or one of librdkafka's names for the first and the next offset.
  Result<std::vector<std::optional<int64_t>>> OffsetsAt(std::span<const TopicPartition> partitions, int64_t time,
                                                        const std::string& what);
  Result<rd_kafka_t*> NewClient(const std::string& group);
  Result<rd_kafka_t*> GroupClient(const std::string& group);
  Result<std::vector<TopicMetadata>> Metadata(rd_kafka_topic_t* only);
  Status Failure(rd_kafka_t* client, std::string_view what, rd_kafka_resp_err_t error);
  Status AwaitTopic(const std::string& topic);
  template <class F>
  rd_kafka_resp_err_t Persist(rd_kafka_t* client, F call);

  // Set once.
  const KafkaConnection connection_;
  const Duration timeout_;
  RdKafkaComplaint complaint_;
  rd_kafka_t* client_ = nullptr;

  // The caller's thread only.
  std::vector<std::pair<std::string, rd_kafka_t*>> groups_;
};

Result<rd_kafka_t*> RdKafkaAdmin::NewClient(const std::string& group) {
  RdKafkaConfig config(KafkaRole::kConsumer);
  config.Apply(connection_);
  config.Set("group.id", group);
  // Nobody joins the group, so that no session can time out; but a commit that finds no coordinator waits as long as a
  // session may last (45 s by default), and the client's end waits for it.
  config.Set("session.timeout.ms", std::to_string(std::clamp(timeout_ms(), 1000, 60'000)));
  config.Set("max.poll.interval.ms", "86400000");  // the connection's may be below that; nobody polls here
  rd_kafka_conf_set_error_cb(config.raw(), &RecordRdKafkaError);
  return config.NewClient(RD_KAFKA_CONSUMER, &complaint_);
}

Result<rd_kafka_t*> RdKafkaAdmin::GroupClient(const std::string& group) {
  const auto known = std::ranges::find(groups_, group, &std::pair<std::string, rd_kafka_t*>::first);
  if (known != groups_.end()) return known->second;
  WEIR_ASSIGN_OR_RETURN(rd_kafka_t * client, NewClient(group));
  groups_.emplace_back(group, client);
  return client;
}

Status RdKafkaAdmin::Failure(rd_kafka_t* client, std::string_view what, rd_kafka_resp_err_t error) {
  rd_kafka_poll(client, 0);
  return RdKafkaFailure("Kafka at " + connection_.bootstrap_servers + ": " + std::string(what), error, timeout_,
                        complaint_);
}

// Errors that end by themselves: a partition or a group is just getting its leader.
bool IsPassing(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR__WAIT_COORD: return true;
    default: return false;
  }
}

rd_kafka_resp_err_t FirstError(const rd_kafka_topic_partition_list_t& list) {
  for (const rd_kafka_topic_partition_t& item : std::span(list.elems, static_cast<size_t>(list.cnt))) {
    if (item.err != RD_KAFKA_RESP_ERR_NO_ERROR) return item.err;
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// Negative ones are librdkafka's way of saying none.
std::vector<std::optional<int64_t>> OffsetsOf(const rd_kafka_topic_partition_list_t& list) {
  std::vector<std::optional<int64_t>> offsets;
  for (const rd_kafka_topic_partition_t& item : std::span(list.elems, static_cast<size_t>(list.cnt))) {
    offsets.push_back(item.offset < 0 ? std::nullopt : std::optional(item.offset));
  }
  return offsets;
}

// Repeats `call` while its error is a passing one, within the timeout.
template <class F>
rd_kafka_resp_err_t RdKafkaAdmin::Persist(rd_kafka_t* client, F call) {
  for (int waited_ms = 0;; waited_ms += kPropagationPollMs) {
    const rd_kafka_resp_err_t error = call();
    if (!IsPassing(error) || waited_ms >= timeout_ms()) return error;
    rd_kafka_poll(client, kPropagationPollMs);
  }
}

Result<std::vector<TopicMetadata>> RdKafkaAdmin::Metadata(rd_kafka_topic_t* only) {
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(client_, only == nullptr ? 1 : 0, only, &metadata, timeout_ms());
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return Error(Failure(client_, "metadata", error));
  std::vector<TopicMetadata> topics;
  Status status;
  for (const rd_kafka_metadata_topic& topic : std::span(metadata->topics, static_cast<size_t>(metadata->topic_cnt))) {
    // A partition without a leader for a moment is still a partition.
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR && topic.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
      if (only != nullptr) status = Failure(client_, "topic " + std::string(topic.topic), topic.err);
      continue;
    }
    if (topic.partition_cnt > 0) topics.push_back({topic.topic, topic.partition_cnt, {}});
  }
  rd_kafka_metadata_destroy(metadata);
  if (!status.ok()) return Error(std::move(status));
  std::ranges::sort(topics, {}, &TopicMetadata::name);
  return topics;
}

Result<TopicMetadata> RdKafkaAdmin::DescribeTopic(const std::string& topic) {
  const RdKafkaPtr<rd_kafka_topic_t> handle(rd_kafka_topic_new(client_, topic.c_str(), nullptr));
  if (handle == nullptr) {
    return Error(Status::InvalidArgument("topic \"" + topic + "\": " + rd_kafka_err2str(rd_kafka_last_error())));
  }
  // Brokers hear of a new topic one after the other: for a moment one may deny what another has told.
  for (int waited_ms = 0;; waited_ms += kPropagationPollMs) {
    Result<std::vector<TopicMetadata>> topics = Metadata(handle.get());
    if (topics.has_value() && !topics->empty()) return std::move(topics->front());
    const bool unknown = topics.has_value() || topics.error().code() == StatusCode::kNotFound;
    if (unknown && waited_ms < kUnknownTopicPatienceMs) {
      rd_kafka_poll(client_, kPropagationPollMs);
      continue;
    }
    if (!topics.has_value()) return Error(std::move(topics).error());
    return Error(
        Status::NotFound("Kafka at " + connection_.bootstrap_servers + ": topic " + topic + " does not exist"));
  }
}

// Not rd_kafka_query_watermark_offsets, which repeats its request as long as the broker is away, whatever its timeout.
Result<std::vector<Watermarks>> RdKafkaAdmin::QueryWatermarks(std::span<const TopicPartition> partitions) {
  const std::string what = partitions.size() == 1 ? "first and last offset of " + partitions.front().ToString()
                                                  : std::string("first and last offsets");
  WEIR_ASSIGN_OR_RETURN(const auto low, OffsetsAt(partitions, RD_KAFKA_OFFSET_BEGINNING, what));
  WEIR_ASSIGN_OR_RETURN(const auto high, OffsetsAt(partitions, RD_KAFKA_OFFSET_END, what));
  std::vector<Watermarks> result;
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (!low[i].has_value() || !high[i].has_value()) {
      return Error(Status::Internal("Kafka tells no first and last offset of " + partitions[i].ToString()));
    }
    result.push_back({.low = *low[i], .high = *high[i]});
  }
  return result;
}

Result<std::vector<std::optional<int64_t>>> RdKafkaAdmin::OffsetsForTime(std::span<const TopicPartition> partitions,
                                                                         int64_t timestamp_ms) {
  return OffsetsAt(partitions, timestamp_ms, "offsets for a time");
}

Result<std::vector<std::optional<int64_t>>> RdKafkaAdmin::OffsetsAt(std::span<const TopicPartition> partitions,
                                                                    int64_t time, const std::string& what) {
  if (partitions.empty()) return std::vector<std::optional<int64_t>>();  // the library refuses the question
  RdKafkaPtr<rd_kafka_topic_partition_list_t> list;
  const rd_kafka_resp_err_t error = Persist(client_, [&] {
    list = NewPartitionList(partitions);
    for (int i = 0; i < list->cnt; ++i) list->elems[i].offset = time;
    const rd_kafka_resp_err_t outcome = rd_kafka_offsets_for_times(client_, list.get(), timeout_ms());
    return outcome != RD_KAFKA_RESP_ERR_NO_ERROR ? outcome : FirstError(*list);
  });
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return Error(Failure(client_, what, error));
  return OffsetsOf(*list);
}

Result<std::vector<std::optional<int64_t>>> RdKafkaAdmin::CommittedOffsets(const std::string& group,
                                                                           std::span<const TopicPartition> partitions) {
  WEIR_ASSIGN_OR_RETURN(rd_kafka_t * client, GroupClient(group));
  RdKafkaPtr<rd_kafka_topic_partition_list_t> list;
  const rd_kafka_resp_err_t error = Persist(client, [&] {
    list = NewPartitionList(partitions);
    const rd_kafka_resp_err_t outcome = rd_kafka_committed(client, list.get(), timeout_ms());
    return outcome != RD_KAFKA_RESP_ERR_NO_ERROR ? outcome : FirstError(*list);
  });
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return Error(Failure(client, "offsets of group " + group, error));
  return OffsetsOf(*list);
}

Status RdKafkaAdmin::CommitOffsets(const std::string& group, std::span<const PartitionStart> offsets) {
  if (offsets.empty()) return {};
  WEIR_ASSIGN_OR_RETURN(rd_kafka_t * client, GroupClient(group));
  const RdKafkaPtr<rd_kafka_topic_partition_list_t> list(
      rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const PartitionStart& item : offsets) {
    rd_kafka_topic_partition_list_add(list.get(), item.partition.topic.c_str(), item.partition.partition)->offset =
        item.offset;
  }
  const rd_kafka_resp_err_t error = Persist(client, [&] {
    // Through a queue, because the plain call waits without a bound.
    const RdKafkaPtr<rd_kafka_queue_t> queue(rd_kafka_queue_new(client));
    const rd_kafka_resp_err_t sent = rd_kafka_commit_queue(client, list.get(), queue.get(), nullptr, nullptr);
    if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return sent;
    const RdKafkaPtr<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), timeout_ms()));
    return event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event.get());
  });
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return Failure(client, "commit offsets of group " + group, error);
}

struct NewTopicDelete {
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
};

Status RdKafkaAdmin::CreateTopic(const std::string& topic, int32_t partitions,
                                 const std::vector<std::pair<std::string, std::string>>& config) {
  std::array<char, 512> reason{};
  const std::unique_ptr<rd_kafka_NewTopic_t, NewTopicDelete> request(
      rd_kafka_NewTopic_new(topic.c_str(), partitions, -1, reason.data(), reason.size()));
  if (request == nullptr) return Status::InvalidArgument("topic \"" + topic + "\": " + reason.data());
  for (const auto& [name, value] : config) rd_kafka_NewTopic_set_config(request.get(), name.c_str(), value.c_str());
  const RdKafkaPtr<rd_kafka_queue_t> queue(rd_kafka_queue_new(client_));
  std::array<rd_kafka_NewTopic_t*, 1> requests = {request.get()};
  rd_kafka_CreateTopics(client_, requests.data(), requests.size(), nullptr, queue.get());
  const RdKafkaPtr<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), timeout_ms()));
  const std::string what = "create topic " + topic;
  if (event == nullptr) return Failure(client_, what, RD_KAFKA_RESP_ERR__TIMED_OUT);
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failure(client_, what, rd_kafka_event_error(event.get()));
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count == 1 && rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failure(client_, what, rd_kafka_topic_result_error(results[0]));
  }
  return AwaitTopic(topic);
}

// The answer comes before every broker knows the topic.
Status RdKafkaAdmin::AwaitTopic(const std::string& topic) {
  for (int waited_ms = 0;; waited_ms += kPropagationPollMs) {
    Result<TopicMetadata> found = DescribeTopic(topic);
    if (found.has_value()) return {};
    if (found.error().code() != StatusCode::kNotFound || waited_ms >= timeout_ms()) return found.error();
    rd_kafka_poll(client_, kPropagationPollMs);
  }
}

}  // namespace

Result<std::unique_ptr<KafkaAdmin>> NewRdKafkaAdmin(const KafkaConnection& connection, Duration timeout) {
  auto admin = std::make_unique<RdKafkaAdmin>(connection, timeout);
  WEIR_RETURN_IF_ERROR(admin->Start());
  return admin;
}

}  // namespace weir::connectors
