// Messages of librdkafka as a block: spans into them, which stay valid until the block is gone. Filled by whoever
// polls, then given to the task. Only rdkafka_*.cc include this.
#pragma once

#include <librdkafka/rdkafka.h>

#include <vector>

#include "connectors/kafka/client.h"

namespace weir::connectors {

class RdKafkaBlock final : public FetchedBlock {
 public:
  explicit RdKafkaBlock(size_t capacity) {
    records_.reserve(capacity);
    messages_.reserve(capacity);
  }
  ~RdKafkaBlock() override {
    for (rd_kafka_message_t* message : messages_) rd_kafka_message_destroy(message);
  }
  RdKafkaBlock(const RdKafkaBlock&) = delete;
  RdKafkaBlock& operator=(const RdKafkaBlock&) = delete;

  // Takes the message.
  void Add(rd_kafka_message_t* message, uint32_t partition) {
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
    KafkaRecord record;
    record.partition = partition;
    record.offset = message->offset;
    record.timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms;
    record.key = {static_cast<const char*>(message->key), message->key == nullptr ? 0 : message->key_len};
    record.value = {static_cast<const char*>(message->payload), message->payload == nullptr ? 0 : message->len};
    records_.push_back(record);
    messages_.push_back(message);
  }

  // Leaves a partition's records out.
  void Drop(uint32_t partition) {
    size_t kept = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      if (records_[i].partition == partition) {
        rd_kafka_message_destroy(messages_[i]);
        continue;
      }
      records_[kept] = records_[i];
      messages_[kept++] = messages_[i];
    }
    records_.resize(kept);
    messages_.resize(kept);
  }

  std::vector<KafkaHeader> Headers(size_t record) const override {
    std::vector<KafkaHeader> result;
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(messages_[record], &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return result;
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      result.push_back({name, {static_cast<const char*>(value), size}});
    }
    return result;
  }

 private:
  std::vector<rd_kafka_message_t*> messages_;
};

}  // namespace weir::connectors
