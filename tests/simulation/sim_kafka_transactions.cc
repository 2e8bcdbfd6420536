#include "tests/simulation/sim_kafka_transactions.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "base/check.h"

namespace weir::simulation {

using connectors::KafkaTransactionOptions;
using connectors::ProduceRow;
using connectors::TopicPartition;

namespace {

constexpr Duration kTransactionTimeoutMax = std::chrono::minutes(15);
constexpr Duration kLinger = std::chrono::milliseconds(20);
constexpr Duration kLateMax = std::chrono::seconds(2);

Status Fenced(const std::string& id) {
  return Status::Fenced("transactional id " + id +
                        ": a newer producer has it, or the broker has ended the transaction, whose time was over");
}

Status Unreached(const std::string& address, Duration timeout) {
  return Status::Unavailable("Kafka at " + address + ": no answer within " +
                             std::to_string(timeout.count() / 1'000'000) + " ms");
}

}  // namespace

Result<uint64_t> SimKafka::InitProducer(const std::string& id, Duration transaction_timeout) {
  if (transaction_timeout > kTransactionTimeoutMax) {
    return Error(
        Status::InvalidArgument("transactional id " + id + ": the broker refuses a transaction timeout above 900 s"));
  }
  TransactionalId& state = transactional_ids_[id];
  End(state, false);
  state.timeout = transaction_timeout;
  return ++state.epoch;
}

Status SimKafka::AppendAs(const std::string& id, uint64_t epoch, const TopicPartition& partition, SimRecord record) {
  TransactionalId& state = transactional_ids_[id];
  if (state.epoch != epoch) return Fenced(id);
  if (FindOrNull(partition) == nullptr) {
    return Status::NotFound(partition.ToString() + ": unknown topic or partition");
  }
  const std::map<std::string, std::string>& config = topics_[partition.topic].config;
  const size_t size = record.key.value_or("").size() + record.value.value_or("").size();
  if (const auto limit = config.find("max.message.bytes"); limit != config.end() && size > std::stoull(limit->second)) {
    return Status::InvalidArgument("topic " + partition.topic + ": the row with key \"" + record.key.value_or("") +
                                   "\" is " + std::to_string(size) + " bytes; the limit is the topic's " +
                                   limit->second);
  }
  if (state.open == 0) {
    state.open = BeginTransaction();
    state.timeout_event = Schedule(state.timeout, [this, &state] {
      EndTransaction(std::exchange(state.open, 0), false);
      ++state.epoch;
    });
  }
  AppendIn(state.open, partition.topic, partition.partition, std::move(record));
  return {};
}

Status SimKafka::EndAs(const std::string& id, uint64_t epoch, bool commit) {
  TransactionalId& state = transactional_ids_[id];
  if (state.epoch != epoch) return Fenced(id);
  End(state, commit);
  return {};
}

bool SimKafka::HasOpenTransaction(const std::string& id) const {
  const auto found = transactional_ids_.find(id);
  return found != transactional_ids_.end() && found->second.open != 0;
}

void SimKafka::End(TransactionalId& id, bool commit) {
  if (id.open == 0) return;
  std::set<std::string> topics;
  for (const TopicPartition& partition : transaction_partitions_[id.open]) topics.insert(partition.topic);
  events_.erase(id.timeout_event);
  EndTransaction(std::exchange(id.open, 0), commit);
  if (faults_.compact_one_in == 0) return;
  for (const std::string& topic : topics) {
    if (random_->OneIn(faults_.compact_one_in)) Compact(topic);
  }
}

// Rows wait in the client for a while, at the latest until Commit. Those that wait when the client dies may
// reach the broker all the same, as may a commit of which the client has heard nothing.
class SimTransactionalProducer final : public connectors::KafkaTransactionalProducer {
 public:
  SimTransactionalProducer(SimKafka& broker, std::string address, KafkaTransactionOptions options)
      : broker_(broker), address_(std::move(address)), options_(std::move(options)) {}
  ~SimTransactionalProducer() override {
    if (!open_ || queue_.empty() || !broker_.random_->OneIn(2)) return;
    broker_.Schedule(broker_.DrawLatency(),
                     [&broker = broker_, id = options_.transactional_id, epoch = epoch_, rows = std::move(queue_)] {
                       for (const Row& row : rows) {
                         if (!broker.reachable_ || !broker.AppendAs(id, epoch, row.partition, row.record).ok()) return;
                       }
                     });
  }
  SimTransactionalProducer(const SimTransactionalProducer&) = delete;
  SimTransactionalProducer& operator=(const SimTransactionalProducer&) = delete;

