// What the conformance cases of transactions and of markers share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/kafka_conformance.h"

namespace weir::kafka_test {

using connectors::KafkaHeader;
using connectors::KafkaMarkerReader;
using connectors::KafkaTransactionalProducer;

using ProducerPtr = std::unique_ptr<KafkaTransactionalProducer>;
using Value = std::optional<std::string>;

class KafkaTransactions : public KafkaConformance {
 protected:
  static constexpr Duration kRequestTimeout = std::chrono::seconds(10);

  ProducerPtr Made(const std::string& id, Duration transaction_timeout = std::chrono::seconds(60),
                   Duration request_timeout = kRequestTimeout) {
    auto producer = world_->factory().NewTransactionalProducer(
        world_->connection(),
        connectors::KafkaTransactionOptions{world_->NewName(id), transaction_timeout, request_timeout},
        *world_->context().clock);
    EXPECT_TRUE(producer.has_value()) << producer.error().ToString();
    return std::move(*producer);
  }
  // After Init.
  ProducerPtr Started(const std::string& id, Duration transaction_timeout = std::chrono::seconds(60)) {
    ProducerPtr producer = Made(id, transaction_timeout);
    EXPECT_EQ(producer->Init().ToString(), "ok");
    return producer;
  }
  // In a transaction that has these rows of a topic's partition 0.
  ProducerPtr Opened(const std::string& id, const std::string& topic, const std::vector<std::string>& values) {
    ProducerPtr producer = Started(id);
    EXPECT_EQ(producer->Begin().ToString(), "ok");
    EXPECT_EQ(Write(*producer, topic, values).ToString(), "ok");
    return producer;
  }
  static Status Write(KafkaTransactionalProducer& producer, const std::string& topic,
                      const std::vector<std::string>& values, const std::string& key = "k") {
    std::vector<ProduceRow> rows;
    for (const std::string& value : values) rows.push_back({.key = key, .value = value, .partition = 0});
    return producer.Produce(topic, rows);
  }
  static void InOne(KafkaTransactionalProducer& producer, const std::string& topic,
                    const std::vector<std::string>& values, const std::string& key = "k") {
    ASSERT_EQ(producer.Begin().ToString(), "ok");
    ASSERT_EQ(Write(producer, topic, values, key).ToString(), "ok");
    ASSERT_EQ(producer.Commit().ToString(), "ok");
  }
  std::unique_ptr<KafkaMarkerReader> Reader(Duration timeout = kRequestTimeout) {
    auto reader = world_->factory().NewMarkerReader(world_->connection(), timeout, *world_->context().clock);
    EXPECT_TRUE(reader.has_value()) << reader.error().ToString();
    return std::move(*reader);
  }
  // The error's text in place of a value that could not be had.
  Value Newest(const std::string& topic, const std::string& key, Duration timeout = kRequestTimeout) {
    const auto found = Reader(timeout)->NewestValue({topic, 0}, key, connectors::KafkaReadUpTo::kEnd);
    return found.has_value() ? *found : found.error().ToString();
  }
  // The next offset, open transactions counted.
  int64_t End(const std::string& topic) {
    if (admin_ == nullptr) admin_ = world_->NewUncommittedAdmin(kRequestTimeout);
    return (*admin_->QueryWatermarks(std::vector<TopicPartition>{{topic, 0}}))[0].high;
  }
  // What a reader of committed data sees now: everything below a record that is written for the purpose.
  std::vector<std::string> Visible(const std::string& topic) {
    const std::string stem = "the end ";
    const std::string last = stem + std::to_string(++looks_);
    world_->AppendValues(topic, 0, {last});
    const auto consumer = ConsumerAt(topic, 0);
    seen_.clear();
    EXPECT_TRUE(world_->Until([&] { return !Poll(*consumer) || (!seen_.empty() && seen_.back() == last); }));
    EXPECT_TRUE(error_.ok()) << error_.ToString();
    std::vector<std::string> rows = seen_;
    std::erase_if(rows, [&](const std::string& value) { return value.starts_with(stem); });
    return rows;
  }
  // A compacted topic, as markers have.
  std::string MarkerTopic() {
    const std::string topic = world_->NewName("markers");
    EXPECT_EQ(world_->NewAdmin()->CreateTopic(topic, 1, {{"cleanup.policy", "compact"}}).ToString(), "ok");
    return topic;
  }
  // Sends rows that will not be committed until they have taken an offset at the broker.
  bool WriteUntilStored(KafkaTransactionalProducer& producer, const std::string& topic, const std::string& key = "k") {
    const int64_t before = End(topic);
    return world_->Until([&] {
      const bool written = Write(producer, topic, {"lost"}, key).ok();
      world_->Wait();
      return !written || End(topic) > before;
    });
  }
  template <class T>
  static Status StatusOf(const Result<T>& result) {
    return result.has_value() ? Status() : result.error();
  }
  MonotonicTime Now() { return world_->context().clock->Now(); }
  static void ExpectCode(StatusCode code, const Status& status) { EXPECT_EQ(status.code(), code) << status.ToString(); }

 private:
  std::unique_ptr<connectors::KafkaAdmin> admin_;
  int looks_ = 0;
};

}  // namespace weir::kafka_test
