// The client side of the simulated Kafka. A client is reached from the broker's events through its liveness token only,
// so that an event of a dead process finds nobody.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "connectors/kafka/group_consumer.h"
#include "tests/simulation/sim_kafka.h"
#include "tests/simulation/sim_kafka_transactions.h"

namespace weir::simulation {

using connectors::FetchedBlock;
using connectors::KafkaAdmin;
using connectors::KafkaClientContext;
using connectors::KafkaConnection;
using connectors::KafkaConsumer;
using connectors::KafkaHeader;
using connectors::KafkaProducer;
using connectors::KafkaRecord;
using connectors::KafkaRole;
using connectors::PartitionStart;
using connectors::ProduceProgress;
using connectors::ProduceRow;
using connectors::TopicMetadata;
using connectors::TopicPartition;
using connectors::Watermarks;

namespace {

constexpr Duration kRetryAfter = std::chrono::milliseconds(100);

std::string Describe(const TopicPartition& partition) {
  return "topic " + partition.topic + " partition " + std::to_string(partition.partition);
}

// A view without data for what is not there; data for what is there and empty.
std::string_view View(const std::optional<std::string>& text) {
  return text.has_value() ? std::string_view(*text) : std::string_view();
}

class SimBlock final : public FetchedBlock {
 public:
  void Add(std::shared_ptr<const SimKafka::Entry> entry, uint32_t partition) {
    records_.push_back(
        {partition, entry->offset, entry->record.timestamp_ms, View(entry->record.key), View(entry->record.value)});
    entries_.push_back(std::move(entry));
  }
  std::vector<KafkaHeader> Headers(size_t record) const override {
    std::vector<KafkaHeader> headers;
    for (const auto& [name, value] : entries_[record]->record.headers) headers.push_back({name, value});
    return headers;
  }

 private:
  std::vector<std::shared_ptr<const SimKafka::Entry>> entries_;
};

}  // namespace

// All that a process has of the cluster. A friend of the broker, so that the clients need no access of their own.
class SimKafkaClients final : public connectors::KafkaClientFactory {
 public:
  explicit SimKafkaClients(SimKafka& broker) : broker_(broker) {}
  Status CheckProperty(KafkaRole, const std::string& name, const std::string&) override {
    if (name.find('.') != std::string::npos) return {};
    return Status::InvalidArgument("property \"" + name + "\" is not known to this Kafka client");
  }
  Result<std::unique_ptr<KafkaConsumer>> NewConsumer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override;
  Result<std::unique_ptr<connectors::KafkaGroupConsumer>> NewGroupConsumer(const KafkaConnection&,
                                                                           const connectors::KafkaGroupMembership&,
                                                                           const KafkaClientContext&) override {
    return Error(Status::FailedPrecondition("the simulated cluster has no groups"));
  }
  Result<std::unique_ptr<KafkaProducer>> NewProducer(const KafkaConnection& connection,
                                                     const KafkaClientContext& context) override;
  Result<std::unique_ptr<KafkaAdmin>> NewAdmin(const KafkaConnection& connection, Duration timeout) override;
  Result<std::unique_ptr<connectors::KafkaTransactionalProducer>> NewTransactionalProducer(
      const KafkaConnection& connection, const connectors::KafkaTransactionOptions& options, const Clock&) override {
    return NewSimTransactionalProducer(broker_, connection.bootstrap_servers, options);
  }
  Result<std::unique_ptr<connectors::KafkaMarkerReader>> NewMarkerReader(const KafkaConnection& connection,
                                                                         Duration timeout, const Clock&) override {
    return NewSimMarkerReader(broker_, connection.bootstrap_servers, timeout);
  }

 private:
  class Consumer;
  class Producer;
  class Admin;
  SimKafka& broker_;
};

class SimKafkaClients::Consumer final : public KafkaConsumer {
 public:
  Consumer(SimKafka& broker, const KafkaClientContext& context, bool committed)
      : broker_(broker), context_(context), committed_(committed), number_(++broker.last_number_) {
    broker_.consumers_[number_] = context.wakeup;
  }
  ~Consumer() override { broker_.consumers_.erase(number_); }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  Status Assign(std::span<const PartitionStart> starts) override {
    for (const PartitionStart& start : starts) {
      for (const Assigned& one : assigned_) {
        if (one.name == start.partition)
          return Status::AlreadyExists(start.partition.ToString() + " is assigned already");
      }
      assigned_.push_back({start.partition, start.offset, false});
    }
    if (!starts.empty()) broker_.WakeConsumers(broker_.DrawLatency());
    return {};
  }

