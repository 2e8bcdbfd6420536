// Whole graphs on the simulator's executor: many seeds, crashes and aborted checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "tests/operators/runtime/graph_jobs.h"
#include "tests/simulation/sim_executor.h"

namespace weir::operators {
namespace {

using checkpoint::AfterBarrier;
using simulation::ManualClock;
using simulation::ManualWorkerFactory;
using simulation::SimExecutor;

// One attempt: everything that dies in a crash.
struct Attempt {
  Attempt(const Random& random, TestStateStorage& storage, std::vector<TestVertex> vertices, TestJobOptions options,
          const TestCheckpoint* restored)
      : executor(random, clock, workers),
        job(std::make_unique<TestJob>(executor, clock, workers, storage, std::move(vertices), options, restored)) {}
  ~Attempt() {
    executor.Stop();
    workers.DropAll();
  }

  bool RunUntil(const std::function<bool()>& done) { return executor.RunUntil(done, std::chrono::seconds(100)); }
  bool Checkpoint(AfterBarrier then = AfterBarrier::kGoOn) {
    const size_t before = job->completed();
    job->RequestCheckpoint(then);
    return RunUntil([&] { return job->completed() > before || !job->failures().empty(); }) && job->failures().empty();
  }

  ManualClock clock;
  ManualWorkerFactory workers;
  SimExecutor executor;
  std::unique_ptr<TestJob> job;
};

TestJobOptions SmallSteps() {
  TestJobOptions options;
  options.batches_per_step = 1;
  options.channel.rows_max = 16;
  return options;
}

std::string Failures(const TestJob& job) {
  std::string text;
  for (const Status& status : job.failures()) text += status.ToString() + "\n";
  return text;
}

TEST(SimGraphTest, ABoundedJobEndsWithEveryRowOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    const CountingOptions source;
    Attempt attempt(random, storage, KeyedSumJob(source, 2, 3, world), SmallSteps(), nullptr);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->inputs_ended() == 2; })) << Failures(*attempt.job);
    ASSERT_TRUE(attempt.Checkpoint()) << Failures(*attempt.job);
    EXPECT_TRUE(attempt.job->Newest()->AllFinished());
    EXPECT_EQ(ByKey(attempt.job->Committed(*world)), ExpectedSums(source));
    ASSERT_TRUE(attempt.Checkpoint()) << "a finished job answers later checkpoints";
    EXPECT_TRUE(attempt.job->Newest()->AllFinished());
  }
}

TEST(SimGraphTest, ACutHoldsExactlyTheRowsInFrontOfTheBarrier) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    CountingOptions source;
    source.one_split_a_step = true;
    Attempt attempt(random, storage, KeyedSumJob(source, 2, 2, world), SmallSteps(), nullptr);
    for (int i = 0; i < 6; ++i) {
      for (uint64_t steps = random.Below(60); steps > 0; --steps) attempt.executor.RunOne();
      ASSERT_TRUE(attempt.Checkpoint()) << Failures(*attempt.job);
      ExpectConsistentCut(*attempt.job->Newest(), storage, source);
    }
    EXPECT_FALSE(attempt.job->committed_twice());
  }
}

TEST(SimGraphTest, TheSameSeedTakesTheSameCourse) {
  uint64_t traces[2] = {};
  for (uint64_t& trace : traces) {
    SeededRandom random(42);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    Attempt attempt(random, storage, KeyedSumJob({}, 2, 2, world), SmallSteps(), nullptr);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->inputs_ended() == 2; }));
    trace = attempt.executor.trace();
  }
  EXPECT_EQ(traces[0], traces[1]);
}

