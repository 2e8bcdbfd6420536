// Fills topics with changefeed rows (bench/kafka_rows.h) and sees when rows turn up in one. One thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "connectors/kafka/client.h"

namespace weir::bench {

inline constexpr int kPartitions = 8;

// Ends the program with the status if it is not ok.
void CheckOk(const Status& status);

class ConditionWakeup final : public Wakeup {
 public:
  void Wake() override;
  // At most 10 ms.
  void Wait();

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;  // guarded by mutex_
};

class KafkaFeed {
 public:
  explicit KafkaFeed(std::string bootstrap);

  // Rows [from, to) into the topic's 8 partitions in turn; comes back when the broker has them.
  void Write(const std::string& topic, uint64_t from, uint64_t to, uint64_t accounts, bool random_note = false);
  // Records that the topic holds now.
  uint64_t Count(const std::string& topic);

 private:
  const std::string bootstrap_;
  const std::unique_ptr<connectors::KafkaClientFactory> factory_;
  const std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  const std::unique_ptr<connectors::KafkaAdmin> admin_;
  SystemClock clock_;
};

// Reads a topic from its end on.
class ArrivalWatch {
 public:
  ArrivalWatch(const std::string& bootstrap, const std::string& topic);
  // Comes back with the first record; false if there was none within `limit`.
  bool AwaitRecord(Duration limit);
  // Records that have come since the last call; does not wait.
  size_t Take();

 private:
  const std::unique_ptr<connectors::KafkaClientFactory> factory_;
  const std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  SystemClock clock_;
  ConditionWakeup wakeup_;
  std::unique_ptr<connectors::KafkaConsumer> consumer_;
};

}  // namespace weir::bench
