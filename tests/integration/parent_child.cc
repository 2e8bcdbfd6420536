#include "tests/integration/parent_child.h"

#include <iterator>

#include "connectors/format/hlc.h"

namespace weir::job_test {

using operators::EventTime;

namespace {

std::string HlcText(EventTime time) {
  std::string text;
  connectors::AppendHlc(time, text);
  return text;
}

int32_t PartitionOf(const std::string& key, int partitions) {
  uint32_t hash = 2166136261U;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<int32_t>(hash % static_cast<uint32_t>(partitions));
}

std::string RowText(bool child, int64_t id, const std::optional<Family::Child>& row) {
  if (!row.has_value()) return "null";
  std::string text = "{\"id\":" + std::to_string(id);
  if (child) text += ",\"parent\":" + std::to_string(row->parent);
  return text + ",\"value\":" + std::to_string(row->value) + "}";
}

template <class Map>
typename Map::const_iterator Any(const Map& map, Random& random) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(random.Below(map.size())));
}

}  // namespace

std::string Family::ParentsText() const {
  std::string text;
  for (const auto& [id, value] : parents) {
    text += (text.empty() ? "" : " ") + std::to_string(id) + ":" + std::to_string(value);
  }
  return text;
}

std::string Family::ChildrenText() const {
  std::string text;
  for (const auto& [id, child] : children) {
    text += (text.empty() ? "" : " ") + std::to_string(id) + ":" + std::to_string(child.parent) + ":" +
            std::to_string(child.value);
  }
  return text;
}

ParentChild::ParentChild(Options options) : options_(std::move(options)), random_(options_.seed) {}

void ParentChild::Apply(const Change& change, Family& family) {
  if (change.child) {
    family.children.erase(change.id);
    if (change.row.has_value()) family.children[change.id] = *change.row;
  } else {
    family.parents.erase(change.id);
    if (change.row.has_value()) family.parents[change.id] = change.row->value;
  }
}

void ParentChild::Put(bool child, int64_t id, std::optional<Family::Child> row) {
  std::optional<Family::Child> before;
  if (child && latest_.children.contains(id)) before = latest_.children[id];
  if (!child && latest_.parents.contains(id)) before = Family::Child{.parent = 0, .value = latest_.parents[id]};
  log_.push_back({now_, child, id, row});
  Apply(log_.back(), latest_);
  fresh_.push_back(MessageOf(log_.back(), RowText(child, id, before)));
}

FeedMessage ParentChild::MessageOf(const Change& change, const std::string& before) const {
  FeedMessage message;
  message.topic = change.child ? child_topic() : parent_topic();
  message.key = "[" + std::to_string(change.id) + "]";
  message.partition = PartitionOf(*message.key, options_.partitions);
  message.value = "{\"after\":" + RowText(change.child, change.id, change.row);
  if (options_.diff) message.value += ",\"before\":" + before;
  message.value += ",\"updated\":\"" + HlcText(change.time) + "\"}";
  return message;
}

void ParentChild::DeleteWithChildren(int64_t parent) {
  std::vector<int64_t> children;
  for (const auto& [id, child] : latest_.children) {
    if (child.parent == parent) children.push_back(id);
  }
  for (const int64_t id : children) Put(true, id, std::nullopt);
  Put(false, parent, std::nullopt);
}

// The value of a row is the time that wrote it, so that a torn transaction shows.
void ParentChild::Step() {
  now_ = random_.Below(4) == 0
             ? now_.Next()
             : EventTime{.wall_ns = now_.wall_ns + 1 + static_cast<int64_t>(random_.Below(1'000'000)), .logical = 0};
  const Family::Child fresh{.parent = 0, .value = now_.wall_ns};
  const uint64_t kind = latest_.parents.empty() ? 0 : random_.Below(7);
  switch (kind) {
    case 0: Put(false, ++last_id_, fresh); return;
    case 1: Put(false, Any(latest_.parents, random_)->first, fresh); return;
    case 2: {  // a child, and its parent is touched
      const int64_t parent = Any(latest_.parents, random_)->first;
      Put(true, ++last_id_, Family::Child{.parent = parent, .value = now_.wall_ns});
      Put(false, parent, fresh);
      return;
    }
    case 3: {  // a child before its parent
      const int64_t parent = ++last_id_;
      Put(true, ++last_id_, Family::Child{.parent = parent, .value = now_.wall_ns});
      Put(false, parent, fresh);
      return;
    }
    case 4: {  // moves to another parent, or to one of its own
      if (latest_.children.empty()) return;
      const int64_t child = Any(latest_.children, random_)->first;
      int64_t parent = Any(latest_.parents, random_)->first;
      if (random_.Below(3) == 0) Put(false, parent = ++last_id_, fresh);
      Put(true, child, Family::Child{.parent = parent, .value = now_.wall_ns});
      return;
    }
    case 5:
      if (latest_.children.empty() || random_.Below(5) > 1) return;
      Put(true, Any(latest_.children, random_)->first, std::nullopt);
      return;
    default:
      if (random_.Below(5) > 1) return;
      DeleteWithChildren(Any(latest_.parents, random_)->first);
  }
}

std::vector<FeedMessage> ParentChild::Iterate() {
  fresh_.clear();
  for (uint64_t steps = 1 + random_.Below(10); steps > 0; --steps) Step();
  std::vector<FeedMessage> messages = fresh_;
  if (!options_.redelivers) return messages;
  told_.insert(told_.end(), fresh_.begin(), fresh_.end());
  if (!told_.empty() && random_.Below(3) == 0) {
    for (uint64_t again = 1 + random_.Below(20); again > 0; --again) {
      messages.push_back(told_[random_.Below(told_.size())]);
    }
  }
  return messages;
}

std::vector<FeedMessage> ParentChild::Resolve() {
  now_ = {.wall_ns = now_.wall_ns + 1, .logical = 0};
  std::vector<FeedMessage> messages;
  for (const std::string& topic : {parent_topic(), child_topic()}) {
    for (int partition = 0; partition < options_.partitions; ++partition) {
      messages.push_back({topic, partition, std::nullopt, "{\"resolved\":\"" + HlcText(now_) + "\"}"});
    }
  }
  return messages;
}

const Family& ParentChild::Replay::AdvanceTo(EventTime time) {
  while (next_ < source_.log_.size() && source_.log_[next_].time <= time) Apply(source_.log_[next_++], family_);
  return family_;
}

std::string ParentChildTables(const std::string& job) {
  const std::string frontier = job.empty() ? "NULL" : "(SELECT frontier FROM weir_markers WHERE job = '" + job + "')";
  return "SELECT " + frontier +
         ", (SELECT coalesce(string_agg(id || ':' || value, ' ' ORDER BY id), '') FROM parent), "
         "(SELECT coalesce(string_agg(id || ':' || parent || ':' || value, ' ' ORDER BY id), '') FROM child)";
}

bool IsPrime(int number) {
  for (int divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

}  // namespace weir::job_test