// Checkpoints, aborts and crashes at random moments, each restore at another parallelism, slow assignment of splits:
// every row has its effect once, every event of a reader reaches its enumerator's state once.
TEST(SimGraphTest, CrashesAbortsAndRescalingLoseAndDoubleNothing) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    CountingOptions source;
    source.splits = 5;
    source.rows = 60;
    source.one_split_a_step = true;
    std::optional<TestCheckpoint> newest;
    Rows committed;
    for (int attempt_number = 0;; ++attempt_number) {
      ASSERT_LT(attempt_number, 100);
      const std::unique_ptr<Random> own = random.Split(std::to_string(attempt_number));
      const auto sources = static_cast<uint32_t>(1 + own->Below(3));
      const auto sums = static_cast<uint32_t>(1 + own->Below(3));
      TestJobOptions options = SmallSteps();
      options.flush_after_puts = own->OneIn(2) ? 20 : 0;
      source.attempt = std::to_string(attempt_number);
      Attempt attempt(*own, storage, KeyedSumJob(source, sources, sums, world), options,
                      newest.has_value() ? &*newest : nullptr);
      const uint64_t steps = 100 + own->Below(attempt_number > 20 ? 100'000 : 1200);
      for (uint64_t i = 0; i < steps; ++i) {
        if (own->OneIn(30) && !attempt.job->pending()) attempt.job->RequestCheckpoint(AfterBarrier::kGoOn);
        if (own->OneIn(150)) attempt.job->RequestAbort();
        if (own->OneIn(500)) storage.FailNextWrite();
        attempt.executor.RunOne();
        if (const auto now = attempt.job->Newest(); now.has_value() && now->AllFinished()) break;
      }
      storage.TakeFailure();
      ASSERT_TRUE(attempt.job->failures().empty() || options.flush_after_puts > 0) << Failures(*attempt.job);
      ASSERT_FALSE(attempt.job->committed_twice());
      const Rows more = attempt.job->Committed(*world);
      committed.insert(committed.end(), more.begin(), more.end());
      if (attempt.job->Newest().has_value()) {
        newest = attempt.job->Newest();
        ExpectConsistentCut(*newest, storage, source);
      }
      if (newest.has_value() && newest->AllFinished()) break;
    }
    ASSERT_EQ(ByKey(committed), ExpectedSums(source));
    // Events: handled ones are in the enumerator's state, the others in the readers'; together each once.
    const auto snapshot = DecodeEnumeratorSnapshot(newest->enumerators.at("numbers"));
    ASSERT_TRUE(snapshot.has_value());
    std::map<std::string, int> events = DecodeCounting(snapshot->enumerator).events;
    for (const auto& [id, subtask] : newest->subtasks) {
      for (const state::StateFile& file : subtask.state.files) {
        for (const auto& [key, value] : storage.Load(file.path).entries) {
          if (key.second.starts_with("event:")) ++events[value];
        }
      }
    }
    std::set<std::string> splits;
    for (const auto& [event, times] : events) {
      EXPECT_EQ(times, 1) << event;
      splits.insert(event.substr(0, event.find('#')));
    }
    EXPECT_EQ(splits.size(), static_cast<size_t>(source.splits));
  }
}

// What a checkpoint holds twice: splits that its enumerator had not assigned and a reader has; and events that its
// enumerator had not heard of.
struct BetweenSnapshotAndBarrier {
  int splits = 0;
  int events = 0;
};

BetweenSnapshotAndBarrier CountBetween(const TestCheckpoint& checkpoint, const TestStateStorage& storage) {
  BetweenSnapshotAndBarrier between;
  const auto snapshot = DecodeEnumeratorSnapshot(checkpoint.enumerators.at("numbers"));
  EXPECT_TRUE(snapshot.has_value());
  const auto unassigned = DecodeCounting(snapshot->enumerator).unassigned;
  for (const auto& [id, subtask] : checkpoint.subtasks) {
    for (const state::StateFile& file : subtask.state.files) {
      for (const auto& [key, value] : storage.Load(file.path).entries) {
        const std::string& name = key.second;
        if (name.starts_with("split:") && unassigned.contains(name.substr(6))) ++between.splits;
        if (name.starts_with("event:")) ++between.events;
      }
    }
  }
  return between;
}

// Scenario 23: a split is assigned, or a reader's event is on its way, between the enumerator's snapshot and the
// barrier; the job comes back at another parallelism. Every split once, every event once.
TEST(SimGraphTest, Scenario23_ASplitEventBetweenEnumeratorSnapshotAndBarrier) {
  int splits = 0;
  int events = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    CountingOptions source;
    source.splits = 6;
    source.rows = 10;
    source.one_split_a_step = true;
    source.attempt = "first";
    std::optional<TestCheckpoint> cut;
    Rows committed;
    const auto sources = static_cast<uint32_t>(1 + random.Below(3));
    {
      Attempt attempt(random, storage, KeyedSumJob(source, sources, 2, world), SmallSteps(), nullptr);
      for (uint64_t steps = random.Below(40); steps > 0; --steps) attempt.executor.RunOne();
      ASSERT_TRUE(attempt.Checkpoint()) << Failures(*attempt.job);
      cut = attempt.job->Newest();
      committed = attempt.job->Committed(*world);
    }
    ExpectConsistentCut(*cut, storage, source);
    const BetweenSnapshotAndBarrier between = CountBetween(*cut, storage);
    splits += between.splits;
    events += between.events;
    source.attempt = "second";
    const uint32_t others = sources % 3 + 1;
    Attempt attempt(random, storage, KeyedSumJob(source, others, 3, world), SmallSteps(), &*cut);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->inputs_ended() == others; })) << Failures(*attempt.job);
    ASSERT_TRUE(attempt.Checkpoint()) << Failures(*attempt.job);
    const Rows more = attempt.job->Committed(*world);
    committed.insert(committed.end(), more.begin(), more.end());
    ASSERT_EQ(ByKey(committed), ExpectedSums(source));
  }
  EXPECT_GT(splits, 10) << "the test does not reach what it is about";
  EXPECT_GT(events, 10);
}

