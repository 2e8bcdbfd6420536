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
    std::string name = world_->NewName("out");
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<SinkDriver> Opened(const std::string& topic, Definition more = {}) {
    more.emplace_back("topic", Text(topic));
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
  // "key=value@timestamp" of partition 0, in order.
  std::vector<std::string> Stored(const std::string& topic, size_t count, bool times = false) {
    auto consumer = std::move(*world_->factory().NewConsumer(world_->connection(), world_->context()));
    EXPECT_TRUE(consumer->Assign(std::vector<connectors::PartitionStart>{{{topic, 0}, 0}}).ok());
    std::vector<std::string> stored;
    EXPECT_TRUE(world_->Until([&] {
      const auto block = consumer->Fetch();
      if (block.has_value() && *block != nullptr) {
        for (const connectors::KafkaRecord& record : (*block)->records()) {
          const auto text = [](std::string_view bytes) {
            return bytes.data() == nullptr ? std::string("null") : std::string(bytes);
          };
          stored.push_back(text(record.key) + "=" + text(record.value) +
                           (times ? "@" + std::to_string(record.timestamp_ms) : ""));
        }
      }
      return stored.size() >= count;
    }));
    return stored;
  }

  std::unique_ptr<KafkaWorld> world_;
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

TEST_P(KafkaSinkTest, AKeyColumnThatTheRowsLackIsAnError) {
  const auto sink = Opened(Topic(1), {{"key", List({"nope"})}});
  const Status status = sink->Write(Rows({{1, "a"}}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("\"nope\" is not among the row's: id, name"), std::string::npos) << status.ToString();
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
