// A Kafka cluster and its clients without a network: the simulated twin of connectors/kafka/rdkafka_client.h. The
// broker (SimKafka) outlives the simulated process; clients die with it, while their requests may still be under way
// and reach the broker afterwards, which is how a produce comes to have an unknown outcome. Everything runs on the
// thread of the schedule; what takes time waits in the broker's event queue until the clock has come there. Same seed,
// same course.
//
// Modelled: offsets with gaps (control records, aborted data), the last stable offset, latency, lost requests and lost
// acknowledgements (repeated by the client, stored once), retention, growth, deletion and re-creation of topics, an
// unreachable broker, group offsets. Not modelled: replication, leader changes, compaction, the transactional producer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "connectors/kafka/client.h"

namespace weir::simulation {

struct SimKafkaFaults {
  Duration latency_max = std::chrono::milliseconds(5);  // drawn for each request and answer
  uint64_t lost_one_in = 0;                             // requests and answers that get lost; 0: none
  size_t fetch_records_max = 1024;                      // drawn up to this for each fetch
  size_t queue_records_max = 1000;                      // of a producer
};

struct SimRecord {
  std::optional<std::string> key = {};
  std::optional<std::string> value = {};
  int64_t timestamp_ms = -1;  // -1: the clock's
};

class SimKafka {
 public:
  struct Entry {
    int64_t offset = 0;
    SimRecord record;
    bool control = false;
    bool aborted = false;
    MonotonicTime visible_at;
  };
  struct Partition {
    std::deque<std::shared_ptr<Entry>> log;
    int64_t low = 0;
    int64_t next = 0;
    std::map<uint64_t, int64_t> open_transactions;  // id -> first offset
    // Where a reader of committed data must stop.
    int64_t last_stable() const;
  };
  struct Topic {
    uint64_t incarnation = 0;
    std::vector<Partition> partitions;
  };

  SimKafka(const Clock& clock, std::unique_ptr<Random> random) : clock_(clock), random_(std::move(random)) {}

  // The clients of one simulated process; does not outlive the broker.
  std::unique_ptr<connectors::KafkaClientFactory> NewClientFactory();

  // What the schedule drives: the next moment at which something happens, and making all happen that is due.
  std::optional<MonotonicTime> NextEvent() const;
  void RunDue();

  // What other people do to the cluster.
  Status CreateTopic(const std::string& name, int32_t partitions);
  Status DeleteTopic(const std::string& name);
  Status AddPartitions(const std::string& name, int32_t partitions);
  void Append(const std::string& topic, int32_t partition, SimRecord record);
  uint64_t BeginTransaction() { return ++last_transaction_; }
  void AppendIn(uint64_t transaction, const std::string& topic, int32_t partition, SimRecord record);
  void EndTransaction(uint64_t transaction, bool commit);
  // Retention: records before `low` are gone.
  void TrimLog(const std::string& topic, int32_t partition, int64_t low);
  void SetReachable(bool reachable);
  void SetFaults(const SimKafkaFaults& faults) { faults_ = faults; }

  // For oracles: what a committed reader would see, in order.
  std::vector<SimRecord> Committed(const std::string& topic, int32_t partition) const;
  const Topic* FindTopic(const std::string& name) const;
  // The newest commit of each partition, whatever the group; and how many commits there were.
  std::map<connectors::TopicPartition, int64_t> AcknowledgedOffsets() const;
  uint64_t group_commits() const { return group_commits_; }

 private:
  friend class SimKafkaClients;

  Partition& Find(const std::string& topic, int32_t partition);
  void Store(Partition& partition, SimRecord record, bool control, uint64_t transaction);
  Duration DrawLatency();
  bool DrawLoss();
  void Schedule(Duration after, std::function<void()> event);
  // Wakes every consumer `after` from now.
  void WakeConsumers(Duration after);

  const Clock& clock_;
  std::unique_ptr<Random> random_;
  SimKafkaFaults faults_;
  std::map<std::string, Topic> topics_;
  std::map<std::string, std::map<connectors::TopicPartition, int64_t>> group_offsets_;
  std::map<uint64_t, std::vector<std::shared_ptr<Entry>>> transaction_entries_;
  std::map<uint64_t, std::set<connectors::TopicPartition>> transaction_partitions_;
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> events_;  // by time, then by order of scheduling
  std::map<uint64_t, Wakeup*> consumers_;                                 // alive ones by number
  uint64_t group_commits_ = 0;
  uint64_t last_number_ = 0;
  uint64_t last_transaction_ = 0;
  uint64_t last_incarnation_ = 0;
  bool reachable_ = true;
};

// The partition that Kafka's clients choose for a key.
int32_t Murmur2Partition(std::string_view key, int32_t partitions);

}  // namespace weir::simulation
