// The frontier in the engine: readers, their enumerator and an operator behind an exchange as tasks of the simulator's
// executor, checkpoints, crashes and other parallelisms at random. Behind the exchange every subtask must have seen the
// same watermark at a barrier, and every row below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "connectors/kafka/register_kafka.h"
#include "tests/connectors/kafka/frontier_feed.h"
#include "tests/operators/runtime/test_job.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::kafka_test {
namespace {

using operators::EventTime;

// What the subtasks of the operator have seen in one attempt.
struct Seen {
  struct Subtask {
    EventTime watermark;
    std::set<int64_t> rows;
  };
  std::map<uint32_t, Subtask> now;
  std::map<uint64_t, std::map<uint32_t, Subtask>> cuts;  // by checkpoint number
  size_t late = 0;
};

class Probe final : public operators::Operator {
 public:
  explicit Probe(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  Status Open(operators::OperatorContext& context) override {
    subtask_ = context.subtask;
    seen_->now[subtask_] = {};
    return {};
  }
  Status ProcessBatch(int, operators::Batch batch, operators::Output&) override {
    Seen::Subtask& now = seen_->now[subtask_];
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (batch.time(i) <= now.watermark) ++seen_->late;
      EXPECT_TRUE(now.rows.insert(batch.at(i, batch.columns() - 1).int64_value()).second);
    }
    return {};
  }
  Status ProcessWatermark(operators::Watermark watermark, operators::Output&) override {
    EXPECT_GT(watermark.time, seen_->now[subtask_].watermark);
    seen_->now[subtask_].watermark = watermark.time;
    return {};
  }
  Status SnapshotState(CheckpointId checkpoint) override {
    seen_->cuts[checkpoint.number][subtask_] = seen_->now[subtask_];
    return {};
  }

 private:
  const std::shared_ptr<Seen> seen_;
  uint32_t subtask_ = 0;
};

// The broker's events as a step of the schedule.
class BrokerStep final : public operators::Runnable {
 public:
  explicit BrokerStep(simulation::SimKafka& broker) : broker_(broker) {}
  operators::StepResult Step() override {
    broker_.RunDue();
    return operators::StepResult::kIdle;
  }
  std::optional<MonotonicTime> NextDeadline() const override { return broker_.NextEvent(); }

 private:
  simulation::SimKafka& broker_;
};

// All that dies in a crash.
struct Attempt {
  Attempt(Random& random, simulation::ManualClock& clock, simulation::SimKafka& broker,
          operators::TestStateStorage& storage, operators::Source& source, const operators::TestCheckpoint* restored)
      : executor(random, clock, workers), broker_step(broker), broker_slot(executor.AddSlot(0)) {
    std::vector<operators::TestVertex> vertices(2);
    vertices[0].name = "feed";
    vertices[0].parallelism = 1 + static_cast<uint32_t>(random.Below(3));
    vertices[0].connector = &source;
    vertices[1].name = "probe";
    vertices[1].parallelism = 1 + static_cast<uint32_t>(random.Below(3));
    vertices[1].inputs = {{.from = 0, .partitioning = operators::Partitioning::kRebalance}};
    vertices[1].operators = [seen = seen] {
      std::vector<std::unique_ptr<operators::Operator>> all;
      all.push_back(std::make_unique<Probe>(seen));
      return all;
    };
    operators::TestJobOptions options;
    options.batches_per_step = 1;
    options.channel.rows_max = 16;
    broker_slot.Run(broker_step);
    job = std::make_unique<operators::TestJob>(executor, clock, workers, storage, vertices, options, restored);
  }
  ~Attempt() {
    executor.Stop();
    workers.DropAll();
    job.reset();
    workers.DropAll();
  }
  bool RunUntil(const std::function<bool()>& done) {
    return executor.RunUntil(
        [&] {
          // The step before may have asked the broker for something.
          if (const auto next = broker_step.NextDeadline(); std::exchange(next_event, next) != next) {
            broker_slot.wakeup().Wake();
          }
          return done() || !job->failures().empty();
        },
        std::chrono::seconds(200));
  }

  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  simulation::ManualWorkerFactory workers;
  simulation::SimExecutor executor;
  BrokerStep broker_step;
  operators::Executor::Slot& broker_slot;
  std::optional<MonotonicTime> next_event;
  std::unique_ptr<operators::TestJob> job;
};

class RandomLives {
 public:
  explicit RandomLives(uint64_t seed)
      : random_(seed), broker_(clock_, random_.Split("kafka")), factory_(broker_.NewClientFactory()) {
    EXPECT_TRUE(broker_.CreateTopic("Feed", partitions_).ok());
    simulation::SimKafkaFaults faults;
    faults.lost_one_in = 10;
    broker_.SetFaults(faults);
    connectors::RegisterKafka(registry_, *factory_);
    Definition definition =
        FeedSource({"Feed"}, {{"release-rows-max", Number(7)}}, {{"discovery-interval", Text("1h")}});
    definition.emplace_back("bootstrap-servers", Text("sim:9092"));
    const operators::SourceType* type = registry_.FindSource("kafka");
    operators::Options options;
    EXPECT_EQ(ProblemsOf(type->options, type->check, definition, &options), std::vector<std::string>());
    source_ = std::move(*type->create(options));
  }