  Status Init() override {
    if (!Reach()) return Fail(Unreached(address_, options_.request_timeout));
    const Result<uint64_t> epoch = broker_.InitProducer(options_.transactional_id, options_.transaction_timeout);
    if (!epoch.has_value()) return Fail(epoch.error());
    epoch_ = *epoch;
    return {};
  }

  Status Begin() override {
    if (!error_.ok()) return error_;
    if (epoch_ == 0) return Fail(Status::Internal("Begin before Init"));
    if (open_) return Status::FailedPrecondition("a transaction is open already");
    open_ = true;
    has_rows_ = false;
    return {};
  }

  Status Produce(const std::string& topic, std::span<const ProduceRow> rows) override {
    if (!error_.ok()) return error_;
    if (!open_) return Status::FailedPrecondition("no transaction is open");
    if (!topics_.contains(topic)) {
      if (!Reach()) return Fail(Unreached(address_, options_.request_timeout));
      if (broker_.FindTopic(topic) == nullptr) {
        return Fail(Status::NotFound("Kafka at " + address_ + ": topic " + topic + " does not exist"));
      }
      topics_.insert(topic);
    }
    for (const ProduceRow& row : rows) WEIR_RETURN_IF_ERROR(Enqueue(topic, row));
    if (broker_.random_->OneIn(2)) return Send();
    broker_.Schedule(kLinger, [alive = std::weak_ptr(alive_)] {
      if (const auto producer = alive.lock()) (void)(*producer)->Send();
    });
    return {};
  }

  Status Commit() override {
    if (!error_.ok()) return error_;
    if (!open_) return Status::FailedPrecondition("no transaction is open");
    if (!has_rows_) return End(true);
    undecided_ = true;
    if (!Reach()) return Fail(Unreached(address_, options_.request_timeout));
    WEIR_RETURN_IF_ERROR(Send());
    if (broker_.faults_.unknown_commit_one_in != 0 && broker_.random_->OneIn(broker_.faults_.unknown_commit_one_in)) {
      LoseCommit();
      return Fail(Unreached(address_, options_.request_timeout));
    }
    return End(true);
  }

  Status Abort() override {
    if (!open_) return {};
    if (undecided_) return error_;
    queue_.clear();
    if (has_rows_ && !Reach()) return Fail(Unreached(address_, options_.request_timeout));
    return End(false);
  }

 private:
  struct Row {
    TopicPartition partition;
    SimRecord record;
  };

  // Waits for a cluster that can't be reached.
  bool Reach() {
    return broker_.Await(broker_.clock_.Now() + options_.request_timeout, [this] { return broker_.reachable_; });
  }

  // The coordinator hears of transactions that have rows, of no others.
  Status End(bool commit) {
    const Status status = has_rows_ ? broker_.EndAs(options_.transactional_id, epoch_, commit) : Status();
    if (!status.ok()) return Fail(status);
    open_ = false;
    undecided_ = false;
    return {};
  }

  Status Fail(Status status) {
    if (error_.ok()) error_ = std::move(status);
    return error_;
  }

  Status Enqueue(const std::string& topic, const ProduceRow& row) {
    Result<SimRecord> record = NewSimRecord(topic, row);
    if (!record.has_value()) return Fail(record.error());
    if (queue_.size() >= broker_.faults_.queue_records_max) {
      const bool reached = Reach();
      WEIR_RETURN_IF_ERROR(Send());
      if (!reached) return Fail(Unreached(address_, options_.request_timeout));
    }
    const Result<int32_t> partition = broker_.ChoosePartition(topic, row.partition, record->key);
    if (!partition.has_value()) return Fail(partition.error());
    queue_.push_back({{topic, *partition}, std::move(*record)});
    has_rows_ = true;
    return {};
  }

  // All that waits, unless the cluster can't be reached now.
  Status Send() {
    if (!broker_.reachable_) return {};
    for (; !queue_.empty(); queue_.pop_front()) {
      Row& row = queue_.front();
      const Status status = broker_.AppendAs(options_.transactional_id, epoch_, row.partition, row.record);
      if (status.ok()) continue;
      undecided_ = false;
      return Fail(status);
    }
    return {};
  }

