// What the conformance cases of the KafkaClient port share: a world, and reading from it. The same cases run on the
// simulated cluster and on a real broker: what they agree on is what Weir may rely on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/connectors/kafka/kafka_world.h"

namespace weir::kafka_test {

using connectors::FetchedBlock;
using connectors::KafkaConsumer;
using connectors::KafkaProducer;
using connectors::PartitionStart;
using connectors::ProduceRow;
using connectors::TopicPartition;

class KafkaConformance : public testing::TestWithParam<bool> {
 protected:
  KafkaConformance() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {}

  // A fresh topic with that many partitions.
  std::string Topic(int partitions, const std::string& stem = "t") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<KafkaConsumer> Consumer(bool committed = true) {
    connectors::KafkaConnection connection = world_->connection();
    connection.properties.emplace_back("isolation.level", committed ? "read_committed" : "read_uncommitted");
    auto consumer = world_->factory().NewConsumer(connection, world_->context());
    EXPECT_TRUE(consumer.has_value()) << consumer.error().ToString();
    return std::move(*consumer);
  }
  std::unique_ptr<KafkaConsumer> ConsumerAt(const std::string& topic, int64_t offset, bool committed = true) {
    auto consumer = Consumer(committed);
    EXPECT_EQ(consumer->Assign(std::vector<PartitionStart>{{{topic, 0}, offset}}).ToString(), "ok");
    return consumer;
  }
  std::unique_ptr<KafkaProducer> Producer() {
    auto producer = world_->factory().NewProducer(world_->connection(), world_->context());
    EXPECT_TRUE(producer.has_value()) << producer.error().ToString();
    return std::move(*producer);
  }

  // Adds to `seen` what comes; false once an error does, which is kept.
  bool Poll(KafkaConsumer& consumer) {
    auto block = consumer.Fetch();
    if (!block.has_value()) {
      error_ = block.error();
      return false;
    }
    if (*block == nullptr) return true;
    for (const connectors::KafkaRecord& record : (*block)->records()) {
      seen_.push_back((record.value.data() == nullptr ? "null" : std::string(record.value)));
      offsets_.push_back(record.offset);
      partitions_.push_back(record.partition);
      keys_.push_back(record.key.data() == nullptr ? "null" : std::string(record.key));
      times_.push_back(record.timestamp_ms);
    }
    return true;
  }
  bool Read(KafkaConsumer& consumer, size_t count) {
    return world_->Until([&] { return !Poll(consumer) || seen_.size() >= count; }) && error_.ok();
  }
  // Reads until the position of partition 0 is there.
  bool ReadTo(KafkaConsumer& consumer, int64_t position) {
    return world_->Until([&] { return !Poll(consumer) || consumer.Position(0) >= position; }) && error_.ok();
  }
  bool ReadToError(KafkaConsumer& consumer) {
    return world_->Until([&] { return !Poll(consumer); });
  }
  // Some time in which something unwanted could happen.
  void Linger(KafkaConsumer& consumer) {
    const MonotonicTime start = world_->context().clock->Now();
    (void)world_->Until(
        [&] { return !Poll(consumer) || world_->context().clock->Now() - start > std::chrono::milliseconds(300); });
  }
  bool Acknowledged(KafkaProducer& producer) {
    return world_->Until([&] {
      const auto& progress = producer.Progress();
      return !progress.error.ok() || progress.acknowledged == progress.accepted;
    });
  }

  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> values;
    for (int i = from; i < to; ++i) values.push_back(std::to_string(i));
    return values;
  }

  std::unique_ptr<KafkaWorld> world_;
  std::vector<std::string> seen_;
  std::vector<std::string> keys_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> times_;
  std::vector<uint32_t> partitions_;
  Status error_;
};

}  // namespace weir::kafka_test
