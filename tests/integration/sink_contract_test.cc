// What every sink promises, whatever system it writes to: the same cases for files, a Kafka broker and a PostgreSQL.
// Segments and files lie on a simulated disk; workers run when asked, but for those of Kafka, which wait for its
// client.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "connectors/file/sink.h"
#include "connectors/kafka/sink.h"
#include "connectors/postgres/sink.h"
#include "tests/connectors/kafka/connector_driver.h"
#include "tests/connectors/kafka/kafka_world.h"
#include "tests/integration/postgres_world.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir {
namespace {

using checkpoint::Committable;
using kafka_test::Definition;
using kafka_test::Text;
using Lines = std::vector<std::string>;
using Sealed = std::vector<Committable>;

constexpr char kSegments[] = "/storage/output";
constexpr char kFolder[] = "/out";

class SinkContractTest : public testing::TestWithParam<std::string> {
 protected:
  SinkContractTest() {
    EXPECT_EQ(fs_.CreateDirectories(kSegments).ToString(), "ok");
    if (GetParam() == "file") {
      type_ = connectors::FileSinkType(fs_, "/");
      definition_ = {{"path", Text(kFolder)}};
    } else if (GetParam() == "kafka") {
      kafka_ = kafka_test::NewRealWorld();
      job_ = topic_ = kafka_->NewName("contract");
      EXPECT_EQ(kafka_->CreateTopic(topic_, 1).ToString(), "ok");
      type_ = connectors::KafkaSinkType(kafka_->factory());
      definition_ = {{"topic", Text(topic_)}, {"bootstrap-servers", Text(kafka_->connection().bootstrap_servers)}};
    } else {
      postgres_ = std::make_unique<postgres_test::RealPostgresWorld>();
      postgres_->Run("CREATE TABLE t (id text)");
      type_ = connectors::PostgresSinkType(postgres_->factory());
      definition_ = {{"table", Text("t")}, {"mode", Text("append")}, {"connection", Text(postgres_->conninfo())}};
    }
  }

  // One start of the job.
  struct Start {
    UniqueId attempt;
    std::unique_ptr<operators::Sink> sink;
    operators::SubtaskMetrics metrics;
    operators::WriterContext context;
    std::unique_ptr<operators::SinkWriter> writer;
    std::unique_ptr<checkpoint::Committer> committer;  // null: at least once
    uint64_t applied = 0;                              // number of the newest checkpoint that the system has
  };

  // `listed`: what the checkpoint that it restores has sealed.
  std::unique_ptr<Start> Begin(const Sealed& listed, const std::string& delivery = "exactly-once") {
    auto start = std::make_unique<Start>();
    start->attempt = {.high = ++starts_, .low = 1};
    Definition definition = definition_;
    definition.emplace_back("delivery", Text(delivery));
    operators::Options options;
    EXPECT_EQ(kafka_test::ProblemsOf(type_.options, type_.check, definition, &options), Lines());
    start->sink = std::move(*type_.create(options));
    start->writer = std::move(*start->sink->CreateWriter());
    start->context = {.job = job_,
                      .uid = "out",
                      .subtask = 0,
                      .parallelism = 1,
                      .attempt = start->attempt,
                      .file_system = &fs_,
                      .output_folder = kSegments,
                      .segment_stem = job_ + "-" + std::to_string(starts_) + "-",
                      .clock = &clock(),
                      .workers = kafka_ != nullptr ? kafka_->context().workers : &workers_,
                      .wakeup = &wakeup_,
                      .metrics = &start->metrics};
    EXPECT_EQ(start->writer->Open(start->context).ToString(), "ok");
    workers_.RunAll();
    if (!start->sink->system().empty()) Take(*start, listed);
    return start;
  }
  // The protocol's order of a start.
  void Take(Start& start, const Sealed& listed) {
    start.committer = std::move(*start.sink->CreateCommitter(
        {.job = job_, .attempt = start.attempt, .file_system = &fs_, .output_folder = kSegments, .clock = &clock()}));
    EXPECT_TRUE(start.committer->Peek().has_value());
    ASSERT_EQ(start.committer->Fence().ToString(), "ok");
    const auto marker = start.committer->ReadMarker();
    ASSERT_TRUE(marker.has_value()) << marker.error().ToString();
    start.applied = marker->has_value() ? (*marker)->checkpoint.number : 0;
    EXPECT_EQ(start.committer->Verify(listed).ToString(), "ok");
    ASSERT_EQ(start.committer->Sign(MarkerOf(start, start.applied), listed).ToString(), "ok");
  }
  checkpoint::Marker MarkerOf(const Start& start, uint64_t number) const {
    return {.job = job_,
            .storage = {.high = 3, .low = 4},
            .attempt = start.attempt,
            .checkpoint = {.number = number, .id = {.high = number, .low = 9}}};
  }
  void Write(Start& start, const Lines& ids) {
    operators::Batch batch(std::make_shared<const operators::Schema>(Lines{"id"}), ids.size());
    for (const std::string& id : ids) {
      batch.AddRow(operators::RowKind::kInsert, {})[0] =
          operators::Value::Text(operators::ValueType::kString, batch.arena().Copy(id));
    }
    EXPECT_TRUE(kafka_ == nullptr || kafka_->Until([&] { return start.writer->CanWrite(); }));
    EXPECT_TRUE(start.writer->CanWrite());
    ASSERT_EQ(start.writer->Write(std::move(batch)).ToString(), "ok");
  }
  // A barrier.
  Sealed Seal(Start& start) {
    const auto ready = [&] {
      workers_.RunAll();
      const Result<bool> answer = start.writer->ReadyForBarrier();
      EXPECT_TRUE(answer.has_value()) << answer.error().ToString();
      return !answer.has_value() || *answer;
    };
    EXPECT_TRUE(kafka_ != nullptr ? kafka_->Until(ready) : ready() || ready() || ready());
    auto sealed = start.writer->PrepareCommit({start.applied + 1, {}});
    EXPECT_TRUE(sealed.has_value()) << sealed.error().ToString();
    return sealed.value_or(Sealed());
  }
  void Apply(Start& start, const Sealed& sealed) {
    ASSERT_EQ(start.committer->Apply(MarkerOf(start, start.applied + 1), sealed).ToString(), "ok");
    ++start.applied;
  }

