#include "tests/simulation/sim_kafka.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"

namespace weir::simulation {
namespace {

constexpr size_t kMessageBytesMax = 1'000'000;

std::optional<std::string> Owned(std::string_view text) {
  return text.data() == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

int64_t SimKafka::Partition::last_stable() const {
  int64_t stable = next;
  for (const auto& [transaction, first] : open_transactions) stable = std::min(stable, first);
  return stable;
}

Duration SimKafka::DrawLatency() {
  const auto bound = static_cast<uint64_t>(faults_.latency_max.count());
  return Duration(static_cast<int64_t>(bound == 0 ? 0 : random_->Below(bound)));
}

bool SimKafka::DrawLoss() { return faults_.lost_one_in != 0 && random_->OneIn(faults_.lost_one_in); }

SimKafka::EventId SimKafka::Schedule(Duration after, std::function<void()> event) {
  const EventId id((clock_.Now() + after).ns, ++last_number_);
  events_[id] = std::move(event);
  return id;
}

std::optional<MonotonicTime> SimKafka::NextEvent() const {
  if (events_.empty()) return std::nullopt;
  return MonotonicTime{events_.begin()->first.first};
}

void SimKafka::RunDue() {
  const int64_t now = clock_.Now().ns;
  while (!events_.empty() && events_.begin()->first.first <= now) {
    const std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
}

bool SimKafka::Await(MonotonicTime limit, const std::function<bool()>& done) {
  while (!done()) {
    if (pass_time_ == nullptr || clock_.Now() >= limit) return false;
    pass_time_(std::clamp(NextEvent().value_or(limit), clock_.Now(), limit));
    RunDue();
  }
  return true;
}

void SimKafka::WakeConsumers(Duration after) {
  Schedule(after, [this] {
    for (const auto& [number, wakeup] : consumers_) wakeup->Wake();
  });
}

Status SimKafka::CreateTopic(const std::string& name, int32_t partitions, const Config& config) {
  WEIR_CHECK_GT(partitions, 0);
  if (topics_.contains(name)) return Status::AlreadyExists("topic " + name + " exists");
  Topic& topic = topics_[name];
  topic.incarnation = ++last_incarnation_;
  topic.partitions.resize(static_cast<size_t>(partitions));
  topic.config["cleanup.policy"] = "delete";
  for (const auto& [option, value] : config) topic.config[option] = value;
  return {};
}

Status SimKafka::DeleteTopic(const std::string& name) {
  if (topics_.erase(name) == 0) return Status::NotFound("topic " + name + " does not exist");
  WakeConsumers(DrawLatency());
  return {};
}

Status SimKafka::AddPartitions(const std::string& name, int32_t partitions) {
  const auto topic = topics_.find(name);
  if (topic == topics_.end()) return Status::NotFound("topic " + name + " does not exist");
  WEIR_CHECK_GE(static_cast<size_t>(partitions), topic->second.partitions.size());
  topic->second.partitions.resize(static_cast<size_t>(partitions));
  return {};
}

SimKafka::Partition* SimKafka::FindOrNull(const connectors::TopicPartition& name) {
  const auto found = topics_.find(name.topic);
  const auto index = static_cast<size_t>(name.partition);
  return found == topics_.end() || index >= found->second.partitions.size() ? nullptr
                                                                            : &found->second.partitions[index];
}

SimKafka::Partition& SimKafka::Find(const std::string& topic, int32_t partition) {
  Partition* found = FindOrNull({topic, partition});
  WEIR_CHECK(found != nullptr);
  return *found;
}

Result<int32_t> SimKafka::ChoosePartition(const std::string& topic, int32_t given,
                                          const std::optional<std::string>& key) {
  const Topic* found = FindTopic(topic);
  if (found == nullptr) return Error(Status::NotFound("topic " + topic + ": unknown topic or partition"));
  const auto count = static_cast<int32_t>(found->partitions.size());
  if (given >= count) {
    return Error(
        Status::NotFound("topic " + topic + ", partition " + std::to_string(given) + ": unknown topic or partition"));
  }
  if (given >= 0) return given;
  return key ? Murmur2Partition(*key, count) : static_cast<int32_t>(random_->Below(static_cast<uint64_t>(count)));
}

std::map<connectors::TopicPartition, int64_t> SimKafka::AcknowledgedOffsets() const {
  std::map<connectors::TopicPartition, int64_t> result;
  for (const auto& [group, offsets] : group_offsets_) {
    for (const auto& [partition, offset] : offsets) result[partition] = std::max(result[partition], offset);
  }
  return result;
}

const SimKafka::Topic* SimKafka::FindTopic(const std::string& name) const {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

void SimKafka::Store(Partition& partition, SimRecord record, bool control, uint64_t transaction) {
  auto entry = std::make_shared<Entry>();
  entry->offset = partition.next++;
  entry->record = std::move(record);
  if (entry->record.timestamp_ms < 0) entry->record.timestamp_ms = clock_.WallNs() / 1'000'000;
  entry->control = control;
  const Duration delay = DrawLatency();
  entry->visible_at = clock_.Now() + delay;
  if (transaction != 0 && !control) {
    partition.open_transactions.try_emplace(transaction, entry->offset);
    transaction_entries_[transaction].push_back(entry);
  }
  partition.log.push_back(std::move(entry));
  WakeConsumers(delay);
}

void SimKafka::Append(const std::string& topic, int32_t partition, SimRecord record) {
  Store(Find(topic, partition), std::move(record), false, 0);
}

void SimKafka::AppendIn(uint64_t transaction, const std::string& topic, int32_t partition, SimRecord record) {
  WEIR_CHECK_NE(transaction, uint64_t{0});
  transaction_partitions_[transaction].insert({topic, partition});
  Store(Find(topic, partition), std::move(record), false, transaction);
}

void SimKafka::EndTransaction(uint64_t transaction, bool commit) {
  if (!commit) {
    for (const std::shared_ptr<Entry>& entry : transaction_entries_[transaction]) entry->aborted = true;
  }
  for (const connectors::TopicPartition& name : transaction_partitions_[transaction]) {
    Partition* partition = FindOrNull(name);
    if (partition == nullptr || !partition->open_transactions.contains(transaction)) continue;  // deleted meanwhile
    Store(*partition, {}, true, 0);
    partition->open_transactions.erase(transaction);
  }
  transaction_entries_.erase(transaction);
  transaction_partitions_.erase(transaction);
}

void SimKafka::Compact(const std::string& topic) {
  const auto found = topics_.find(topic);
  if (found == topics_.end() || found->second.config["cleanup.policy"] != "compact") return;
  for (Partition& partition : found->second.partitions) {
    const int64_t stable = partition.last_stable();
    std::set<std::string> newer;
    std::deque<std::shared_ptr<Entry>> kept;
    for (const std::shared_ptr<Entry>& entry : partition.log | std::views::reverse) {
      const bool decided = entry->offset < stable && !entry->control;
      const bool superseded = decided && !entry->aborted && !newer.insert(entry->record.key.value_or("")).second;
      if (!kept.empty() && (superseded || (decided && entry->aborted))) continue;
      kept.push_front(entry);
    }
    partition.log = std::move(kept);
  }
}

void SimKafka::TrimLog(const std::string& topic, int32_t partition, int64_t low) {
  Partition& found = Find(topic, partition);
  WEIR_CHECK_LE(low, found.next);
  found.low = std::max(found.low, low);
  while (!found.log.empty() && found.log.front()->offset < found.low) found.log.pop_front();
}

void SimKafka::SetReachable(bool reachable) {
  reachable_ = reachable;
  if (reachable) WakeConsumers(DrawLatency());
}

std::vector<SimRecord> SimKafka::Committed(const std::string& topic, int32_t partition) const {
  std::vector<SimRecord> records;
  const Topic* found = FindTopic(topic);
  if (found == nullptr) return records;
  const Partition& read = found->partitions[static_cast<size_t>(partition)];
  for (const std::shared_ptr<Entry>& entry : read.log) {
    if (entry->offset >= read.last_stable()) break;
    if (!entry->control && !entry->aborted) records.push_back(entry->record);
  }
  return records;
}

Result<SimRecord> NewSimRecord(const std::string& topic, const connectors::ProduceRow& row) {
  const size_t size = row.key.size() + row.value.size();
  if (size > kMessageBytesMax) {
    return Error(Status::InvalidArgument("topic " + topic + ": the row with key \"" + std::string(row.key) + "\" is " +
                                         std::to_string(size) + " bytes; the limit is " +
                                         std::to_string(kMessageBytesMax)));
  }
  SimRecord record;
  record.key = Owned(row.key);
  record.value = Owned(row.value);
  record.timestamp_ms = row.timestamp_ms == 0 ? -1 : row.timestamp_ms;
  for (const connectors::KafkaHeader& header : row.headers) record.headers.emplace_back(header.name, header.value);
  return record;
}

int32_t Murmur2Partition(std::string_view key, int32_t partitions) {
  constexpr uint32_t kMix = 0x5bd1e995;
  uint32_t hash = 0x9747b28cU ^ static_cast<uint32_t>(key.size());
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(key[i])}; };
  size_t at = 0;
  for (; at + 4 <= key.size(); at += 4) {
    uint32_t word = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24;
    word *= kMix;
    word ^= word >> 24;
    word *= kMix;
    hash = hash * kMix ^ word;
  }
  const size_t rest = key.size() - at;
  if (rest >= 3) hash ^= byte(at + 2) << 16;
  if (rest >= 2) hash ^= byte(at + 1) << 8;
  if (rest >= 1) hash = (hash ^ byte(at)) * kMix;
  hash ^= hash >> 13;
  hash *= kMix;
  hash ^= hash >> 15;
  return static_cast<int32_t>((hash & 0x7fffffffU) % static_cast<uint32_t>(partitions));
}

}  // namespace weir::simulation
