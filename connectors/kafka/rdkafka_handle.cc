#include "connectors/kafka/rdkafka_handle.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "connectors/kafka/properties.h"
#include "connectors/kafka/rdkafka_token.h"

namespace weir::connectors {
namespace {

struct KafkaDefault {
  const char* name;
  const char* value;
};

// A small queue is the cheapest (cache), and with fetches of 2 MB also the fastest, given that a full queue does not
// stop the client for a second: see RdKafkaFetchWake.
constexpr std::array kConsumerDefaults = {
    KafkaDefault{"group.id", "weir"},
    KafkaDefault{"enable.auto.commit", "false"},
    KafkaDefault{"enable.auto.offset.store", "false"},
    KafkaDefault{"enable.partition.eof", "true"},
    KafkaDefault{"auto.offset.reset", "error"},
    KafkaDefault{"isolation.level", "read_committed"},
    KafkaDefault{"queued.min.messages", "20000"},
    KafkaDefault{"queued.max.messages.kbytes", "16384"},
    KafkaDefault{"fetch.wait.max.ms", "100"},
    KafkaDefault{"topic.metadata.refresh.interval.ms", "10000"},
    KafkaDefault{"reconnect.backoff.max.ms", "1000"},
};

constexpr std::array kProducerDefaults = {
    KafkaDefault{"enable.idempotence", "true"},
    KafkaDefault{"compression.codec", "lz4"},
    KafkaDefault{"linger.ms", "20"},
    KafkaDefault{"batch.size", "900000"},
    KafkaDefault{"queue.buffering.max.messages", "50000"},
    KafkaDefault{"queue.buffering.max.kbytes", "32768"},
    KafkaDefault{"message.timeout.ms", "0"},  // a sink that is down holds the barrier; it doesn't lose the row
    KafkaDefault{"partitioner", "murmur2_random"},
    KafkaDefault{"reconnect.backoff.max.ms", "1000"},
};

constexpr int64_t kFetchBytesMax = 2 * 1024 * 1024;

void ForwardRdKafkaLog(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  constexpr int kSyslogWarning = 4;
  // A new transactional producer waits for the end of its predecessor's transaction; rows of an unfinished one are
  // dropped: nothing to warn of.
  const std::string_view about(facility);
  // A sink's properties also serve its questions to the cluster, where those of a producer mean nothing.
  const bool expected =
      about == "GETPID" || about == "TERMINATE" || (about == "CONFWARN" && rd_kafka_type(client) == RD_KAFKA_CONSUMER);
  Log(level <= kSyslogWarning && !expected ? LogLevel::kWarning : LogLevel::kDebug,
      std::string("kafka client: ") + facility + ": " + text);
}

}  // namespace

RdKafkaConfig::RdKafkaConfig(KafkaRole role) : role_(role), conf_(rd_kafka_conf_new()) {}

void RdKafkaConfig::Apply(const KafkaConnection& connection) {
  rd_kafka_conf_set_log_cb(raw(), &ForwardRdKafkaLog);
  Set("bootstrap.servers", connection.bootstrap_servers);
  Set("client.id", connection.client_id);
  if (role_ == KafkaRole::kConsumer) {
    for (const KafkaDefault& item : kConsumerDefaults) Set(item.name, item.value);
    SetIfKnown("fetch.queue.backoff.ms", "1");
  } else {
    for (const KafkaDefault& item : kProducerDefaults) Set(item.name, item.value);
  }
  bool fetch_given = false;
  for (const auto& [name, value] : connection.properties) {
    Set(name, value);
    fetch_given = fetch_given || name == "fetch.max.bytes";
    if (name == "sasl.oauthbearer.config") token_config_ = value;
  }
  if (role_ == KafkaRole::kConsumer && !fetch_given) {
    // librdkafka refuses a fetch that is smaller than one message may be.
    const int64_t message_bytes_max = std::strtoll(Get("message.max.bytes").c_str(), nullptr, 10);
    Set("fetch.max.bytes", std::to_string(std::max(kFetchBytesMax, message_bytes_max)));
  }
}

void RdKafkaConfig::Set(const std::string& name, const std::string& value) {
  std::array<char, 512> reason{};
  const rd_kafka_conf_res_t result =
      rd_kafka_conf_set(raw(), name.c_str(), value.c_str(), reason.data(), reason.size());
  if (result == RD_KAFKA_CONF_OK || !status_.ok()) return;
  if (result == RD_KAFKA_CONF_UNKNOWN) {
    status_ = Status::InvalidArgument("property \"" + name + "\" is not known to this Kafka client (librdkafka " +
                                      rd_kafka_version_str() + ")");
    return;
  }
  // librdkafka's reason repeats the value, and may end a line.
  std::string_view text = reason.data();
  while (text.ends_with('\n')) text.remove_suffix(1);
  status_ = Status::InvalidArgument("property \"" + name +
                                    "\": " + std::string(IsSecretProperty(name) ? "the value is not accepted" : text));
}

bool RdKafkaConfig::SetIfKnown(const std::string& name, const std::string& value) {
  return rd_kafka_conf_set(raw(), name.c_str(), value.c_str(), nullptr, 0) == RD_KAFKA_CONF_OK;
}

std::string RdKafkaConfig::Get(const std::string& name) const {
  std::array<char, 512> value{};
  size_t size = value.size();
  if (rd_kafka_conf_get(conf_.get(), name.c_str(), value.data(), &size) != RD_KAFKA_CONF_OK) return {};
  return value.data();
}

Result<rd_kafka_t*> RdKafkaConfig::NewClient(rd_kafka_type_t type, void* opaque) {
  if (!status_.ok()) return Error(status_);
  rd_kafka_conf_set_opaque(raw(), opaque);
  PrepareTokens(raw(), token_config_);
  std::array<char, 512> reason{};
  rd_kafka_t* client = rd_kafka_new(type, raw(), reason.data(), reason.size());
  if (client == nullptr) return Error(Status::InvalidArgument(std::string("Kafka client: ") + reason.data()));
  (void)conf_.release();  // the client owns it now
  if (Status served = ServeTokens(client, token_config_); !served.ok()) {
    rd_kafka_destroy(client);
    return Error(std::move(served));
  }
  return client;
}

void RecordRdKafkaError(rd_kafka_t* client, int error, const char* reason, void* complaint) {
  // A failed broker is followed by "all brokers down", which says less.
  auto* record = static_cast<RdKafkaComplaint*>(complaint);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && !record->text.empty()) return;
  record->text = reason;
  // They want the nonce as RFC 5802 has it, which librdkafka repeats in part before 2.6.1.
  constexpr int kScramMended = 0x02060100;
  if (error == RD_KAFKA_RESP_ERR__AUTHENTICATION && rd_kafka_version() < kScramMended &&
      record->text.find("SCRAM") != std::string::npos) {
    record->text += std::string("; brokers of Kafka 4 refuse every SCRAM of librdkafka before 2.6.1, and this is ") +
                    rd_kafka_version_str();
  }
  (void)client;
}

bool IsUnanswered(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN: return true;
    default: return false;
  }
}

Status RdKafkaFailure(std::string what, rd_kafka_resp_err_t error, Duration timeout,
                      const RdKafkaComplaint& complaint) {
  std::string text = std::move(what) + ": ";
  if (IsUnanswered(error)) {
    text += "no answer within " + SecondsText(timeout);
    if (!complaint.text.empty()) text += " (" + complaint.text + ")";
    return Status::Unavailable(std::move(text));
  }
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: return Status::NotFound(text + rd_kafka_err2str(error));
    case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: return Status::AlreadyExists(text + rd_kafka_err2str(error));
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION: return Status::FailedPrecondition(text + rd_kafka_err2str(error));
    default: return Status::Unavailable(text + rd_kafka_err2str(error));
  }
}

RdKafkaPtr<rd_kafka_topic_partition_list_t> NewPartitionList(std::span<const TopicPartition> partitions) {
  RdKafkaPtr<rd_kafka_topic_partition_list_t> list(
      rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const TopicPartition& partition : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition);
  }
  return list;
}

std::string SecondsText(Duration duration) {
  const int64_t tenths = duration.count() / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

}  // namespace weir::connectors
