// The kafka sink on the simulated cluster and on a real broker: what a record is made of, what a barrier waits for, and
// what is said about a row that the broker refuses.
#include <gtest/gtest.h>

#include <array>

#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {
namespace {

using operators::Batch;
using operators::RowKind;
using operators::Value;
using operators::ValueType;

class KafkaSinkTest : public testing::TestWithParam<bool> {
 protected:
  KafkaSinkTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()) {}

  std::string Topic(int partitions) {
    std::string name = world_->NewName("out-" + std::to_string(topics_++));
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<SinkDriver> Opened(const std::string& topic, Definition more = {}) {
    if (!topic.empty()) more.emplace_back("topic", Text(topic));
    auto sink = std::make_unique<SinkDriver>(*world_, std::move(more));
    EXPECT_EQ(sink->Open().ToString(), "ok");
    return sink;
  }

  struct Row {
    int64_t id = 0;
    std::string name;
    RowKind kind = RowKind::kInsert;
  };
  static Batch Rows(const std::vector<Row>& rows) {
    static const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{"id", "name"});
    Batch batch(schema, rows.size());
    for (const Row& row : rows) {
      Value* values = batch.AddRow(row.kind, {.wall_ns = 1'700'000'000'123'000'000, .logical = 0});
      values[0] = Value::Int64(row.id);
      values[1] = Value::Text(ValueType::kString, batch.arena().Copy(row.name));
    }
    return batch;
  }
  // Rows of id, name and the topic they are for; an empty name or topic is null.
  static Batch Routed(const std::vector<std::pair<std::string, std::string>>& rows) {
    static const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{"id", "name", "to"});
    Batch batch(schema, rows.size());
    const auto text = [&](const std::string& one) {
      return one.empty() ? Value::Null() : Value::Text(ValueType::kString, batch.arena().Copy(one));
    };
    for (const auto& [to, name] : rows) {
      const auto id = static_cast<int64_t>(batch.rows());
      Value* values = batch.AddRow(RowKind::kInsert, {});
      values[0] = Value::Int64(id);
      values[1] = text(name);
      values[2] = text(to);
    }
    return batch;
  }
  // "key=value@timestamp name:header" of partition 0, in order.
  std::vector<std::string> Stored(const std::string& topic, size_t count, bool times = false) {
    auto consumer = std::move(*world_->factory().NewConsumer(world_->connection(), world_->context()));
    EXPECT_TRUE(consumer->Assign(std::vector<connectors::PartitionStart>{{{topic, 0}, 0}}).ok());
    std::vector<std::string> stored;
    EXPECT_TRUE(world_->Until([&] {
      const auto block = consumer->Fetch();
      if (block.has_value() && *block != nullptr) {
        for (size_t i = 0; i < (*block)->records().size(); ++i) {
          const connectors::KafkaRecord& record = (*block)->records()[i];
          const auto text = [](std::string_view bytes) {
            return bytes.data() == nullptr ? std::string("null") : std::string(bytes);
          };
          stored.push_back(text(record.key) + "=" + text(record.value) +
                           (times ? "@" + std::to_string(record.timestamp_ms) : ""));
          for (const connectors::KafkaHeader& header : (*block)->Headers(i)) {
            stored.back() += " " + std::string(header.name) + ":" + text(header.value);
          }
        }
      }
      return stored.size() >= count;
    }));
    return stored;
  }

  std::unique_ptr<KafkaWorld> world_;
  int topics_ = 0;
};