  Result<std::unique_ptr<FetchedBlock>> Fetch() override {
    if (!broker_.reachable_ || assigned_.empty()) return nullptr;
    if (broker_.DrawLoss()) {
      broker_.WakeConsumers(kRetryAfter);
      return nullptr;
    }
    size_t room = 1 + broker_.random_->Below(broker_.faults_.fetch_records_max);
    auto block = std::make_unique<SimBlock>();
    bool moved = false;
    const size_t first = broker_.random_->Below(assigned_.size());
    for (size_t i = 0; i < assigned_.size() && room > 0; ++i) {
      const size_t index = (first + i) % assigned_.size();
      if (assigned_[index].paused) continue;
      const int64_t before = assigned_[index].position;
      WEIR_RETURN_IF_ERROR(FetchPartition(static_cast<uint32_t>(index), room, *block));
      moved = moved || assigned_[index].position != before;
    }
    if (!moved) return nullptr;
    return block;
  }

  int64_t Position(uint32_t partition) const override { return assigned_[partition].position; }
  int64_t HighWatermark(uint32_t partition) const override {
    const SimKafka::Partition* found = FindPartition(assigned_[partition].name);
    return found == nullptr ? -1 : found->next;
  }
  Status Pause(uint32_t partition) override {
    assigned_[partition].paused = true;
    return {};
  }
  Status Resume(uint32_t partition) override {
    assigned_[partition].paused = false;
    broker_.WakeConsumers(Duration::zero());
    return {};
  }
  Status Seek(uint32_t partition, int64_t offset) override {
    assigned_[partition].position = offset;
    broker_.WakeConsumers(broker_.DrawLatency());
    return {};
  }

 private:
  struct Assigned {
    TopicPartition name;
    int64_t position = 0;
    bool paused = false;
  };

  const SimKafka::Partition* FindPartition(const TopicPartition& name) const {
    const SimKafka::Topic* topic = broker_.FindTopic(name.topic);
    const auto index = static_cast<size_t>(name.partition);
    return topic == nullptr || index >= topic->partitions.size() ? nullptr : &topic->partitions[index];
  }

  Status FetchPartition(uint32_t index, size_t& room, SimBlock& block) {
    Assigned& assigned = assigned_[index];
    const SimKafka::Partition* partition = FindPartition(assigned.name);
    if (partition == nullptr) return Status::NotFound(Describe(assigned.name) + " does not exist (any more)");
    if (assigned.position < partition->low || assigned.position > partition->next) {
      return Status::FailedPrecondition(Describe(assigned.name) + ": offset " + std::to_string(assigned.position) +
                                        " is not in the log any more, which goes from " +
                                        std::to_string(partition->low) + " to " + std::to_string(partition->next));
    }
    const int64_t end = committed_ ? partition->last_stable() : partition->next;
    const auto at = std::ranges::lower_bound(partition->log, assigned.position, {},
                                             [](const std::shared_ptr<SimKafka::Entry>& e) { return e->offset; });
    for (auto entry = at; entry != partition->log.end() && room > 0; ++entry) {
      if ((*entry)->offset >= end || (*entry)->visible_at > context_.clock->Now()) break;
      assigned.position = (*entry)->offset + 1;
      if ((*entry)->control || (committed_ && (*entry)->aborted)) continue;
      block.Add(*entry, index);
      --room;
    }
    return {};
  }

  SimKafka& broker_;
  const KafkaClientContext context_;
  const bool committed_;
  const uint64_t number_;
  std::vector<Assigned> assigned_;
};

// One request is under way at a time and is repeated until its answer has come; the broker stores a request once.
class SimKafkaClients::Producer final : public KafkaProducer {
 public:
  Producer(SimKafka& broker, const KafkaClientContext& context)
      : broker_(broker), context_(context), alive_(std::make_shared<Producer*>(this)) {}

