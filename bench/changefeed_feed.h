// A changefeed of two tables in topics of a real broker: parents and children that refer to them, at random keys, as
// CockroachDB sends it (wrapped JSON, 32-bit FNV-1a of the key decides the partition). What refers to something comes
// behind it in source time, not in the order of partitions. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/worker.h"
#include "bench/kafka_feed.h"
#include "connectors/kafka/client.h"

namespace weir::bench {

class ChangefeedFeed {
 public:
  static constexpr int kPartitionsOfTopic = 5;

  // Topics <prefix>parent and <prefix>child, which exist. Every parent and child has one of so many ids.
  ChangefeedFeed(const std::string& bootstrap, std::string prefix, size_t parents, size_t children);

  // Rows, each a microsecond of source time later; they are under way when it comes back.
  void AddRows(uint64_t count);
  // All rows so far have been told, on every partition of both topics.
  void Resolve();
  // The broker has all of it.
  void Await();
  // Rows with a Resolve behind each `resolved_rows` of them, and Await.
  void Write(uint64_t rows, uint64_t resolved_rows);

  // Source time of the newest row.
  int64_t newest_ns() const { return newest_ns_; }
  // "<rows>|<sum of value>" of parents and children, as one row of SQL gives it: "p|sum|c|sum".
  std::string Expected() const;

 private:
  struct Topic {
    std::string name;
    std::vector<std::string> keys, values;
    std::vector<int32_t> partitions;
  };
  struct Child {
    int64_t value = -1;  // there is none
    size_t parent = 0;
  };

  void AddRow();
  void PutParent(size_t id);
  void PutChild(size_t id, size_t parent);
  void DeleteChild(size_t id);
  void Add(Topic& topic, size_t id, const std::string& after);
  void Send(Topic& topic);
  void Produce(const std::string& topic, const std::vector<connectors::ProduceRow>& rows);

  const std::unique_ptr<connectors::KafkaClientFactory> factory_;
  const std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  SystemClock clock_;
  ConditionWakeup wakeup_;
  std::unique_ptr<connectors::KafkaProducer> producer_;
  Topic parent_topic_, child_topic_;
  SeededRandom random_{1};
  const std::string note_ = std::string(100, 'n');
  int64_t newest_ns_ = 1'700'000'000'000'000'000;
  int64_t newest_value_ = 0;          // small: they are summed up
  std::vector<int64_t> parents_;      // the value; -1: there is none
  std::vector<uint32_t> references_;  // children of each parent
  std::vector<Child> children_;
};

}  // namespace weir::bench
