#include "operators/runtime/task.h"

#include <gtest/gtest.h>

#include "operators/paced_operator.h"
#include "tests/operators/runtime/test_pieces.h"
#include "tests/operators/runtime/test_state.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"

namespace weir::operators {
namespace {

using checkpoint::AfterBarrier;
using checkpoint::CheckpointBarrier;
using checkpoint::SubtaskSnapshot;

class HeardAcknowledger final : public checkpoint::Acknowledger {
 public:
  void Acknowledge(SubtaskId, CheckpointId id, Result<SubtaskSnapshot> snapshot) override {
    acknowledged.emplace_back(id.number, std::move(snapshot));
  }
  void TaskFailed(SubtaskId, Status cause) override { failures.push_back(std::move(cause)); }
  void TaskFinished(SubtaskId) override { ++finished; }
  void InputEnded(SubtaskId) override { ++ended; }

  std::vector<std::pair<uint64_t, Result<SubtaskSnapshot>>> acknowledged;
  std::vector<Status> failures;
  int finished = 0;
  int ended = 0;
};

std::vector<std::string> Payloads(const SubtaskSnapshot& snapshot) {
  std::vector<std::string> payloads;
  for (const auto& each : snapshot.committables) payloads.push_back(each.payload);
  return payloads;
}

// Has `pieces` to emit, one row each; passes on what comes.
class Pieces final : public PacedOperator {
 public:
  Pieces(int& pieces, std::optional<MonotonicTime>& deadline) : pieces_(pieces), deadline_(deadline) {}
  Status Open(OperatorContext&) override { return Status::Ok(); }
  Status ProcessBatch(int, Batch batch, Output& output) override { return output.Emit(std::move(batch)); }
  Result<bool> Continue(Output& output) override {
    if (pieces_ == 0) return false;
    --pieces_;
    WEIR_RETURN_IF_ERROR(output.Emit(KeySeqBatch({{"piece", pieces_}})));
    return true;
  }
  std::optional<MonotonicTime> NextDeadline() const override { return deadline_; }

 private:
  int& pieces_;
  std::optional<MonotonicTime>& deadline_;
};

// A sink task behind one channel, with a keyed sum in front of the sink; every step in the test's hand.
struct TaskTest : ::testing::Test {
  ~TaskTest() override { snapshots.reset(); }  // runs what it has left, which needs the rest
  void Make(std::unique_ptr<Operator> behind = nullptr) {
    TaskOptions options;
    options.id = {2, 0};
    options.name = "sums -> out";
    options.inputs = {{&input, 0}};
    options.operators.push_back({"sums", std::make_unique<KeyedSum>()});
    if (behind != nullptr) options.operators.push_back({"behind", std::move(behind)});
    options.sink = {"out", std::make_unique<CollectingWriter>(world)};
    auto made = std::make_unique<TestState>(storage);
    state = made.get();
    options.state = std::move(made);
    options.clock = &clock;
    options.workers = &workers;
    options.snapshots = snapshots.get();
    options.acknowledger = &heard;
    options.wakeup = &none;
    options.sinks_held = &held;
    task = std::make_unique<Task>(std::move(options));
  }
  void Push(Element element) { ASSERT_TRUE(input.TryPush(element)); }
  void Row(int64_t seq) {
    Batch batch = KeySeqBatch({{"k", seq}});
    SetKeys(batch);
    Push(std::move(batch));
  }
  void Barrier(uint64_t number, AfterBarrier then = AfterBarrier::kGoOn) {
    Push(CheckpointBarrier{{number, {}}, then});
  }
  StepResult Settle() {
    StepResult result = StepResult::kProgress;
    for (int i = 0; i < 100 && result == StepResult::kProgress; ++i) result = task->Step();
    return result;
  }