  // The request never comes, or the answer, or the request comes when nobody waits for it any more.
  void LoseCommit() {
    const uint64_t fate = broker_.random_->Below(3);
    if (fate == 1) (void)broker_.EndAs(options_.transactional_id, epoch_, true);
    if (fate != 2) return;
    const Duration late(static_cast<int64_t>(broker_.random_->Below(static_cast<uint64_t>(kLateMax.count()))));
    const uint64_t transaction = broker_.transactional_ids_[options_.transactional_id].open;
    broker_.Schedule(late, [&broker = broker_, id = options_.transactional_id, epoch = epoch_, transaction] {
      if (broker.transactional_ids_[id].open == transaction) (void)broker.EndAs(id, epoch, true);
    });
  }

  SimKafka& broker_;
  const std::string address_;
  const KafkaTransactionOptions options_;
  uint64_t epoch_ = 0;
  bool open_ = false;
  bool has_rows_ = false;
  bool undecided_ = false;  // a commit was asked for and may still be under way
  Status error_;
  std::set<std::string> topics_;
  std::deque<Row> queue_;
  const std::shared_ptr<SimTransactionalProducer*> alive_ = std::make_shared<SimTransactionalProducer*>(this);
};

class SimMarkerReader final : public connectors::KafkaMarkerReader {
 public:
  SimMarkerReader(SimKafka& broker, std::string address, Duration timeout)
      : broker_(broker), address_(std::move(address)), timeout_(timeout) {}

  Result<std::string> ClusterId() override {
    if (!Reach()) return Error(Unreached(address_, timeout_));
    return broker_.cluster_id_;
  }

  Result<std::optional<std::string>> TopicConfig(const std::string& topic, const std::string& name) override {
    if (!Reach()) return Error(Unreached(address_, timeout_));
    const SimKafka::Topic* found = broker_.FindTopic(topic);
    if (found == nullptr) return Error(Missing("topic " + topic));
    const auto value = found->config.find(name);
    return value == found->config.end() ? std::nullopt : std::optional(value->second);
  }

  Result<std::optional<std::string>> NewestValue(const TopicPartition& name, const std::string& key,
                                                 connectors::KafkaReadUpTo up_to) override {
    if (!Reach()) return Error(Unreached(address_, timeout_));
    const SimKafka::Partition* partition = broker_.FindOrNull(name);
    if (partition == nullptr) return Error(Missing(name.ToString()));
    const bool stable = up_to == connectors::KafkaReadUpTo::kLastStable;
    const int64_t end = stable ? partition->last_stable() : partition->next;
    const bool decided = broker_.Await(broker_.clock_.Now() + timeout_, [&] {
      partition = broker_.FindOrNull(name);
      return partition == nullptr || (broker_.reachable_ && partition->last_stable() >= end);
    });
    if (!decided) return Error(Unreached(address_, timeout_).WithContext("read " + name.ToString()));
    if (partition == nullptr) return Error(Missing(name.ToString()));
    for (const std::shared_ptr<SimKafka::Entry>& entry : partition->log | std::views::reverse) {
      if (entry->offset >= end || entry->control || entry->aborted || entry->record.key != key) continue;
      return entry->record.value;
    }
    return std::nullopt;
  }

 private:
  bool Reach() {
    return broker_.Await(broker_.clock_.Now() + timeout_, [this] { return broker_.reachable_; });
  }
  Status Missing(const std::string& what) const {
    return Status::NotFound("Kafka at " + address_ + ": " + what + " does not exist");
  }

  SimKafka& broker_;
  const std::string address_;
  const Duration timeout_;
};

std::unique_ptr<connectors::KafkaTransactionalProducer> NewSimTransactionalProducer(
    SimKafka& broker, const std::string& address, const KafkaTransactionOptions& options) {
  return std::make_unique<SimTransactionalProducer>(broker, address, options);
}

std::unique_ptr<connectors::KafkaMarkerReader> NewSimMarkerReader(SimKafka& broker, const std::string& address,
                                                                  Duration timeout) {
  return std::make_unique<SimMarkerReader>(broker, address, timeout);
}

}  // namespace weir::simulation