TEST_P(KafkaSinkTest, WritesRowsAsJsonAndABarrierWaitsForThem) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic);
  ASSERT_EQ(sink->Write(Rows({{1, "a"}, {2, "b"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ((*world_->NewAdmin()->QueryWatermarks(std::vector<connectors::TopicPartition>{{topic, 0}}))[0].high, 2);
  EXPECT_EQ(Stored(topic, 2), (std::vector<std::string>{R"(null={"id":1,"name":"a"})", R"(null={"id":2,"name":"b"})"}));
  EXPECT_TRUE(sink->writer().PrepareCommit({1, {}})->empty());
}

TEST_P(KafkaSinkTest, AKeyMakesTheTopicATable) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"key", List({"id"})}});
  ASSERT_EQ(sink->Write(Rows({{1, "a"},
                              {1, "a", RowKind::kUpdateBefore},
                              {1, "b", RowKind::kUpdateAfter},
                              {1, "b", RowKind::kDelete}}))
                .ToString(),
            "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 3),
            (std::vector<std::string>{R"([1]={"id":1,"name":"a"})", R"([1]={"id":1,"name":"b"})", "[1]=null"}));
}

TEST_P(KafkaSinkTest, WritesKeysInThreeForms) {
  const std::string topic = Topic(1);
  for (const char* format : {"array", "object", "raw"}) {
    const bool raw = std::string(format) == "raw";
    const auto sink =
        Opened(topic, {{"key", raw ? List({"name"}) : List({"name", "id"})}, {"key-format", Text(format)}});
    ASSERT_EQ(sink->Write(Rows({{7, "x\"y"}})).ToString(), "ok");
    ASSERT_EQ(sink->Barrier().ToString(), "ok");
  }
  const std::vector<std::string> stored = Stored(topic, 3);
  ASSERT_EQ(stored.size(), 3U);
  EXPECT_EQ(stored[0].substr(0, stored[0].find("={")), R"(["x\"y",7])");
  EXPECT_EQ(stored[1].substr(0, stored[1].find("={\"id\":7,\"name")), R"({"name":"x\"y","id":7})");
  EXPECT_EQ(stored[2].substr(0, stored[2].find("={")), R"(x"y)");
}

TEST_P(KafkaSinkTest, WritesRowKindsAndEventTimes) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"row-kind-column", Text("op")}, {"timestamp", Text("event-time")}});
  ASSERT_EQ(sink->Write(Rows({{1, "a", RowKind::kDelete}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  const std::vector<std::string> stored = Stored(topic, 1, true);
  EXPECT_NE(stored[0].find("\"-D\""), std::string::npos) << stored[0];
  EXPECT_TRUE(stored[0].ends_with("@1700000000123")) << stored[0];
}

TEST_P(KafkaSinkTest, KeepsOrderOverManyBatchesWithABoundedQueue) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"key", List({"id"})}, {"key-format", Text("raw")}});
  constexpr int64_t kBatches = 20;
  constexpr int64_t kRows = 1000;
  for (int64_t i = 0; i < kBatches; ++i) {
    std::vector<Row> rows;
    for (int64_t j = 0; j < kRows; ++j) rows.push_back({i * kRows + j, "n"});
    ASSERT_EQ(sink->Write(Rows(rows)).ToString(), "ok");
  }
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  const std::vector<std::string> stored = Stored(topic, kBatches * kRows);
  ASSERT_EQ(stored.size(), static_cast<size_t>(kBatches * kRows));
  for (size_t i = 0; i < stored.size(); ++i) {
    ASSERT_EQ(stored[i].substr(0, stored[i].find('=')), std::to_string(i));
  }
}

TEST_P(KafkaSinkTest, AMissingTopicIsAnErrorAndIsNotMade) {
  const std::string topic = world_->NewName("never-made");
  const auto sink = Opened(topic);
  const Status status = sink->Write(Rows({{1, "a"}}));
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
  EXPECT_NE(status.message().find(topic), std::string::npos);
  EXPECT_EQ(sink->Barrier().code(), StatusCode::kNotFound);
  EXPECT_FALSE(world_->NewAdmin()->DescribeTopic(topic).has_value());
}

TEST_P(KafkaSinkTest, ARowThatIsTooLargeIsNamedWithItsSizeAndTheLimit) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"key", List({"id"})}});
  Status status = sink->Write(Rows({{77, std::string(1'100'000, 'x')}}));
  if (status.ok()) status = sink->Barrier();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"[77]", "1100", "1000000", "out"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }
}