  void Run() {
    const uint64_t lives = 1 + random_.Below(4);
    for (uint64_t life = 0; life <= lives && !testing::Test::HasFailure(); ++life) {
      const std::unique_ptr<Random> own = random_.Split(std::to_string(life));
      Attempt attempt(*own, clock_, broker_, storage_, *source_, newest_ ? &*newest_ : nullptr);
      for (uint64_t rounds = random_.Below(6); rounds > 0; --rounds) {
        Feed();
        for (uint64_t steps = random_.Below(300); steps > 0; --steps) attempt.RunUntil(AfterOneStep());
        if (random_.OneIn(2)) Checkpoint(attempt);
      }
      if (life == lives) Finish(attempt);
      for (const Status& failure : attempt.job->failures()) ADD_FAILURE() << failure.ToString();
      Check(attempt);
    }
  }

 private:
  static std::function<bool()> AfterOneStep() {
    return [calls = 0]() mutable { return ++calls > 1; };
  }
  void Append(int32_t partition, const TestRecord& record) {
    broker_.Append("Feed", partition, {record.key, record.value, record.timestamp_ms});
  }
  void Feed() {
    if (random_.OneIn(8)) {
      ASSERT_TRUE(broker_.AddPartitions("Feed", ++partitions_).ok());
    }
    const int until = now_ + 2 + static_cast<int>(random_.Below(20));
    for (uint64_t i = random_.Below(60); i > 0; --i) {
      const int time = now_ + 1 + static_cast<int>(random_.Below(static_cast<uint64_t>(until - now_ - 1)));
      times_.push_back(time);
      Append(static_cast<int32_t>(random_.Below(static_cast<uint64_t>(partitions_))),
             FeedRow(static_cast<int>(times_.size()) - 1, time));
    }
    now_ = until;
    for (int32_t p = 0; p < partitions_; ++p) {
      if (!random_.OneIn(4)) Append(p, FeedResolved(now_));
    }
  }
  void Checkpoint(Attempt& attempt) {
    const size_t before = attempt.job->completed();
    attempt.job->RequestCheckpoint(checkpoint::AfterBarrier::kGoOn);
    ASSERT_TRUE(attempt.RunUntil([&] { return attempt.job->completed() > before; }));
  }
  // All cuts of the attempt; the newest complete one is where the next begins.
  void Check(const Attempt& attempt) {
    EXPECT_EQ(attempt.seen->late, 0U);
    std::set<int64_t> all = base_;
    for (const auto& [index, subtask] : attempt.seen->now) {
      for (const int64_t row : subtask.rows) {
        EXPECT_TRUE(all.insert(row).second) << row << " comes twice";
        EXPECT_GT(times_[static_cast<size_t>(row)], released_ - 1) << row << " was released before the restore";
      }
    }
    if (attempt.job->completed() == 0) return;
    newest_ = attempt.job->Newest();
    const auto& cut = attempt.seen->cuts.at(newest_->barrier.id.number);
    const EventTime watermark = cut.begin()->second.watermark;
    for (const auto& [index, subtask] : cut) {
      EXPECT_EQ(subtask.watermark, watermark) << index;
      base_.insert(subtask.rows.begin(), subtask.rows.end());
    }
    if (watermark == EventTime::Min()) return;
    released_ = std::max(released_, FeedTimeOf(watermark));
    for (size_t row = 0; row < times_.size(); ++row) {
      if (times_[row] < released_) {
        EXPECT_TRUE(base_.contains(static_cast<int64_t>(row))) << row << " of " << times_[row];
      }
    }
  }
  void Finish(Attempt& attempt) {
    for (int32_t p = 0; p < partitions_; ++p) Append(p, FeedResolved(now_));
    EXPECT_TRUE(attempt.RunUntil([&] {
      size_t rows = base_.size();
      bool there = !attempt.seen->now.empty();
      for (const auto& [index, subtask] : attempt.seen->now) {
        rows += subtask.rows.size();
        there = there && subtask.watermark != EventTime::Min() && FeedTimeOf(subtask.watermark) == now_;
      }
      return there && rows == times_.size();
    })) << "rows or the last watermark do not come";
    Checkpoint(attempt);
  }

  SeededRandom random_;
  simulation::ManualClock clock_;
  simulation::SimKafka broker_;
  std::unique_ptr<connectors::KafkaClientFactory> factory_;
  operators::Registry registry_;
  std::unique_ptr<operators::Source> source_;
  operators::TestStateStorage storage_;
  std::optional<operators::TestCheckpoint> newest_;
  int partitions_ = 3;
  int now_ = 10;
  int released_ = 0;
  std::vector<int> times_;  // by row
  std::set<int64_t> base_;  // rows that the newest checkpoint has
};

TEST(FrontierGraphTest, EverySubtaskHasTheSameWatermarkAtABarrierAndAllBelowIt) {
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomLives(seed).Run();
  }
}

}  // namespace
}  // namespace weir::kafka_test
