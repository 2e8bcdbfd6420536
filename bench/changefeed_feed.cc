#include "bench/changefeed_feed.h"

#include <algorithm>
#include <span>
#include <utility>

#include "connectors/kafka/rdkafka_client.h"

namespace weir::bench {
namespace {

constexpr size_t kBlockRows = 1'000;

int32_t PartitionOf(const std::string& key) {
  uint32_t hash = 2166136261U;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<int32_t>(hash % ChangefeedFeed::kPartitionsOfTopic);
}

std::string TimeText(int64_t time_ns) { return "\"" + std::to_string(time_ns) + ".0000000000\"}"; }

}  // namespace

ChangefeedFeed::ChangefeedFeed(const std::string& bootstrap, std::string prefix, size_t parents, size_t children)
    : factory_(connectors::NewRdKafkaClientFactory()),
      parents_(parents, -1),
      references_(parents, 0),
      children_(children) {
  parent_topic_.name = prefix + "parent";
  child_topic_.name = std::move(prefix) + "child";
  producer_ = std::move(
      *factory_->NewProducer({.bootstrap_servers = bootstrap, .properties = {}}, {&clock_, workers_.get(), &wakeup_}));
}

void ChangefeedFeed::AddRows(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) AddRow();
  Send(parent_topic_);
  Send(child_topic_);
}

// Of 100: about 30 parents written, 60 children, and 10 deletions.
void ChangefeedFeed::AddRow() {
  newest_ns_ += 1'000;
  ++newest_value_;
  const uint64_t kind = random_.Below(100);
  const auto parent = static_cast<size_t>(random_.Below(parents_.size()));
  const auto child = static_cast<size_t>(random_.Below(children_.size()));
  if (kind < 7 && children_[child].value >= 0) {
    DeleteChild(child);
  } else if (kind < 10 && parents_[parent] >= 0 && references_[parent] == 0) {
    parents_[parent] = -1;
    Add(parent_topic_, parent, "null");
  } else if (kind < 40 || parents_[parent] < 0) {
    PutParent(parent);
  } else {
    PutChild(child, parent);
  }
}

void ChangefeedFeed::PutParent(size_t id) {
  parents_[id] = newest_value_;
  Add(parent_topic_, id,
      "{\"id\":" + std::to_string(id) + ",\"value\":" + std::to_string(parents_[id]) + ",\"note\":\"" + note_ + "\"}");
}

void ChangefeedFeed::PutChild(size_t id, size_t parent) {
  Child& child = children_[id];
  if (child.value >= 0) --references_[child.parent];
  child = {.value = newest_value_, .parent = parent};
  ++references_[parent];
  Add(child_topic_, id,
      "{\"id\":" + std::to_string(id) + ",\"parent\":" + std::to_string(parent) +
          ",\"value\":" + std::to_string(child.value) + ",\"note\":\"" + note_ + "\"}");
}

void ChangefeedFeed::DeleteChild(size_t id) {
  --references_[children_[id].parent];
  children_[id].value = -1;
  Add(child_topic_, id, "null");
}

void ChangefeedFeed::Add(Topic& topic, size_t id, const std::string& after) {
  const std::string& key = topic.keys.emplace_back("[" + std::to_string(id) + "]");
  topic.values.push_back("{\"after\":" + after + ",\"updated\":" + TimeText(newest_ns_));
  topic.partitions.push_back(PartitionOf(key));
  if (topic.keys.size() == kBlockRows) Send(topic);
}

void ChangefeedFeed::Send(Topic& topic) {
  std::vector<connectors::ProduceRow> rows;
  for (size_t i = 0; i < topic.keys.size(); ++i) {
    rows.push_back({.key = topic.keys[i], .value = topic.values[i], .partition = topic.partitions[i]});
  }
  Produce(topic.name, rows);
  topic.keys.clear();
  topic.values.clear();
  topic.partitions.clear();
}

void ChangefeedFeed::Produce(const std::string& topic, const std::vector<connectors::ProduceRow>& rows) {
  for (size_t taken = 0; taken < rows.size();) {
    taken += *producer_->Produce(topic, std::span(rows).subspan(taken));
    CheckOk(producer_->Progress().error);
    if (taken < rows.size()) wakeup_.Wait();
  }
}

void ChangefeedFeed::Resolve() {
  newest_ns_ += 1'000;
  const std::string value = "{\"resolved\":" + TimeText(newest_ns_);
  std::vector<connectors::ProduceRow> rows;
  for (int32_t partition = 0; partition < kPartitionsOfTopic; ++partition) {
    rows.push_back({.value = value, .partition = partition});
  }
  Produce(parent_topic_.name, rows);
  Produce(child_topic_.name, rows);
  producer_->Flush();
}

void ChangefeedFeed::Await() {
  producer_->Flush();
  while (producer_->Progress().acknowledged < producer_->Progress().accepted) wakeup_.Wait();
}

void ChangefeedFeed::Write(uint64_t rows, uint64_t resolved_rows) {
  for (uint64_t i = 0; i < rows; i += resolved_rows) {
    AddRows(std::min(resolved_rows, rows - i));
    Resolve();
  }
  Await();
}

std::string ChangefeedFeed::Expected() const {
  int64_t parents = 0;
  int64_t parent_sum = 0;
  for (const int64_t value : parents_) {
    parents += value >= 0 ? 1 : 0;
    parent_sum += value >= 0 ? value : 0;
  }
  int64_t children = 0;
  int64_t child_sum = 0;
  for (const Child& child : children_) {
    children += child.value >= 0 ? 1 : 0;
    child_sum += child.value >= 0 ? child.value : 0;
  }
  return std::to_string(parents) + "|" + std::to_string(parent_sum) + "|" + std::to_string(children) + "|" +
         std::to_string(child_sum);
}

}  // namespace weir::bench