  Result<size_t> Produce(const std::string& topic, std::span<const ProduceRow> rows) override {
    if (!progress_.error.ok()) return Error(progress_.error);
    size_t taken = 0;
    for (const ProduceRow& row : rows) {
      Result<SimRecord> record = NewSimRecord(topic, row);
      if (!record.has_value()) {
        progress_.error = record.error();
        return Error(progress_.error);
      }
      if (in_flight() >= broker_.faults_.queue_records_max) break;
      queue_.push_back({topic, row.partition, std::move(*record)});
      ++progress_.accepted;
      ++taken;
    }
    full_ = taken < rows.size();
    Send();
    return taken;
  }
  const ProduceProgress& Progress() override { return progress_; }
  bool HasRoom() const override { return !full_ || in_flight() < broker_.faults_.queue_records_max / 2; }
  void Flush() override { Send(); }

 private:
  struct Row {
    std::string topic;
    int32_t partition = -1;
    SimRecord record;
  };
  struct Request {
    std::vector<Row> rows;
    bool stored = false;
    Status outcome;
  };

  size_t in_flight() const { return progress_.accepted - progress_.acknowledged; }

  void Send() {
    if (request_ != nullptr || queue_.empty() || !progress_.error.ok()) return;
    request_ = std::make_shared<Request>();
    request_->rows.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    queue_.clear();
    Attempt(broker_, request_, alive_);
  }

  static void Attempt(SimKafka& broker, const std::shared_ptr<Request>& request,
                      const std::weak_ptr<Producer*>& alive) {
    broker.Schedule(broker.DrawLatency(), [&broker, request, alive] {
      const bool lost = !broker.reachable_ || broker.DrawLoss();
      if (!lost && !std::exchange(request->stored, true)) request->outcome = Store(broker, request->rows);
      if (alive.expired()) return;
      if (lost || broker.DrawLoss()) {
        broker.Schedule(kRetryAfter, [&broker, request, alive] {
          if (!alive.expired()) Attempt(broker, request, alive);
        });
        return;
      }
      broker.Schedule(broker.DrawLatency(), [request, alive] {
        if (const std::shared_ptr<Producer*> producer = alive.lock()) (*producer)->Answer(*request);
      });
    });
  }

  static Status Store(SimKafka& broker, std::vector<Row>& rows) {
    for (Row& row : rows) {
      WEIR_ASSIGN_OR_RETURN(const int32_t partition, broker.ChoosePartition(row.topic, row.partition, row.record.key));
      broker.Append(row.topic, partition, std::move(row.record));
    }
    return {};
  }

  void Answer(const Request& request) {
    if (request.outcome.ok()) {
      progress_.acknowledged += request.rows.size();
    } else {
      progress_.error = request.outcome;
    }
    request_ = nullptr;
    Send();
    context_.wakeup->Wake();
  }

  SimKafka& broker_;
  const KafkaClientContext context_;
  std::deque<Row> queue_;
  std::shared_ptr<Request> request_;
  ProduceProgress progress_;
  bool full_ = false;
  std::shared_ptr<Producer*> alive_;
};

class SimKafkaClients::Admin final : public KafkaAdmin {
 public:
  Admin(SimKafka& broker, std::string address, Duration timeout)
      : broker_(broker), address_(std::move(address)), timeout_(timeout) {}

