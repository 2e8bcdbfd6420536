// librdkafka as a KafkaMarkerReader. Two handles, because what one is told depends on its isolation level: asked for a
// partition's end, the broker tells a reader of committed data where that reader must stop, which lies before the first
// open transaction, and the marker of a transaction that is just being committed lies behind that. So the end comes
// from a handle that reads everything, and the records up to it from one that waits until they are decided.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
namespace {

constexpr int kPollMs = 100;
constexpr int kUnknownTopicPollMs = 20;
constexpr Duration kUnknownTopicPatience = std::chrono::seconds(1);

struct ConfigResourceDelete {
  void operator()(rd_kafka_ConfigResource_t* resource) const { rd_kafka_ConfigResource_destroy(resource); }
};
struct MessageDelete {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
struct TextDelete {
  void operator()(char* text) const { rd_kafka_mem_free(nullptr, text); }
};

class RdKafkaMarkerReader final : public KafkaMarkerReader {
 public:
  RdKafkaMarkerReader(std::string address, Duration timeout, const Clock& clock)
      : address_(std::move(address)), timeout_(timeout), clock_(clock) {}
  ~RdKafkaMarkerReader() override {
    if (client_ != nullptr) rd_kafka_destroy_flags(client_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
  RdKafkaMarkerReader(const RdKafkaMarkerReader&) = delete;
  RdKafkaMarkerReader& operator=(const RdKafkaMarkerReader&) = delete;

  Status Start(const KafkaConnection& connection);

  Result<std::string> ClusterId() override;
  Result<std::optional<std::string>> TopicConfig(const std::string& topic, const std::string& name) override;
  Result<std::optional<std::string>> NewestValue(const TopicPartition& partition, const std::string& key,
                                                 KafkaReadUpTo up_to) override;

 private:
  using Event = RdKafkaPtr<rd_kafka_event_t>;

  int timeout_ms() const { return static_cast<int>(timeout_.count() / 1'000'000); }
  Status Failure(const std::string& what, rd_kafka_resp_err_t error) {
    rd_kafka_poll(client_, 0);
    return RdKafkaFailure("Kafka at " + address_ + ": " + what, error, timeout_, complaint_);
  }
  Result<std::optional<std::string>> ConfigOnce(const std::string& topic, const std::string& name);
  // The client would look for a topic's leader only at the next tick of its timer, a second.
  void LearnTopic() {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client_, 0, nullptr, &metadata, timeout_ms()) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    rd_kafka_metadata_destroy(metadata);
  }
  Result<std::optional<std::string>> ReadTo(const TopicPartition& partition, int64_t end, const std::string& key,
                                            KafkaReadUpTo up_to);

  // Set once.
  const std::string address_;
  const Duration timeout_;
  const Clock& clock_;
  std::unique_ptr<KafkaAdmin> admin_;  // reads everything
  RdKafkaComplaint complaint_;
  rd_kafka_t* client_ = nullptr;  // reads what is committed
};

Status RdKafkaMarkerReader::Start(const KafkaConnection& connection) {
  KafkaConnection everything = connection;
  everything.properties.emplace_back("isolation.level", "read_uncommitted");
  WEIR_ASSIGN_OR_RETURN(admin_, NewRdKafkaAdmin(everything, timeout_));
  RdKafkaConfig config(KafkaRole::kConsumer);
  config.Apply(connection);
  config.Set("isolation.level", "read_committed");
  config.Set("fetch.wait.max.ms", "10");  // what the end-of-partition event waits for
  rd_kafka_conf_set_error_cb(config.raw(), &RecordRdKafkaError);
  WEIR_ASSIGN_OR_RETURN(client_, config.NewClient(RD_KAFKA_CONSUMER, &complaint_));
  rd_kafka_poll_set_consumer(client_);
  return {};
}

Result<std::string> RdKafkaMarkerReader::ClusterId() {
  const std::unique_ptr<char, TextDelete> id(rd_kafka_clusterid(client_, timeout_ms()));
  if (id == nullptr) return Error(Failure("cluster id", RD_KAFKA_RESP_ERR__TIMED_OUT));
  return std::string(id.get());
}

Result<std::optional<std::string>> RdKafkaMarkerReader::ConfigOnce(const std::string& topic, const std::string& name) {
  const std::string what = "configuration of topic " + topic;
  const std::unique_ptr<rd_kafka_ConfigResource_t, ConfigResourceDelete> request(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  if (request == nullptr) return Error(Status::InvalidArgument("topic \"" + topic + "\" is no name for one"));
  const RdKafkaPtr<rd_kafka_queue_t> queue(rd_kafka_queue_new(client_));
  std::array<rd_kafka_ConfigResource_t*, 1> requests = {request.get()};
  rd_kafka_DescribeConfigs(client_, requests.data(), requests.size(), nullptr, queue.get());
  const Event event(rd_kafka_queue_poll(queue.get(), timeout_ms()));
  if (event == nullptr) return Error(Failure(what, RD_KAFKA_RESP_ERR__TIMED_OUT));
  if (const auto error = rd_kafka_event_error(event.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(Failure(what, error));
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  if (count != 1) return Error(Status::Internal("Kafka at " + address_ + ": " + what + ": no answer for it"));
  if (const auto error = rd_kafka_ConfigResource_error(resources[0]); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(Failure(what, error));
  }
  size_t size = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resources[0], &size);
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, size)) {
    if (rd_kafka_ConfigEntry_name(entry) != name) continue;
    const char* value = rd_kafka_ConfigEntry_value(entry);  // null: a secret one
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  return std::nullopt;
}

Result<std::optional<std::string>> RdKafkaMarkerReader::TopicConfig(const std::string& topic, const std::string& name) {
  // Brokers hear of a new topic one after the other.
  const MonotonicTime start = clock_.Now();
  for (;;) {
    Result<std::optional<std::string>> found = ConfigOnce(topic, name);
    if (found.has_value() || found.error().code() != StatusCode::kNotFound) return found;
    if (clock_.Now() - start >= std::min(kUnknownTopicPatience, timeout_)) return found;
    rd_kafka_poll(client_, kUnknownTopicPollMs);
  }
}

Result<std::optional<std::string>> RdKafkaMarkerReader::NewestValue(const TopicPartition& partition,
                                                                    const std::string& key, KafkaReadUpTo up_to) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<Watermarks> marks, admin_->QueryWatermarks(std::span(&partition, 1)));
  if (marks.front().low >= marks.front().high) return std::nullopt;
  const RdKafkaPtr<rd_kafka_topic_partition_list_t> list = NewPartitionList(std::span(&partition, 1));
  list->elems[0].offset = marks.front().low;
  if (const auto error = rd_kafka_assign(client_, list.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(Failure("read " + partition.ToString(), error));
  }
  LearnTopic();
  Result<std::optional<std::string>> found = ReadTo(partition, marks.front().high, key, up_to);
  rd_kafka_assign(client_, nullptr);
  return found;
}

// To `end`, which comes as a record or, over control records and gaps, as the event of a partition's end.
Result<std::optional<std::string>> RdKafkaMarkerReader::ReadTo(const TopicPartition& partition, int64_t end,
                                                               const std::string& key, KafkaReadUpTo up_to) {
  const MonotonicTime start = clock_.Now();
  bool has_value = false;
  std::string newest;
  int64_t position = 0;
  while (position < end) {
    const std::unique_ptr<rd_kafka_message_t, MessageDelete> message(rd_kafka_consumer_poll(client_, kPollMs));
    if (message == nullptr || IsUnanswered(message->err)) {
      if (clock_.Now() - start < timeout_) continue;
      const std::string read = position == 0 ? std::string("nothing of it") : "up to " + std::to_string(position);
      return Error(Failure("read " + partition.ToString() + " to its end at offset " + std::to_string(end) + " (" +
                               read + " was decided; a transaction may be open there)",
                           RD_KAFKA_RESP_ERR__TIMED_OUT));
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      if (up_to == KafkaReadUpTo::kLastStable) break;
      position = std::max(position, message->offset);
      continue;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Error(Failure("read " + partition.ToString(), message->err));
    }
    position = message->offset + 1;
    if (position > end) break;  // written since
    const std::string_view name(static_cast<const char*>(message->key), message->key == nullptr ? 0 : message->key_len);
    if (message->key == nullptr || name != key) continue;
    has_value = message->payload != nullptr;
    if (has_value) newest.assign(static_cast<const char*>(message->payload), message->len);
  }
  return has_value ? std::optional(std::move(newest)) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<KafkaMarkerReader>> NewRdKafkaMarkerReader(const KafkaConnection& connection, Duration timeout,
                                                                  const Clock& clock) {
  auto reader = std::make_unique<RdKafkaMarkerReader>(connection.bootstrap_servers, timeout, clock);
  WEIR_RETURN_IF_ERROR(reader->Start(connection));
  return reader;
}

}  // namespace weir::connectors
