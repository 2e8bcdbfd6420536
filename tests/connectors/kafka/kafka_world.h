// One set of test cases for two clusters: the simulated one and a real broker. A world gives clients, lets time pass,
// and does to the cluster what other people do. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/worker.h"
#include "connectors/kafka/client.h"

namespace weir::kafka_test {

struct TestRecord {
  std::optional<std::string> key = {};
  std::optional<std::string> value = {};
  int64_t timestamp_ms = -1;
};

class KafkaWorld {
 public:
  virtual ~KafkaWorld() = default;
  virtual connectors::KafkaClientFactory& factory() = 0;
  virtual connectors::KafkaConnection connection() const = 0;
  virtual connectors::KafkaClientContext context() = 0;
  // Lets a little time pass and everything happen that is due.
  virtual void Wait() = 0;

  virtual Status CreateTopic(const std::string& topic, int partitions) = 0;
  virtual Status DeleteTopic(const std::string& topic) = 0;
  virtual Status AddPartitions(const std::string& topic, int partitions) = 0;
  // Stored when it comes back.
  virtual void Append(const std::string& topic, int32_t partition, const std::vector<TestRecord>& records) = 0;
  virtual uint64_t BeginTransaction() = 0;
  virtual void AppendIn(uint64_t transaction, const std::string& topic, int32_t partition,
                        const std::vector<TestRecord>& records) = 0;
  virtual void EndTransaction(uint64_t transaction, bool commit) = 0;
  virtual void TrimLog(const std::string& topic, int32_t partition, int64_t low) = 0;
  virtual void SetReachable(bool reachable) = 0;
  // Done by somebody else `after` from now, while a call of the port waits. Once a world.
  virtual void Later(Duration after, std::function<void()> deed) = 0;

  // A topic name that no other case has.
  std::string NewName(const std::string& stem);
  // Waits until `done`, at most 30 s; false if that was not enough.
  bool Until(const std::function<bool()>& done);
  std::unique_ptr<connectors::KafkaAdmin> NewAdmin(Duration timeout = std::chrono::seconds(10));
  // One that counts open transactions in.
  std::unique_ptr<connectors::KafkaAdmin> NewUncommittedAdmin(Duration timeout = std::chrono::seconds(10));
  // The next offset of each partition as read_committed has it. The coordinator answers a commit before it has told the
  // partitions: such transactions are waited for, others (of a dead or frozen producer) for 5 s and no longer.
  std::vector<int64_t> CommittedEnds(std::span<const connectors::TopicPartition> partitions);
  void AppendValues(const std::string& topic, int32_t partition, const std::vector<std::string>& values);
};

std::unique_ptr<KafkaWorld> NewSimWorld(uint64_t seed = 1);
// On SharedKafkaBroker().
std::unique_ptr<KafkaWorld> NewRealWorld();

}  // namespace weir::kafka_test