TEST_P(KafkaSinkTest, ARowThatIsTooLargeIsSkippedByChoice) {
  const std::string topic = Topic(1);
  const auto sink = Opened(
      topic,
      {{"key", List({"id"})}, {"on-too-large", Text("skip")}, {"format", Text("raw")}, {"value-column", Text("name")}});
  const std::string large(1'100'000, 'x');
  ASSERT_EQ(sink->Write(Rows({{1, "a"}, {2, large}, {3, "c"}, {4, large}})).ToString(), "ok");
  ASSERT_EQ(sink->Write(Rows({{5, large}, {6, "f"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 3), (std::vector<std::string>{"[1]=a", "[3]=c", "[6]=f"}));
  EXPECT_EQ(sink->bad_records(), 3U);
}

// What the sink lets pass, the client takes: with exactly once it would be too late to find out there.
TEST_P(KafkaSinkTest, TheLimitIsTheClientsToTheByte) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"properties", Object({{"message.max.bytes", Text("2000")}})},
                                   {"key", List({"id"})},
                                   {"headers", Object({{"number", Text("id")}})},
                                   {"on-too-large", Text("skip")},
                                   {"format", Text("raw")},
                                   {"value-column", Text("name")}});
  constexpr size_t kRows = 100;
  for (size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(sink->Write(Rows({{1, std::string(1901 + i, 'x')}})).ToString(), "ok");
  }
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  const size_t taken = kRows - sink->bad_records();
  EXPECT_GT(taken, 30U);
  EXPECT_EQ(Stored(topic, taken).size(), taken);
}

TEST_P(KafkaSinkTest, ARowThatIsTooLargeGoesToTheDeadLettersByChoice) {
  const std::string topic = Topic(1);
  const std::string dead = Topic(1);
  const auto sink = Opened(topic, {{"key", List({"id"})},
                                   {"on-too-large", Text("dead-letter")},
                                   {"dead-letter-topic", Text(dead)},
                                   {"format", Text("raw")},
                                   {"value-column", Text("name")}});
  const std::string large(1'100'000, 'x');
  ASSERT_EQ(sink->Write(Rows({{1, "a"}, {2, large}, {3, "c"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 2), (std::vector<std::string>{"[1]=a", "[3]=c"}));
  const std::vector<std::string> letters = Stored(dead, 1);
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_TRUE(letters[0].starts_with("[2]=xxx")) << letters[0].substr(0, 100);
  EXPECT_EQ(sink->bad_records(), 1U);
}

TEST_P(KafkaSinkTest, WritesDebeziumsEnvelope) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"format", Text("debezium-json")}, {"key", List({"id"})}});
  ASSERT_EQ(sink->Write(Rows({{1, "a"},
                              {1, "a", RowKind::kUpdateBefore},
                              {1, "b", RowKind::kUpdateAfter},
                              {1, "b", RowKind::kDelete}}))
                .ToString(),
            "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 4),
            (std::vector<std::string>{R"([1]={"before":null,"after":{"id":1,"name":"a"},"op":"c"})",
                                      R"([1]={"before":{"id":1,"name":"a"},"after":null,"op":"d"})",
                                      R"([1]={"before":null,"after":{"id":1,"name":"b"},"op":"c"})",
                                      R"([1]={"before":{"id":1,"name":"b"},"after":null,"op":"d"})"}));
}