TEST(SimGraphTest, StopReadsNothingBehindItsBarrierAndAnAbortedStopGoesOn) {
  SeededRandom random(7);
  TestStateStorage storage;
  auto world = std::make_shared<SinkWorld>();
  CountingOptions source;
  source.bounded = false;
  source.rows = 1'000'000'000;
  Attempt attempt(random, storage, KeyedSumJob(source, 2, 2, world), SmallSteps(), nullptr);
  for (int i = 0; i < 500; ++i) attempt.executor.RunOne();
  ASSERT_TRUE(attempt.Checkpoint(AfterBarrier::kStop));
  ExpectConsistentCut(*attempt.job->Newest(), storage, source);
  const uint64_t committed = attempt.job->Committed(*world).size();
  for (int i = 0; i < 500; ++i) attempt.executor.RunOne();
  EXPECT_EQ(world->written, committed);

  // The same again, but the sink holds the barrier and the stop is given up.
  auto slow = std::make_shared<SinkWorld>();
  bool ready = false;
  slow->ready_for_barrier = [&] { return ready; };
  Attempt again(random, storage, KeyedSumJob(source, 2, 2, slow), SmallSteps(), nullptr);
  for (int i = 0; i < 500; ++i) again.executor.RunOne();
  again.job->RequestCheckpoint(AfterBarrier::kStop);
  for (int i = 0; i < 500; ++i) again.executor.RunOne();
  const uint64_t stopped_at = slow->written;
  ASSERT_TRUE(again.job->pending());
  again.job->RequestAbort();
  for (int i = 0; i < 500; ++i) again.executor.RunOne();
  EXPECT_GT(slow->written, stopped_at);
  ready = true;
  ASSERT_TRUE(again.Checkpoint());
  ExpectConsistentCut(*again.job->Newest(), storage, source);
}

TEST(SimGraphTest, DrainEndsTheInputInFrontOfItsBarrier) {
  SeededRandom random(8);
  TestStateStorage storage;
  auto world = std::make_shared<SinkWorld>();
  CountingOptions source;
  source.bounded = false;
  source.rows = 1'000'000'000;
  auto seen = std::make_shared<Probe::Seen>();
  std::vector<TestVertex> vertices = KeyedSumJob(source, 1, 1, world);
  vertices[2].operators = [seen] {
    std::vector<std::unique_ptr<Operator>> operators;
    operators.push_back(std::make_unique<Probe>(seen));
    return operators;
  };
  std::optional<TestCheckpoint> drained;
  {
    Attempt attempt(random, storage, vertices, SmallSteps(), nullptr);
    for (int i = 0; i < 300; ++i) attempt.executor.RunOne();
    ASSERT_TRUE(attempt.Checkpoint(AfterBarrier::kDrain));
    drained = attempt.job->Newest();
    EXPECT_TRUE(drained->AllFinished());
    EXPECT_EQ(seen->finished, 1);
    EXPECT_EQ(seen->watermarks.back().time, EventTime::Max());
  }
  // The reader had not come to its end: a restored job reads on.
  const uint64_t before = world->written;
  Attempt attempt(random, storage, vertices, SmallSteps(), &*drained);
  for (int i = 0; i < 500; ++i) attempt.executor.RunOne();
  EXPECT_GT(world->written, before);
}

