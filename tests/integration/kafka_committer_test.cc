// The exactly-once half of the kafka sink on the simulated cluster and on a real broker: rows and marker in one
// transaction, fences, a second apply, what is refused.
#include <gtest/gtest.h>

#include "checkpoint/sealed_file.h"
#include "connectors/kafka/committer.h"
#include "connectors/kafka/segment.h"
#include "tests/connectors/kafka/connector_driver.h"
#include "tests/connectors/kafka/kafka_world.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::kafka_test {
namespace {

using checkpoint::Committable;
using checkpoint::Marker;
using connectors::KafkaCommitter;
using connectors::TopicPartition;

constexpr UniqueId kOurs{.high = 0x1111, .low = 1};
constexpr UniqueId kOther{.high = 0x2222, .low = 2};
constexpr char kOutput[] = "/storage/output";

class KafkaCommitterTest : public testing::TestWithParam<bool> {
 protected:
  KafkaCommitterTest() : world_(GetParam() ? NewRealWorld() : NewSimWorld()), job_(world_->NewName("job")) {
    EXPECT_EQ(fs_.CreateDirectories(kOutput).ToString(), "ok");
  }

  std::string Topic(int partitions = 1) {
    std::string name = world_->NewName("out-" + std::to_string(topics_++));
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  std::unique_ptr<KafkaCommitter> NewCommitter(Duration request_timeout = std::chrono::seconds(10)) {
    connectors::KafkaSinkOptions options;
    options.connection = world_->connection();
    options.exactly_once = true;
    options.transaction_timeout = std::chrono::seconds(60);
    options.request_timeout = request_timeout;
    operators::CommitterContext context;
    context.job = job_;
    context.file_system = &fs_;
    context.output_folder = kOutput;
    context.clock = world_->context().clock;
    return std::make_unique<KafkaCommitter>(options, world_->factory(), context);
  }
  // Peeked, fenced and signed at checkpoint `number`.
  std::unique_ptr<KafkaCommitter> Started(UniqueId attempt, uint64_t number) {
    auto committer = NewCommitter();
    EXPECT_EQ(committer->Fence().ToString(), "ok");
    EXPECT_EQ(committer->Sign(MarkerOf(attempt, number), {}).ToString(), "ok");
    return committer;
  }
  Marker MarkerOf(UniqueId attempt, uint64_t number) const {
    return {.job = job_,
            .storage = {.high = 3, .low = 4},
            .attempt = attempt,
            .checkpoint = {.number = number, .id = {.high = number, .low = 9}}};
  }
  Committable Seal(const std::string& topic, const std::vector<std::string>& values) {
    std::string bytes;
    connectors::AppendSegmentTopic(bytes, topic);
    for (const std::string& value : values) connectors::AppendSegmentRow(bytes, {.key = "k", .value = value});
    connectors::AppendSegmentEnd(bytes);
    checkpoint::FolderSealer sealer(fs_, kOutput);
    const std::string name = "segment-" + std::to_string(segments_++);
    EXPECT_EQ(sealer.Append(name, bytes).ToString(), "ok");
    const auto sealed = sealer.Seal(values.size());
    EXPECT_TRUE(sealed.has_value());
    return {.system = "kafka:x",
            .uid = "sink",
            .payload = {},
            .size_bytes = sealed->size_bytes,
            .rows = sealed->rows,
            .segment = name,
            .checksum = sealed->checksum};
  }
  // Rows of topic and name; an empty name is null.
  static operators::Batch Rows(const std::vector<std::pair<std::string, std::string>>& rows) {
    using operators::Value;
    static const auto schema = std::make_shared<const operators::Schema>(std::vector<std::string>{"to", "name"});
    operators::Batch batch(schema, rows.size());
    for (const auto& [to, name] : rows) {
      Value* values = batch.AddRow(operators::RowKind::kInsert, {});
      values[0] = Value::Text(operators::ValueType::kString, batch.arena().Copy(to));
      values[1] = name.empty() ? Value::Null() : Value::Text(operators::ValueType::kString, batch.arena().Copy(name));
    }
    return batch;
  }
  // What a read_committed consumer sees of partition 0, up to its end now: "value name:header".
  std::vector<std::string> Committed(const std::string& topic) {
    const std::vector<TopicPartition> asked = {{topic, 0}};
    const std::vector<int64_t> ends = world_->CommittedEnds(asked);
    EXPECT_EQ(ends.size(), 1U);
    if (ends.empty()) return {};
    auto consumer = std::move(*world_->factory().NewConsumer(world_->connection(), world_->context()));
    EXPECT_TRUE(consumer->Assign(std::vector<connectors::PartitionStart>{{{topic, 0}, 0}}).ok());
    std::vector<std::string> values;
    EXPECT_TRUE(world_->Until([&] {
      const auto block = consumer->Fetch();
      if (block.has_value() && *block != nullptr) {
        for (size_t i = 0; i < (*block)->records().size(); ++i) {
          std::string& value = values.emplace_back((*block)->records()[i].value);
          for (const connectors::KafkaHeader& header : (*block)->Headers(i)) {
            value += " " + std::string(header.name) + ":" + std::string(header.value);
          }
        }
      }
      return consumer->Position(0) >= ends[0];
    }));
    return values;
  }

  std::unique_ptr<KafkaWorld> world_;
  const std::string job_;
  simulation::SimFileSystem fs_{3};
  int segments_ = 0;
  int topics_ = 0;
};

TEST_P(KafkaCommitterTest, TheMarkerIsWhatWasSignedOrApplied) {
  const std::string topic = Topic();
  const auto committer = NewCommitter();
  EXPECT_FALSE(committer->Peek()->has_value());
  ASSERT_EQ(committer->Fence().ToString(), "ok");
  EXPECT_FALSE(committer->ReadMarker()->has_value());
  ASSERT_EQ(committer->Sign(MarkerOf(kOurs, 0), {}).ToString(), "ok");
  EXPECT_EQ(committer->ReadMarker()->value(), MarkerOf(kOurs, 0));
  const std::vector<Committable> output = {Seal(topic, {"a", "b"}), Seal(topic, {"c"})};
  ASSERT_EQ(committer->Apply(MarkerOf(kOurs, 1), output).ToString(), "ok");
  EXPECT_EQ(committer->ReadMarker()->value(), MarkerOf(kOurs, 1));
  EXPECT_EQ(NewCommitter()->Peek()->value(), MarkerOf(kOurs, 1));
  EXPECT_EQ(Committed(topic), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_P(KafkaCommitterTest, SegmentsOfSeveralTopicsAppearTogether) {
  const std::string a = Topic();
  const std::string b = Topic();
  const auto committer = Started(kOurs, 0);
  const std::vector<Committable> output = {Seal(a, {"1"}), Seal(b, {"2"}), Seal(a, {"3"})};
  ASSERT_EQ(committer->Apply(MarkerOf(kOurs, 1), output).ToString(), "ok");
  EXPECT_EQ(Committed(a), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(Committed(b), (std::vector<std::string>{"2"}));
}

TEST_P(KafkaCommitterTest, RowsComeWithTheirHeadersToTheTopicsTheyName) {
  const std::string a = Topic();
  const std::string b = Topic();
  SinkDriver sink(*world_, {{"topic-column", Text("to")},
                            {"headers", Object({{"who", Text("name")}, {"where", Text("to")}})},
                            {"format", Text("debezium-json")},
                            {"on-too-large", Text("skip")},
                            {"delivery", Text("exactly-once")}});
  ASSERT_EQ(sink.Open(&fs_, kOutput).ToString(), "ok");
  ASSERT_EQ(sink.Write(Rows({{a, "1"}, {b, ""}, {a, std::string(600'000, 'x')}, {a, "3"}})).ToString(), "ok");
  ASSERT_EQ(sink.Write(Rows({{b, "4"}})).ToString(), "ok");
  ASSERT_EQ(sink.Barrier().ToString(), "ok");
  const auto output = sink.writer().PrepareCommit({1, {}});
  ASSERT_TRUE(output.has_value() && output->size() == 1);
  EXPECT_EQ((*output)[0].rows, 4U);
  EXPECT_EQ(sink.bad_records(), 1U);
  const auto committer = Started(kOurs, 0);
  ASSERT_EQ(committer->Apply(MarkerOf(kOurs, 1), *output).ToString(), "ok");
  const auto record = [](const std::string& topic, const std::string& name) {
    return R"({"before":null,"after":{"to":")" + topic + R"(","name":)" +
           (name.empty() ? "null},\"op\":\"c\"}" : '"' + name + "\"},\"op\":\"c\"} who:" + name) + " where:" + topic;
  };
  EXPECT_EQ(Committed(a), (std::vector<std::string>{record(a, "1"), record(a, "3")}));
  EXPECT_EQ(Committed(b), (std::vector<std::string>{record(b, ""), record(b, "4")}));
}

TEST_P(KafkaCommitterTest, RowsForATopicThatDoesNotExistAreInNoCheckpoint) {
  const std::string known = Topic();
  SinkDriver sink(*world_, {{"topic-column", Text("to")}, {"delivery", Text("exactly-once")}});
  ASSERT_EQ(sink.Open(&fs_, kOutput).ToString(), "ok");
  ASSERT_EQ(sink.Write(Rows({{known, "1"}})).ToString(), "ok");
  ASSERT_EQ(sink.Barrier().ToString(), "ok");
  Status status = sink.Write(Rows({{"never-made", "2"}}));
  if (status.ok()) status = sink.Barrier();
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
  EXPECT_NE(status.message().find("never-made"), std::string::npos) << status.ToString();
}

TEST_P(KafkaCommitterTest, WhoIsFencedAppliesNothing) {
  const std::string topic = Topic();
  const auto first = Started(kOurs, 0);
  const auto second = Started(kOther, 0);
  const std::vector<Committable> output = {Seal(topic, {"a"})};
  EXPECT_EQ(first->Apply(MarkerOf(kOurs, 1), output).code(), StatusCode::kFenced);
  EXPECT_EQ(first->Peek()->value(), MarkerOf(kOther, 0));
  EXPECT_EQ(Committed(topic), std::vector<std::string>());
  ASSERT_EQ(second->Apply(MarkerOf(kOther, 1), output).ToString(), "ok");
  EXPECT_EQ(Committed(topic), (std::vector<std::string>{"a"}));
}

TEST_P(KafkaCommitterTest, ADamagedSegmentLeavesNothingBehind) {
  const std::string topic = Topic();
  auto committer = Started(kOurs, 0);
  std::vector<Committable> output = {Seal(topic, {"a"}), Seal(topic, {"b"})};
  ASSERT_EQ(fs_.Remove(JoinPath(kOutput, output[1].segment)).ToString(), "ok");
  EXPECT_FALSE(committer->Apply(MarkerOf(kOurs, 1), output).ok());
  committer = Started(kOurs, 0);
  EXPECT_EQ(Committed(topic), std::vector<std::string>());
}

TEST_P(KafkaCommitterTest, AnOpenTransactionOfAFrozenOwnerIsNotWaitedForByAPeekAndEndedByTheFence) {
  const std::string topic = Topic();
  const auto before = Started(kOurs, 0);
  connectors::KafkaTransactionOptions transaction;
  transaction.transactional_id = "weir-" + job_;
  transaction.transaction_timeout = std::chrono::seconds(60);
  transaction.request_timeout = std::chrono::seconds(10);
  auto producer =
      *world_->factory().NewTransactionalProducer(world_->connection(), transaction, *world_->context().clock);
  ASSERT_EQ(producer->Init().ToString(), "ok");
  ASSERT_EQ(producer->Begin().ToString(), "ok");
  const connectors::ProduceRow row{.key = job_, .value = "half a marker", .partition = 0};
  ASSERT_EQ(producer->Produce(connectors::kKafkaMarkerTopic, std::span(&row, 1)).ToString(), "ok");
  ASSERT_EQ(producer->Produce(topic, std::span(&row, 1)).ToString(), "ok");
  const auto next = NewCommitter();
  EXPECT_EQ(next->Peek()->value(), MarkerOf(kOurs, 0));
  ASSERT_EQ(next->Fence().ToString(), "ok");
  EXPECT_EQ(next->ReadMarker()->value(), MarkerOf(kOurs, 0));
  EXPECT_EQ(Committed(topic), std::vector<std::string>());
}

TEST_P(KafkaCommitterTest, ATopicThatIsGoneIsNamed) {
  const auto committer = Started(kOurs, 0);
  const std::vector<Committable> output = {Seal("never-made", {"a"})};
  const Status status = committer->Apply(MarkerOf(kOurs, 1), output);
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
  EXPECT_NE(status.message().find("never-made"), std::string::npos) << status.ToString();
}

TEST_P(KafkaCommitterTest, Scenario20_ATopicDeletedAndMadeAgainLeavesTheMarker) {
  const std::string topic = Topic();
  std::vector<Committable> output = {Seal(topic, {"a"})};
  ASSERT_EQ(Started(kOurs, 0)->Apply(MarkerOf(kOurs, 1), output).ToString(), "ok");
  ASSERT_EQ(world_->DeleteTopic(topic).ToString(), "ok");
  ASSERT_TRUE(world_->Until([&] { return world_->CreateTopic(topic, 1).ok(); }));
  const auto committer = NewCommitter();
  EXPECT_EQ(committer->Peek()->value(), MarkerOf(kOurs, 1));
  ASSERT_EQ(committer->Fence().ToString(), "ok");
  EXPECT_EQ(committer->ReadMarker()->value(), MarkerOf(kOurs, 1));
  ASSERT_EQ(committer->Sign(MarkerOf(kOther, 1), {}).ToString(), "ok");
  output = {Seal(topic, {"b"})};
  ASSERT_EQ(committer->Apply(MarkerOf(kOther, 2), output).ToString(), "ok");
  EXPECT_EQ(Committed(topic), std::vector<std::string>{"b"});
}

TEST_P(KafkaCommitterTest, AClusterThatCanNotBeReachedIsUnavailable) {
  const auto committer = NewCommitter(std::chrono::seconds(1));
  world_->SetReachable(false);
  EXPECT_EQ(committer->Peek().error().code(), StatusCode::kUnavailable);
  EXPECT_EQ(committer->Fence().code(), StatusCode::kUnavailable);
  world_->SetReachable(true);
  EXPECT_EQ(committer->Fence().ToString(), "ok");
}

INSTANTIATE_TEST_SUITE_P(Worlds, KafkaCommitterTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) {
                           return world.param ? "RealBroker" : "Simulated";
                         });

}  // namespace
}  // namespace weir::kafka_test