TEST_P(KafkaSinkTest, HeadersAreColumnsAndNullOnesAreLeftOut) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic, {{"headers", Object({{"number", Text("id")}, {"who", Text("name")}})},
                                   {"key", List({"id"})},
                                   {"format", Text("raw")},
                                   {"value-column", Text("to")}});
  ASSERT_EQ(sink->Write(Routed({{"x", "a b"}, {"y", ""}, {"z", "c"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 3),
            (std::vector<std::string>{"[0]=x number:0 who:a b", "[1]=y number:1", "[2]=z number:2 who:c"}));
}

TEST_P(KafkaSinkTest, AColumnNamesTheTopic) {
  const std::string a = Topic(1);
  const std::string b = Topic(1);
  const auto sink = Opened(
      "",
      {{"topic-column", Text("to")}, {"format", Text("raw")}, {"value-column", Text("name")}, {"key", List({"id"})}});
  ASSERT_EQ(sink->Write(Routed({{a, "1"}, {b, "2"}, {a, "3"}, {a, "4"}})).ToString(), "ok");
  ASSERT_EQ(sink->Write(Routed({{b, "5"}, {a, "6"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(a, 4), (std::vector<std::string>{"[0]=1", "[2]=3", "[3]=4", "[1]=6"}));
  EXPECT_EQ(Stored(b, 2), (std::vector<std::string>{"[1]=2", "[0]=5"}));
}

TEST_P(KafkaSinkTest, ATopicThatARowNamesMustExistAndIsNotMade) {
  const std::string known = Topic(1);
  const std::string missing = world_->NewName("never-made");
  const auto sink = Opened("", {{"topic-column", Text("to")}});
  ASSERT_EQ(sink->Write(Routed({{known, "1"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  Status status = sink->Write(Routed({{missing, "2"}}));
  if (status.ok()) status = sink->Barrier();
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
  EXPECT_NE(status.message().find(missing), std::string::npos) << status.ToString();
  EXPECT_FALSE(world_->NewAdmin()->DescribeTopic(missing).has_value());
}

TEST_P(KafkaSinkTest, WhatIsNoTopicsNameIsAnError) {
  for (const char* name : {"", "a/b", "..", "t\xc3\xa4"}) {
    const auto sink = Opened("", {{"topic-column", Text("to")}});
    const Status status = sink->Write(Routed({{name, "1"}}));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    const std::string told = *name == 0 ? "null" : '"' + std::string(name) + '"';
    EXPECT_NE(status.message().find("column \"to\" is " + told + ": expected a topic's name"), std::string::npos)
        << status.ToString();
  }
}

TEST_P(KafkaSinkTest, AKeyColumnThatTheRowsLackIsAnError) {
  const auto sink = Opened(Topic(1), {{"key", List({"nope"})}});
  const Status status = sink->Write(Rows({{1, "a"}}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("\"nope\", which is not among the row's: id, name"), std::string::npos)
      << status.ToString();
}

TEST_P(KafkaSinkTest, AnUnreachableClusterHoldsTheBarrierAndLosesNothing) {
  const std::string topic = Topic(1);
  const auto sink = Opened(topic);
  ASSERT_EQ(sink->Write(Rows({{1, "a"}})).ToString(), "ok");
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  world_->SetReachable(false);
  ASSERT_EQ(sink->Write(Rows({{2, "b"}})).ToString(), "ok");
  for (int i = 0; i < 30; ++i) {
    const Result<bool> ready = sink->writer().ReadyForBarrier();
    ASSERT_TRUE(ready.has_value()) << ready.error().ToString();
    ASSERT_FALSE(*ready);
    world_->Wait();
  }
  world_->SetReachable(true);
  ASSERT_EQ(sink->Barrier().ToString(), "ok");
  EXPECT_EQ(Stored(topic, 2).size(), 2U);
}

TEST_P(KafkaSinkTest, AClusterThatIsNeverReachedIsAnErrorInBoundedTime) {
  const std::string topic = Topic(1);
  world_->SetReachable(false);
  const auto sink = Opened(topic, {{"request-timeout", Text("500ms")}});
  const Status status = sink->Barrier();
  world_->SetReachable(true);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(world_->connection().bootstrap_servers), std::string::npos) << status.ToString();
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaSinkTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) { return world.param ? "Real" : "Simulated"; });

}  // namespace
}  // namespace weir::kafka_test