TEST(SimGraphTest, AFinishedReaderDoesNotReadAgain) {
  SeededRandom random(9);
  TestStateStorage storage;
  auto world = std::make_shared<SinkWorld>();
  CountingOptions source;
  std::optional<TestCheckpoint> end;
  {
    Attempt attempt(random, storage, KeyedSumJob(source, 2, 2, world), SmallSteps(), nullptr);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->inputs_ended() == 2; }));
    ASSERT_TRUE(attempt.Checkpoint());
    end = attempt.job->Newest();
  }
  source.rows = 200;  // more has come since: it is not part of this job's input
  for (int i = 0; i < 3; ++i) {
    Attempt attempt(random, storage, KeyedSumJob(source, 3, 1, world), SmallSteps(), &*end);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->inputs_ended() == 3; })) << Failures(*attempt.job);
    ASSERT_TRUE(attempt.Checkpoint());
    end = attempt.job->Newest();
    EXPECT_TRUE(end->AllFinished());
    EXPECT_TRUE(attempt.job->Committed(*world).empty());
  }
}

TEST(SimGraphTest, ASlowSinkStopsTheSource) {
  SeededRandom random(10);
  TestStateStorage storage;
  auto world = std::make_shared<SinkWorld>();
  bool open = false;
  world->can_write = [&] { return open; };
  CountingOptions source;
  source.rows = 100'000;
  Attempt attempt(random, storage, KeyedSumJob(source, 1, 1, world), SmallSteps(), nullptr);
  EXPECT_FALSE(attempt.executor.RunUntil([] { return false; }, std::chrono::seconds(3)));
  const uint64_t read = attempt.job->task({0, 0}).metrics().rows_in.load();
  EXPECT_LT(read, 100U) << "two channels of 16 rows, and a batch in each hand";
  EXPECT_EQ(world->written, 0U);
  EXPECT_GT(attempt.job->task({0, 0}).metrics().blocked.load(), 0U);
}

TEST(SimGraphTest, AUnionOfTwoSourcesNamesItsInputsAndWaitsForBothWatermarks) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestStateStorage storage;
    auto world = std::make_shared<SinkWorld>();
    auto seen = std::make_shared<Probe::Seen>();
    CountingOptions fast;
    fast.splits = 1;
    CountingOptions late;
    late.splits = 2;
    late.rows = 30;
    late.bounded = false;
    std::vector<TestVertex> vertices(3);
    vertices[0] = {.name = "fast", .parallelism = 1, .source = fast};
    vertices[1] = {.name = "late", .parallelism = 2, .source = late};
    vertices[2] = {.name = "both",
                   .parallelism = 2,
                   .inputs = {{.from = 0, .partitioning = Partitioning::kBroadcast, .input = 0},
                              {.from = 1, .partitioning = Partitioning::kRebalance, .input = 1}},
                   .operators =
                       [seen] {
                         std::vector<std::unique_ptr<Operator>> operators;
                         operators.push_back(std::make_unique<Probe>(seen));
                         return operators;
                       },
                   .sink = world};
    Attempt attempt(random, storage, vertices, SmallSteps(), nullptr);
    attempt.executor.RunUntil([] { return false; }, std::chrono::seconds(3));
    EXPECT_TRUE(attempt.job->failures().empty()) << Failures(*attempt.job);
    ASSERT_TRUE(attempt.Checkpoint());
    EXPECT_EQ(seen->rows_by_input[0], 200U);  // to both
    EXPECT_EQ(seen->rows_by_input[1], 60U);
    ASSERT_FALSE(seen->watermarks.empty());
    const auto greatest = std::max_element(seen->watermarks.begin(), seen->watermarks.end());
    EXPECT_EQ(greatest->time.wall_ns, 29) << "the late source's; it has not ended";
    EXPECT_EQ(seen->finished, 0);
  }
}

TEST(SimGraphTest, AFailedOperatorNamesItselfAndEndsItsTask) {
  class Broken final : public Operator {
   public:
    Status Open(OperatorContext&) override { return Status::Ok(); }
    Status ProcessBatch(int, Batch, Output&) override { return Status::InvalidArgument("7 is not a date"); }
  };
  SeededRandom random(11);
  TestStateStorage storage;
  auto world = std::make_shared<SinkWorld>();
  std::vector<TestVertex> vertices = KeyedSumJob({}, 1, 1, world);
  vertices[2].operators = [] {
    std::vector<std::unique_ptr<Operator>> operators;
    operators.push_back(std::make_unique<Broken>());
    return operators;
  };
  Attempt attempt(random, storage, vertices, SmallSteps(), nullptr);
  ASSERT_TRUE(attempt.RunUntil([&] { return !attempt.job->failures().empty(); }));
  EXPECT_EQ(attempt.job->failures()[0].ToString(), "invalid argument: out (subtask 0): out-0: 7 is not a date");
}

}  // namespace
}  // namespace weir::operators