  // The ids that everybody sees now, sorted.
  Lines Visible() {
    Lines ids = kafka_ != nullptr      ? InTopic()
                : postgres_ != nullptr ? postgres_->Query("SELECT id FROM t")
                                       : InFolder();
    std::ranges::sort(ids);
    return ids;
  }

 private:
  const Clock& clock() { return kafka_ != nullptr ? *kafka_->context().clock : manual_clock_; }
  // Of {"id":"7"}.
  static std::string IdOf(std::string_view json) {
    EXPECT_TRUE(json.starts_with("{\"id\":\"") && json.ends_with("\"}")) << json;
    return std::string(json.substr(7, json.size() - 9));
  }
  Lines InFolder() {
    Lines ids;
    for (const std::string& name : fs_.List(kFolder).value_or(Lines())) {
      if (name.starts_with('.')) continue;
      std::string text = *ReadFile(fs_, JoinPath(kFolder, name));
      for (size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        ids.push_back(IdOf(std::string_view(text).substr(0, end)));
      }
    }
    return ids;
  }
  Lines InTopic() {
    const std::vector<connectors::TopicPartition> partitions = {{topic_, 0}};
    const std::vector<int64_t> ends = kafka_->CommittedEnds(partitions);
    const auto consumer = std::move(*kafka_->factory().NewConsumer(kafka_->connection(), kafka_->context()));
    EXPECT_TRUE(consumer->Assign(std::vector<connectors::PartitionStart>{{{topic_, 0}, 0}}).ok());
    Lines ids;
    EXPECT_TRUE(kafka_->Until([&] {
      const auto block = consumer->Fetch();
      if (block.has_value() && *block != nullptr) {
        for (const auto& record : (*block)->records()) ids.push_back(IdOf(record.value));
      }
      return consumer->Position(0) >= ends.at(0);
    }));
    return ids;
  }

  simulation::SimFileSystem fs_{3};
  simulation::ManualWorkerFactory workers_;
  simulation::ManualClock manual_clock_;
  NoWakeup wakeup_;
  std::unique_ptr<kafka_test::KafkaWorld> kafka_;
  std::unique_ptr<postgres_test::RealPostgresWorld> postgres_;
  std::string job_ = "contract";
  std::string topic_;
  operators::SinkType type_;
  Definition definition_;
  uint64_t starts_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Systems, SinkContractTest, testing::Values("file", "kafka", "postgres"),
                         [](const auto& system) { return system.param; });

TEST_P(SinkContractTest, B45_RowsOfACheckpointAppearWhenItIsAppliedAndStayOnce) {
  auto job = Begin({});
  Write(*job, {"1", "2"});
  const Sealed first = Seal(*job);
  EXPECT_EQ(Visible(), Lines());
  Apply(*job, first);
  EXPECT_EQ(Visible(), (Lines{"1", "2"}));
  job.reset();
  job = Begin(first);
  EXPECT_EQ(job->applied, 1U) << "the system itself says that nothing is to be done";
  EXPECT_EQ(Visible(), (Lines{"1", "2"}));
  Write(*job, {"3"});
  Apply(*job, Seal(*job));
  EXPECT_EQ(Visible(), (Lines{"1", "2", "3"}));
}

TEST_P(SinkContractTest, B45_WhatWasDurableAndNotAppliedIsAppliedByTheNextStart) {
  auto job = Begin({});
  Write(*job, {"1", "2"});
  const Sealed sealed = Seal(*job);
  job.reset();
  job = Begin(sealed);
  EXPECT_EQ(job->applied, 0U);
  EXPECT_EQ(Visible(), Lines());
  Apply(*job, sealed);
  EXPECT_EQ(Visible(), (Lines{"1", "2"}));
}

TEST_P(SinkContractTest, B45_WhatNoCheckpointListsIsNeverSeen) {
  auto job = Begin({});
  Write(*job, {"sealed"});
  EXPECT_FALSE(Seal(*job).empty());
  Write(*job, {"not even that"});
  job.reset();
  job = Begin({});
  Write(*job, {"1"});
  Apply(*job, Seal(*job));
  EXPECT_EQ(Visible(), Lines{"1"});
}

TEST_P(SinkContractTest, B45_AtLeastOnceABarrierMeansWritten) {
  const auto job = Begin({}, "at-least-once");
  EXPECT_EQ(job->committer, nullptr);
  Write(*job, {"1", "2"});
  EXPECT_TRUE(Seal(*job).empty());
  EXPECT_EQ(Visible(), (Lines{"1", "2"}));
  EXPECT_TRUE(Seal(*job).empty());
  EXPECT_EQ(Visible(), (Lines{"1", "2"}));
}

}  // namespace
}  // namespace weir
