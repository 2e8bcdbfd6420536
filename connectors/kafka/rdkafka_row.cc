#include "connectors/kafka/rdkafka_row.h"

#include <array>
#include <string_view>

#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
rd_kafka_resp_err_t EnqueueRow(rd_kafka_t* client, rd_kafka_topic_t* topic, const ProduceRow& row) {
  void* value = const_cast<char*>(row.value.data());
  if (row.timestamp_ms == 0 && row.headers.empty()) [[likely]] {
    const int failed = rd_kafka_produce(topic, row.partition, RD_KAFKA_MSG_F_COPY, value, row.value.size(),
                                        row.key.data(), row.key.size(), nullptr);
    return failed == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_last_error();
  }
  std::array<rd_kafka_vu_t, 7> arguments{};
  arguments[0].vtype = RD_KAFKA_VTYPE_RKT;
  arguments[0].u.rkt = topic;
  arguments[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  arguments[1].u.i32 = row.partition;
  arguments[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  arguments[2].u.i = RD_KAFKA_MSG_F_COPY;
  arguments[3].vtype = RD_KAFKA_VTYPE_VALUE;
  arguments[3].u.mem = {value, row.value.size()};
  arguments[4].vtype = RD_KAFKA_VTYPE_KEY;
  arguments[4].u.mem = {const_cast<char*>(row.key.data()), row.key.size()};
  arguments[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  arguments[5].u.i64 = row.timestamp_ms;
  RdKafkaPtr<rd_kafka_headers_t> headers;
  if (!row.headers.empty()) headers.reset(rd_kafka_headers_new(row.headers.size()));
  for (const KafkaHeader& header : row.headers) {
    rd_kafka_header_add(headers.get(), header.name.data(), static_cast<ssize_t>(header.name.size()),
                        header.value.data(), static_cast<ssize_t>(header.value.size()));
  }
  arguments[6].vtype = RD_KAFKA_VTYPE_HEADERS;
  arguments[6].u.headers = headers.get();
  const size_t given = headers == nullptr ? arguments.size() - 1 : arguments.size();
  const RdKafkaPtr<rd_kafka_error_t> error(rd_kafka_produceva(client, arguments.data(), given));
  if (error != nullptr) return rd_kafka_error_code(error.get());
  (void)headers.release();  // the message's
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

ProduceRow RowOf(const rd_kafka_message_t& message) {
  ProduceRow row;
  row.partition = message.partition;
  row.key = {static_cast<const char*>(message.key), message.key == nullptr ? 0 : message.key_len};
  row.value = {static_cast<const char*>(message.payload), message.payload == nullptr ? 0 : message.len};
  return row;
}

Status RefusedRow(const std::string& address, const std::string& bytes_max, const std::string& topic,
                  const ProduceRow& row, rd_kafka_resp_err_t error) {
  constexpr size_t kKeyShown = 100;
  const std::string reason = rd_kafka_err2str(error);
  const std::string key =
      row.key.data() == nullptr ? std::string("none") : '"' + std::string(row.key.substr(0, kKeyShown)) + '"';
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return Status::InvalidArgument(
          "topic " + topic + ": the row with key " + key + " is " + std::to_string(row.key.size() + row.value.size()) +
          " bytes; the limit is " + bytes_max +
          " (property message.max.bytes here; max.message.bytes of the topic, which must also hold a "
          "batch of rows, property batch.size)");
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return Status::NotFound("topic " + topic + " at " + address + ", partition " + std::to_string(row.partition) +
                              ": " + reason);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return Status::FailedPrecondition("topic " + topic + ", row with key " + key + ": " + reason);
    default: return Status::Unavailable("topic " + topic + " at " + address + ", row with key " + key + ": " + reason);
  }
}

}  // namespace weir::connectors
