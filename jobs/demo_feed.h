// The demo's changefeed: writes orders into a topic at a steady rate, with resolved messages once a second, and adds up
// what the job must come to. The main thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker.h"
#include "connectors/generator/orders.h"
#include "connectors/kafka/client.h"

namespace weir::jobs {

struct DemoTotal {
  uint64_t orders = 0;
  int64_t cents = 0;
};

class DemoFeed {
 public:
  // `rows` in all, spread over `duration`. The topic has `options.splits` partitions.
  DemoFeed(connectors::OrdersOptions options, std::string topic, uint64_t rows, Duration duration);

  Status Open(connectors::KafkaClientFactory& factory, const std::string& bootstrap_servers, const Clock& clock,
              WorkerFactory& workers);
  // Writes what is due and has room, and never waits; call it some twenty times a second.
  Status Step();
  uint64_t written() const { return written_; }
  bool done() const { return written_ == rows_; }
  // Everything is stored by the cluster.
  bool acknowledged();

  // By customer, of the orders that are not returned; straight from the rows.
  const std::vector<DemoTotal>& totals() const { return totals_; }
  uint64_t kept() const { return kept_; }

 private:
  Status Write(uint64_t upto);
  Status WriteResolved();
  // False: the producer is full.
  Result<bool> Produce(const std::string& key, const std::string& value, uint32_t partition);

  const connectors::OrdersOptions options_;
  const std::string topic_;
  const uint64_t rows_;
  const Duration duration_;
  const Clock* clock_ = nullptr;
  NoWakeup wakeup_;
  std::unique_ptr<connectors::KafkaProducer> producer_;
  MonotonicTime begin_;
  MonotonicTime last_resolved_;
  uint64_t written_ = 0;
  uint64_t kept_ = 0;
  std::vector<DemoTotal> totals_;
};

}  // namespace weir::jobs