  NoWakeup none;
  simulation::ManualClock clock;
  simulation::ManualWorkerFactory workers;
  std::unique_ptr<Worker> snapshots = workers.NewWorker("snapshots");
  TestStateStorage storage;
  HeardAcknowledger heard;
  std::shared_ptr<SinkWorld> world = std::make_shared<SinkWorld>();
  Channel input{{}, none, none};
  std::atomic<bool> held = false;
  TestState* state = nullptr;
  std::unique_ptr<Task> task;
};

TEST_F(TaskTest, AcknowledgesWhenTheSnapshotIsWrittenWhileRowsFlowOn) {
  Make();
  Row(1);
  Barrier(1);
  Row(2);
  EXPECT_EQ(Settle(), StepResult::kIdle);
  EXPECT_EQ(world->written, 2U);
  EXPECT_TRUE(heard.acknowledged.empty());
  workers.RunAll();
  Settle();
  ASSERT_EQ(heard.acknowledged.size(), 1U);
  const SubtaskSnapshot& snapshot = *heard.acknowledged[0].second;
  EXPECT_EQ(Payloads(snapshot), std::vector<std::string>{"piece-0"});
  EXPECT_EQ(world->sealed["piece-0"], (Rows{{"k", 1}}));
  EXPECT_FALSE(snapshot.finished);
  EXPECT_EQ(storage.Load(snapshot.state.files[0].path).keyed.begin()->second, "1");
}

TEST_F(TaskTest, AnOperatorGoesOnByItselfInFrontOfWhatComesButNotWhileTheSinkIsFullNorBeforeACut) {
  int pieces = 3;
  std::optional<MonotonicTime> deadline = clock.Now() + std::chrono::seconds(5);
  Make(std::make_unique<Pieces>(pieces, deadline));
  Row(7);
  bool full = false;
  world->can_write = [&] { return !full; };
  EXPECT_EQ(Settle(), StepResult::kIdle);
  EXPECT_EQ(task->NextDeadline(), deadline);
  Barrier(1);
  Settle();
  EXPECT_EQ(world->sealed["piece-0"], (Rows{{"piece", 2}, {"piece", 1}, {"piece", 0}, {"k", 7}}));
  pieces = 2;
  full = true;
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(pieces, 2);
  EXPECT_EQ(task->NextDeadline(), std::nullopt) << "it would be called again and again";
  full = false;
  bool ready = false;
  world->ready_for_barrier = [&] { return ready; };
  pieces = 0;
  Barrier(2);
  workers.RunAll();
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  pieces = 2;
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(pieces, 2);
  ready = true;
  Settle();
  EXPECT_EQ(pieces, 0);
}

TEST_F(TaskTest, WhatAnAbortedCheckpointSealedIsListedUntilOneIsDurable) {
  Make();
  Row(1);
  Barrier(1);
  Settle();
  workers.RunAll();
  Settle();
  task->NotifyCheckpointAborted({1, {}});
  Row(2);
  Barrier(2);
  Settle();
  workers.RunAll();
  Settle();
  ASSERT_EQ(heard.acknowledged.size(), 2U);
  EXPECT_EQ(Payloads(*heard.acknowledged[1].second), (std::vector<std::string>{"piece-0", "piece-1"}));
  task->NotifyCheckpointDurable({2, {}});
  Row(3);
  Barrier(3);
  Settle();
  workers.RunAll();
  Settle();
  EXPECT_EQ(Payloads(*heard.acknowledged[2].second), std::vector<std::string>{"piece-2"});
}

TEST_F(TaskTest, AFailedWriteIsAnErrorOfItsCheckpointAlone) {
  Make();
  Row(1);
  Barrier(1);
  Settle();
  storage.FailNextWrite();
  workers.RunAll();
  Settle();
  ASSERT_EQ(heard.acknowledged.size(), 1U);
  EXPECT_EQ(heard.acknowledged[0].second.error().code(), StatusCode::kIoError);
  EXPECT_TRUE(heard.failures.empty());
  Barrier(2);
  Settle();
  workers.RunAll();
  Settle();
  EXPECT_TRUE(heard.acknowledged[1].second.has_value());
}

TEST_F(TaskTest, NoRowPassesABarrierThatWaitsForTheSink) {
  Make();
  bool ready = false;
  world->ready_for_barrier = [&] { return ready; };
  Row(1);
  Barrier(1);
  Row(2);
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(world->written, 1U);
  ready = true;
  EXPECT_EQ(Settle(), StepResult::kIdle);
  EXPECT_EQ(world->written, 2U);
  EXPECT_EQ(world->sealed["piece-0"], (Rows{{"k", 1}}));
}

TEST_F(TaskTest, AnAbortEndsTheWaitForTheSink) {
  Make();
  world->ready_for_barrier = [] { return false; };
  Barrier(1);
  Row(2);
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  task->NotifyCheckpointAborted({1, {}});
  EXPECT_EQ(Settle(), StepResult::kIdle);
  EXPECT_EQ(world->written, 1U);
  EXPECT_TRUE(heard.acknowledged.empty());
}

TEST_F(TaskTest, ABarrierWaitsForAnUnwrittenSnapshot) {
  Make();
  Barrier(1);
  Row(1);
  Barrier(2);
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(state->snapshots(), 1U);
  workers.RunAll();
  Settle();
  EXPECT_EQ(state->snapshots(), 2U);
}

TEST_F(TaskTest, FlushesInMidIntervalAndBlocksWhileThatIsUnwritten) {
  Make();
  state->set_flush_after(3);
  for (int64_t i = 0; i < 10; ++i) Row(i);
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(state->flushes(), 1U);
  EXPECT_EQ(world->written, 6U) << "three frozen, three live";
  while (Settle() == StepResult::kBlocked) workers.RunAll();
  EXPECT_EQ(world->written, 10U);
  EXPECT_EQ(state->flushes(), 3U);
  EXPECT_TRUE(heard.acknowledged.empty());
}

TEST_F(TaskTest, AFullStateThatCannotBeWrittenFailsTheTask) {
  Make();
  state->set_flush_after(3);
  for (int64_t i = 0; i < 4; ++i) Row(i);
  Settle();
  storage.FailNextWrite();
  workers.RunAll();
  EXPECT_EQ(Settle(), StepResult::kFinished);
  ASSERT_EQ(heard.failures.size(), 1U);
  EXPECT_EQ(heard.failures[0].ToString(), "i/o error: sums -> out (subtask 0): state can't be written: disk full");
}

TEST_F(TaskTest, AHeldSinkReadsNothing) {
  Make();
  held = true;
  Row(1);
  EXPECT_EQ(Settle(), StepResult::kBlocked);
  EXPECT_EQ(world->written, 0U);
  held = false;
  EXPECT_EQ(Settle(), StepResult::kIdle);
  EXPECT_EQ(world->written, 1U);
}

TEST_F(TaskTest, AnEndedTaskAnswersEveryLaterCheckpointAsFinished) {
  Make();
  Row(1);
  Push(EndOfInput{});
  Barrier(1);
  Settle();
  workers.RunAll();
  Settle();
  Barrier(2);
  Settle();
  workers.RunAll();
  Settle();
  ASSERT_EQ(heard.acknowledged.size(), 2U);
  EXPECT_TRUE(heard.acknowledged[0].second->finished);
  EXPECT_TRUE(heard.acknowledged[1].second->finished);
  EXPECT_EQ(heard.finished, 1);
}

// A source task whose reader is in the test's hand.
class HandReader final : public SourceReader {
 public:
  struct Hand {
    std::vector<SourceSplit> splits;
    std::function<Result<PollStatus>(SourceOutput&)> poll = [](SourceOutput&) { return PollStatus::kIdle; };
    std::string told;
    ReaderContext context;
  };
  explicit HandReader(Hand& hand) : hand_(hand) {}
  Status Open(ReaderContext& context) override {
    hand_.context = context;
    return Status::Ok();
  }
  Status AddSplits(std::vector<SourceSplit> splits) override {
    for (SourceSplit& split : splits) {
      hand_.told += "split " + split.id + " ";
      hand_.splits.push_back(std::move(split));
    }
    return Status::Ok();
  }
  void NoMoreSplits() override {}
  Result<PollStatus> PollNext(SourceOutput& output) override { return hand_.poll(output); }
  std::vector<SourceSplit> SnapshotState(CheckpointId) override { return hand_.splits; }
  Status NotifyCheckpointApplied(CheckpointId id) override {
    hand_.told += "applied" + std::to_string(id.number) + " ";
    return Status::Ok();
  }
  Status HandleEvent(const std::string& event) override {
    hand_.told += event + " ";
    return Status::Ok();
  }

