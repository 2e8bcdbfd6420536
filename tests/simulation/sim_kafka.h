// A Kafka cluster and its clients without a network: the simulated twin of connectors/kafka/rdkafka_client.h. The
// broker (SimKafka) outlives the simulated process; clients die with it, while their requests may still be under way
// and reach the broker afterwards, which is how a produce comes to have an unknown outcome. Everything runs on the
// thread of the schedule; what takes time waits in the broker's event queue until the clock has come there. Same seed,
// same course.
//
// Modelled: offsets with gaps (control records, aborted data), the last stable offset, latency, lost requests and lost
// acknowledgements (repeated by the client, stored once), retention, growth, deletion and re-creation of topics, an
// unreachable broker, group offsets, compaction, transactional producers with epochs and timeouts, commits of which the
// client never hears. Not modelled: replication, leader changes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
  uint64_t unknown_commit_one_in = 0;                   // commits whose outcome the client does not hear; 0: none
  uint64_t compact_one_in = 0;  // ends of transactions that have their topics compacted; 0: none
};

struct SimRecord {
  std::optional<std::string> key = {};
  std::optional<std::string> value = {};
  int64_t timestamp_ms = -1;  // -1: the clock's
  std::vector<std::pair<std::string, std::string>> headers = {};
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
    std::map<std::string, std::string> config;
  };
  using Config = std::vector<std::pair<std::string, std::string>>;  // {"cleanup.policy", "compact"}

  SimKafka(const Clock& clock, std::unique_ptr<Random> random)
      : clock_(clock), random_(std::move(random)), cluster_id_(random_->Split("cluster")->NextId().ToString()) {}

  // The clients of one simulated process; does not outlive the broker.
  std::unique_ptr<connectors::KafkaClientFactory> NewClientFactory();

  // What the schedule drives: the next moment at which something happens, and making all happen that is due.
  std::optional<MonotonicTime> NextEvent() const;
  void RunDue();
  // How a client's call that waits lets time pass: `pass` moves the clock, at most to the time given, and runs nothing
  // of the process. Without it such a call is at the end of its patience at once.
  void SetPassTime(std::function<void(MonotonicTime)> pass) { pass_time_ = std::move(pass); }

  // What other people do to the cluster.
  Status CreateTopic(const std::string& name, int32_t partitions, const Config& config = {});
  Status DeleteTopic(const std::string& name);
  Status AddPartitions(const std::string& name, int32_t partitions);
  void Append(const std::string& topic, int32_t partition, SimRecord record);
  uint64_t BeginTransaction() { return ++last_transaction_; }
  void AppendIn(uint64_t transaction, const std::string& topic, int32_t partition, SimRecord record);
  void EndTransaction(uint64_t transaction, bool commit);
  // What the cleaner does to a topic of cleanup.policy=compact: of the decided records the newest under each key stay,
  // and the last of each partition.
  void Compact(const std::string& topic);
  // Retention: records before `low` are gone.
  void TrimLog(const std::string& topic, int32_t partition, int64_t low);
  void SetReachable(bool reachable);
  void SetFaults(const SimKafkaFaults& faults) { faults_ = faults; }

  // The transaction coordinator, by transactional id. Init makes a new epoch, ends what is open and returns the epoch;
  // whoever comes with an older one is fenced. An open transaction whose time is over is aborted, and its epoch is
  // over.
  Result<uint64_t> InitProducer(const std::string& id, Duration transaction_timeout);
  Status AppendAs(const std::string& id, uint64_t epoch, const connectors::TopicPartition& partition, SimRecord record);
  Status EndAs(const std::string& id, uint64_t epoch, bool commit);
  bool HasOpenTransaction(const std::string& id) const;

  // For oracles: what a committed reader would see, in order.
  std::vector<SimRecord> Committed(const std::string& topic, int32_t partition) const;
  const Topic* FindTopic(const std::string& name) const;
  // The newest commit of each partition, whatever the group; and how many commits there were.
  std::map<connectors::TopicPartition, int64_t> AcknowledgedOffsets() const;
  uint64_t group_commits() const { return group_commits_; }

 private:
  friend class SimKafkaClients;
  friend class SimTransactionalProducer;
  friend class SimMarkerReader;

  using EventId = std::pair<int64_t, uint64_t>;  // by time, then by order of scheduling
  struct TransactionalId {
    uint64_t epoch = 0;
    Duration timeout = {};
    uint64_t open = 0;  // number of its transaction at the broker; 0: none
    EventId timeout_event;
  };

  void End(TransactionalId& id, bool commit);
  // The partition for a row that names one or has it chosen by its key; NotFound.
  Result<int32_t> ChoosePartition(const std::string& topic, int32_t given, const std::optional<std::string>& key);
  // Lets time pass until `done`; false if `limit` was over before.
  bool Await(MonotonicTime limit, const std::function<bool()>& done);
  Partition* FindOrNull(const connectors::TopicPartition& name);
  Partition& Find(const std::string& topic, int32_t partition);
  void Store(Partition& partition, SimRecord record, bool control, uint64_t transaction);
  Duration DrawLatency();
  bool DrawLoss();
  EventId Schedule(Duration after, std::function<void()> event);
  // Wakes every consumer `after` from now.
  void WakeConsumers(Duration after);

  const Clock& clock_;
  std::unique_ptr<Random> random_;
  const std::string cluster_id_;
  std::function<void(MonotonicTime)> pass_time_;
  SimKafkaFaults faults_;
  std::map<std::string, Topic> topics_;
  std::map<std::string, std::map<connectors::TopicPartition, int64_t>> group_offsets_;
  std::map<uint64_t, std::vector<std::shared_ptr<Entry>>> transaction_entries_;
  std::map<uint64_t, std::set<connectors::TopicPartition>> transaction_partitions_;
  std::map<std::string, TransactionalId> transactional_ids_;
  std::map<EventId, std::function<void()>> events_;
  std::map<uint64_t, Wakeup*> consumers_;  // alive ones by number
  uint64_t group_commits_ = 0;
  uint64_t last_number_ = 0;
  uint64_t last_transaction_ = 0;
  uint64_t last_incarnation_ = 0;
  bool reachable_ = true;
};

// What a client makes of a row; InvalidArgument: it is too large.
Result<SimRecord> NewSimRecord(const std::string& topic, const connectors::ProduceRow& row);

// The partition that Kafka's clients choose for a key.
int32_t Murmur2Partition(std::string_view key, int32_t partitions);

}  // namespace weir::simulation
