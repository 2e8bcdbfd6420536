#include "connectors/kafka/rdkafka_fetch_wake.h"

#include <cstdlib>

#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {
namespace {

constexpr Duration kInterval = std::chrono::milliseconds(5);
constexpr int kTimeoutMs = 1000;

}  // namespace

void RdKafkaFetchWake::Configure(const RdKafkaConfig& config) {
  needed_ = config.Get("fetch.queue.backoff.ms").empty();
  queue_messages_max_ = std::strtoull(config.Get("queued.min.messages").c_str(), nullptr, 10);
}

bool RdKafkaFetchWake::Due(bool empty, rd_kafka_queue_t* queue, MonotonicTime now) const {
  if (!needed_ || records_ == 0 || under_way_.load(std::memory_order_acquire)) return false;
  return empty || (now - last_ >= kInterval && rd_kafka_queue_length(queue) < queue_messages_max_);
}

void RdKafkaFetchWake::Ask(rd_kafka_t* client, const TopicPartition& partition, Worker& worker, MonotonicTime now) {
  last_ = now;
  records_ = 0;
  under_way_.store(true, std::memory_order_release);
  worker.Submit([this, client, partition] {
    // Any request to the partition's leader will do. Not rd_kafka_query_watermark_offsets, which repeats its request as
    // long as the broker is away, whatever its timeout: the consumer's end would wait for the broker.
    const RdKafkaPtr<rd_kafka_topic_partition_list_t> list = NewPartitionList({&partition, 1});
    list->elems[0].offset = RD_KAFKA_OFFSET_END;
    (void)rd_kafka_offsets_for_times(client, list.get(), kTimeoutMs);
    under_way_.store(false, std::memory_order_release);
  });
}

}  // namespace weir::connectors