 private:
  Hand& hand_;
};

struct SourceTaskTest : TaskTest {
  SourceTaskTest() {
    EnumeratorHostOptions host_options;
    host_options.uid = "orders";
    host_options.enumerator = std::make_unique<CountingEnumerator>(CountingOptions{});
    host_options.wakeup = &none;
    host = std::make_unique<EnumeratorHost>(std::move(host_options));
    TaskOptions options;
    options.id = {0, 0};
    options.name = "orders";
    options.source = {"orders", std::make_unique<HandReader>(hand), host.get()};
    options.outputs = {{"orders", "", Partitioning::kForward, {&output}}};
    auto made = std::make_unique<TestState>(storage);
    state = made.get();
    options.state = std::move(made);
    options.clock = &clock;
    options.workers = &workers;
    options.snapshots = snapshots.get();
    options.acknowledger = &heard;
    options.wakeup = &none;
    task = std::make_unique<Task>(std::move(options));
  }
  // Watermarks, barriers and the end that came out since the last call.
  std::string Out() {
    std::string text;
    while (std::optional<Element> element = output.TryPop()) {
      if (const auto* watermark = std::get_if<Watermark>(&*element)) {
        const bool max = watermark->time == EventTime::Max();
        text += max ? "wmax " : "w" + std::to_string(watermark->time.wall_ns) + " ";
      } else if (const auto* barrier = std::get_if<CheckpointBarrier>(&*element)) {
        text += "b" + std::to_string(barrier->id.number) + " ";
      } else if (std::holds_alternative<EndOfInput>(*element)) {
        text += "end ";
      } else {
        text += "rows ";
      }
    }
    return text;
  }
  void Emit(const std::string& split, int64_t time) {
    hand.poll = [split, time](SourceOutput& out) -> Result<PollStatus> {
      out.EmitWatermark(split, {EventTime{time, 0}});
      return PollStatus::kIdle;
    };
    Settle();
    hand.poll = [](SourceOutput&) { return PollStatus::kIdle; };
  }
  void Snapshot(uint64_t number) {
    task->TriggerCheckpoint({{number, {}}});
    Settle();
    workers.RunAll();
    Settle();
  }

