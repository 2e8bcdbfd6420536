// A Kafka cluster inside this process: librdkafka's mock, on a random loopback port. For the demo and for tests that
// need no more. It keeps 5 MiB a partition, hides nothing of an aborted transaction, answers no start by timestamp and
// forgets everything with the process. Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace weir::connectors {

class MockCluster {
 public:
  static Result<std::unique_ptr<MockCluster>> Start(int brokers = 1);
  virtual ~MockCluster() = default;
  // "127.0.0.1:<port>[,...]", for this and other processes.
  virtual std::string bootstrap_servers() const = 0;
  // AlreadyExists if it is there; asking the cluster for an unknown topic makes one with 4 partitions.
  virtual Status CreateTopic(const std::string& topic, int partitions) = 0;
};

}  // namespace weir::connectors
