// The one-second fetch pause: when a client's queue is full, its broker thread stops fetching and looks again when
// something else wakes it, at latest after a second. From librdkafka 2.2 on fetch.queue.backoff.ms shortens that. For
// older ones a Worker asks the broker about a partition while data flows and the queue has room: the request wakes the
// broker thread. At most one such request is under way, at most one in 5 ms, and none when nothing flows. The thread
// that polls; the worker ends before this object and the client do. Only rdkafka_*.cc include this.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>

#include "base/clock.h"
#include "base/worker.h"
#include "connectors/kafka/client.h"

namespace weir::connectors {

class RdKafkaConfig;

class RdKafkaFetchWake {
 public:
  // What the configuration of the client says of it.
  void Configure(const RdKafkaConfig& config);
  void Took(size_t records) { records_ += records; }
  // True: Ask is due, about a partition that is assigned. `empty`: the queue has nothing.
  bool Due(bool empty, rd_kafka_queue_t* queue, MonotonicTime now) const;
  void Ask(rd_kafka_t* client, const TopicPartition& partition, Worker& worker, MonotonicTime now);

 private:
  bool needed_ = false;
  size_t queue_messages_max_ = 0;
  MonotonicTime last_;
  size_t records_ = 0;  // since then
  std::atomic<bool> under_way_{false};
};

}  // namespace weir::connectors