  HandReader::Hand hand;
  std::unique_ptr<EnumeratorHost> host;
  Channel output{{}, none, none};
};

TEST_F(SourceTaskTest, TheWatermarkIsTheMinimumOverTheSplits) {
  task->AddSplits({{"a", "0"}, {"b", "0"}});
  Emit("a", 5);
  EXPECT_EQ(Out(), "");
  Emit("b", 3);
  EXPECT_EQ(Out(), "w3 ");
  Emit("b", 9);
  EXPECT_EQ(Out(), "w5 ");
  task->AddSplits({{"c", "0"}});
  Emit("a", 20);
  EXPECT_EQ(Out(), "") << "c has none yet";
  Emit("c", 7);
  EXPECT_EQ(Out(), "w7 ");
}

TEST_F(SourceTaskTest, AReaderWithoutSplitsIsWaitedForUntilTheEnumeratorHasSpoken) {
  Settle();
  EXPECT_EQ(Out(), "");
  task->AddSplits({});
  Settle();
  EXPECT_EQ(Out(), "wmax ");
  task->AddSplits({{"a", "0"}});
  Settle();
  EXPECT_EQ(Out(), "w" + std::to_string(EventTime::Min().wall_ns) + " ");
  Emit("a", 4);
  EXPECT_EQ(Out(), "w4 ");
}

TEST_F(SourceTaskTest, SplitsAndEventsLieInOperatorStateAtTheCut) {
  task->AddSplits({{"orders-1", "{\"offset\":42}"}});
  Settle();
  hand.context.send_event("found orders-2");
  hand.context.send_event("found orders-3");
  Snapshot(1);
  ASSERT_EQ(heard.acknowledged.size(), 1U);
  const SubtaskSnapshot& snapshot = *heard.acknowledged[0].second;
  EXPECT_EQ(snapshot.offsets.at("orders"), "{\"orders-1\":{\"offset\":42}}");
  const auto entries = storage.Load(snapshot.state.files[0].path).entries;
  const std::map<std::pair<std::string, std::string>, std::string> expected{
      {{"orders", "split:orders-1"}, "{\"offset\":42}"},
      {{"orders", "event:0-00000000000000000001"}, "found orders-2"},
      {{"orders", "event:0-00000000000000000002"}, "found orders-3"}};
  EXPECT_EQ(entries, expected);
  task->AcknowledgeSourceEvents(1);
  hand.splits = {{"orders-9", "1"}};
  Snapshot(2);
  const std::map<std::pair<std::string, std::string>, std::string> later{
      {{"orders", "split:orders-9"}, "1"}, {{"orders", "event:0-00000000000000000002"}, "found orders-3"}};
  EXPECT_EQ(storage.Load(heard.acknowledged[1].second->state.files[0].path).entries, later);
}

TEST_F(SourceTaskTest, ARestoredReaderHearsOfTheAppliedCheckpointBehindItsSplits) {
  task->NotifyCheckpointApplied({7, {}});
  task->AddSplits({{"a", "0"}});
  Settle();
  EXPECT_EQ(hand.told, "applied7 split a applied7 ");
  Snapshot(8);
  task->AddSplits({{"b", "0"}});
  Settle();
  EXPECT_EQ(hand.told, "applied7 split a applied7 split b ");
}

TEST_F(SourceTaskTest, ATriggerOfAnAbortedCheckpointIsPassedOver) {
  task->NotifyCheckpointAborted({3, {}});
  Snapshot(3);
  EXPECT_TRUE(heard.acknowledged.empty());
  EXPECT_EQ(Out(), "");
  Snapshot(4);
  EXPECT_EQ(heard.acknowledged.size(), 1U);
  EXPECT_EQ(Out(), "b4 ");
}

TEST_F(SourceTaskTest, TheEndIsPassedOnAndReportedOnce) {
  hand.poll = [](SourceOutput&) { return PollStatus::kFinished; };
  Settle();
  EXPECT_EQ(Out(), "wmax end ");
  EXPECT_EQ(heard.ended, 1);
  Snapshot(1);
  Snapshot(2);
  EXPECT_EQ(Out(), "b1 b2 ");
  EXPECT_EQ(heard.finished, 1);
  EXPECT_TRUE(heard.acknowledged[1].second->finished);
}

TEST_F(SourceTaskTest, AFailedReaderEndsTheTaskWithItsName) {
  hand.poll = [](SourceOutput&) -> Result<PollStatus> { return Error(Status::NotFound("topic 'orders' is gone")); };
  EXPECT_EQ(Settle(), StepResult::kFinished);
  ASSERT_EQ(heard.failures.size(), 1U);
  EXPECT_EQ(heard.failures[0].ToString(), "not found: orders (subtask 0): orders: topic 'orders' is gone");
  EXPECT_EQ(Settle(), StepResult::kFinished);
  EXPECT_EQ(heard.failures.size(), 1U);
}

}  // namespace
}  // namespace weir::operators
