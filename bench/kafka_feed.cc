#include "bench/kafka_feed.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bench/kafka_rows.h"
#include "connectors/kafka/rdkafka_client.h"

namespace weir::bench {
namespace {

using connectors::TopicPartition;

std::vector<TopicPartition> PartitionsOf(const std::string& topic) {
  std::vector<TopicPartition> partitions;
  for (int32_t p = 0; p < kPartitions; ++p) partitions.push_back({topic, p});
  return partitions;
}

std::unique_ptr<connectors::KafkaAdmin> NewAdmin(connectors::KafkaClientFactory& factory,
                                                 const std::string& bootstrap) {
  return std::move(*factory.NewAdmin({.bootstrap_servers = bootstrap, .properties = {}}, std::chrono::seconds(10)));
}

}  // namespace

void CheckOk(const Status& status) { WEIR_CHECK_EQ(status.ToString(), std::string("ok")); }

void ConditionWakeup::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  condition_.notify_all();
}

void ConditionWakeup::Wait() {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, std::chrono::milliseconds(10), [this] { return woken_; });
  woken_ = false;
}

KafkaFeed::KafkaFeed(std::string bootstrap)
    : bootstrap_(std::move(bootstrap)),
      factory_(connectors::NewRdKafkaClientFactory()),
      admin_(NewAdmin(*factory_, bootstrap_)) {}

void KafkaFeed::Write(const std::string& topic, uint64_t from, uint64_t to, uint64_t accounts, bool random_note) {
  ConditionWakeup wakeup;
  const auto producer = std::move(
      *factory_->NewProducer({.bootstrap_servers = bootstrap_, .properties = {}}, {&clock_, workers_.get(), &wakeup}));
  std::array<std::string, 1000> keys;
  std::array<std::string, 1000> values;
  std::vector<connectors::ProduceRow> block;
  for (uint64_t i = from; i < to;) {
    block.clear();
    for (size_t j = 0; j < keys.size() && i < to; ++j, ++i) {
      BuildChangefeedRow(i, accounts, keys[j], values[j], random_note);
      block.push_back({.key = keys[j], .value = values[j], .partition = static_cast<int32_t>(i % kPartitions)});
    }
    for (size_t taken = 0; taken < block.size();) {
      taken += *producer->Produce(topic, std::span(block).subspan(taken));
      CheckOk(producer->Progress().error);
      if (taken < block.size()) wakeup.Wait();
    }
  }
  producer->Flush();
  while (producer->Progress().acknowledged < producer->Progress().accepted) wakeup.Wait();
}

uint64_t KafkaFeed::Count(const std::string& topic) {
  uint64_t count = 0;
  const auto marks = admin_->QueryWatermarks(PartitionsOf(topic));
  for (const connectors::Watermarks& of_partition : *marks) {
    count += static_cast<uint64_t>(of_partition.high - of_partition.low);
  }
  return count;
}

ArrivalWatch::ArrivalWatch(const std::string& bootstrap, const std::string& topic)
    : factory_(connectors::NewRdKafkaClientFactory()) {
  const std::vector<TopicPartition> partitions = PartitionsOf(topic);
  std::vector<connectors::PartitionStart> starts;
  const auto marks = *NewAdmin(*factory_, bootstrap)->QueryWatermarks(partitions);
  for (size_t i = 0; i < partitions.size(); ++i) starts.push_back({partitions[i], marks[i].high});
  consumer_ = std::move(
      *factory_->NewConsumer({.bootstrap_servers = bootstrap, .properties = {}}, {&clock_, workers_.get(), &wakeup_}));
  CheckOk(consumer_->Assign(starts));
}

size_t ArrivalWatch::Take() {
  size_t records = 0;
  while (const auto block = std::move(*consumer_->Fetch())) records += block->records().size();
  return records;
}

bool ArrivalWatch::AwaitRecord(Duration limit) {
  for (const MonotonicTime start = clock_.Now(); clock_.Now() - start < limit;) {
    const auto block = std::move(*consumer_->Fetch());
    if (block != nullptr && !block->records().empty()) return true;
    wakeup_.Wait();
  }
  return false;
}

}  // namespace weir::bench