  Result<std::vector<TopicMetadata>> ListTopics() override {
    WEIR_RETURN_IF_ERROR(Reach());
    std::vector<TopicMetadata> topics;
    for (const auto& [name, topic] : broker_.topics_) topics.push_back(Metadata(name, topic));
    return topics;
  }
  Result<TopicMetadata> DescribeTopic(const std::string& name) override {
    WEIR_RETURN_IF_ERROR(Reach());
    const SimKafka::Topic* topic = broker_.FindTopic(name);
    if (topic == nullptr)
      return Error(Status::NotFound("Kafka at " + address_ + ": topic " + name + " does not exist"));
    return Metadata(name, *topic);
  }
  Result<std::vector<Watermarks>> QueryWatermarks(std::span<const TopicPartition> partitions) override {
    std::vector<Watermarks> result;
    for (const TopicPartition& name : partitions) {
      WEIR_ASSIGN_OR_RETURN(const SimKafka::Partition* partition, Find(name));
      result.push_back({partition->low, partition->next});
    }
    return result;
  }
  Result<std::vector<std::optional<int64_t>>> OffsetsForTime(std::span<const TopicPartition> partitions,
                                                             int64_t timestamp_ms) override {
    std::vector<std::optional<int64_t>> result;
    for (const TopicPartition& name : partitions) {
      WEIR_ASSIGN_OR_RETURN(const SimKafka::Partition* partition, Find(name));
      std::optional<int64_t> found;
      for (const std::shared_ptr<SimKafka::Entry>& entry : partition->log) {
        if (found || entry->record.timestamp_ms < timestamp_ms) continue;
        found = entry->offset;
      }
      result.push_back(found);
    }
    return result;
  }
  Result<std::vector<std::optional<int64_t>>> CommittedOffsets(const std::string& group,
                                                               std::span<const TopicPartition> partitions) override {
    WEIR_RETURN_IF_ERROR(Reach());
    std::vector<std::optional<int64_t>> result;
    const auto& offsets = broker_.group_offsets_[group];
    for (const TopicPartition& name : partitions) {
      const auto found = offsets.find(name);
      result.push_back(found == offsets.end() ? std::nullopt : std::optional(found->second));
    }
    return result;
  }
  Status CommitOffsets(const std::string& group, std::span<const PartitionStart> offsets) override {
    WEIR_RETURN_IF_ERROR(Reach());
    for (const PartitionStart& one : offsets) broker_.group_offsets_[group][one.partition] = one.offset;
    ++broker_.group_commits_;
    return {};
  }
  Status CreateTopic(const std::string& topic, int32_t partitions,
                     const std::vector<std::pair<std::string, std::string>>& config) override {
    WEIR_RETURN_IF_ERROR(Reach());
    return broker_.CreateTopic(topic, partitions, config);
  }

 private:
  static TopicMetadata Metadata(const std::string& name, const SimKafka::Topic& topic) {
    return {name, static_cast<int32_t>(topic.partitions.size()), std::to_string(topic.incarnation)};
  }
  Status Reach() const {
    if (broker_.reachable_) return {};
    return Status::Unavailable("Kafka at " + address_ + ": no answer within " +
                               std::to_string(timeout_.count() / 1'000'000) + " ms");
  }
  Result<const SimKafka::Partition*> Find(const TopicPartition& name) {
    WEIR_RETURN_IF_ERROR(Reach());
    const SimKafka::Topic* topic = broker_.FindTopic(name.topic);
    const auto index = static_cast<size_t>(name.partition);
    if (topic == nullptr || index >= topic->partitions.size()) {
      return Error(Status::NotFound("Kafka at " + address_ + ": " + Describe(name) + " does not exist"));
    }
    return &topic->partitions[index];
  }

  SimKafka& broker_;
  const std::string address_;
  const Duration timeout_;
};

Result<std::unique_ptr<KafkaConsumer>> SimKafkaClients::NewConsumer(const KafkaConnection& connection,
                                                                    const KafkaClientContext& context) {
  bool committed = true;
  for (const auto& [name, value] : connection.properties) {
    if (name == "isolation.level") committed = value != "read_uncommitted";
  }
  return std::make_unique<Consumer>(broker_, context, committed);
}

Result<std::unique_ptr<KafkaProducer>> SimKafkaClients::NewProducer(const KafkaConnection&,
                                                                    const KafkaClientContext& context) {
  return std::make_unique<Producer>(broker_, context);
}

Result<std::unique_ptr<KafkaAdmin>> SimKafkaClients::NewAdmin(const KafkaConnection& connection, Duration timeout) {
  return std::make_unique<Admin>(broker_, connection.bootstrap_servers, timeout);
}

std::unique_ptr<connectors::KafkaClientFactory> SimKafka::NewClientFactory() {
  return std::make_unique<SimKafkaClients>(*this);
}

}  // namespace weir::simulation
