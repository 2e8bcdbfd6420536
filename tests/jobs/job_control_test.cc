// The control lane of a first start, one step at a time: until the first checkpoint is published no split reaches a
// reader, and what the publishing worker writes is nobody else's.
#include "jobs/job_control.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/fake_system.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::jobs {
namespace {

class SeenReader final : public operators::ReaderPort {
 public:
  void AddSplits(std::vector<operators::SourceSplit> splits) override { splits_ += splits.size(); }
  void NoMoreSplits() override { complete_ = true; }
  void HandleSourceEvent(std::string) override {}
  void AcknowledgeSourceEvents(uint64_t) override {}

  size_t splits() const { return splits_; }
  bool complete() const { return complete_; }

 private:
  size_t splits_ = 0;
  bool complete_ = false;
};

class JobControlTest : public testing::Test {
 protected:
  // A job whose one source has assigned a split already, in front of an empty storage.
  void SetUp() override {
    auto storage = checkpoint::CheckpointStorage::Open(fs_, "/storage", "job", random_);
    ASSERT_TRUE(storage.has_value()) << storage.error().ToString();
    storage_ = std::move(*storage);
    JobControlOptions options;
    options.ports = {.clock = &clock_,
                     .random = &random_,
                     .workers = &workers_,
                     .wakeup = &wakeup_,
                     .storage = storage_.get(),
                     .coordinated = nullptr,
                     .unsealed_bytes = {}};
    options.shape = {.key_groups = 128, .vertices = {{.vertex = 0, .uids = {"source"}, .parallelism = 1}}};
    options.start.storage = storage_.get();
    options.start.clock = &clock_;
    options.start.random = &random_;
    options.start.attempt = random_.NextId();
    options.start.systems = &systems_;
    options.start.uids = {"source"};
    options.start.key_groups = 128;
    systems_.push_back({.identity = system_.identity,
                        .committer = std::make_unique<checkpoint::FakeCommitter>(system_, options.start.attempt,
                                                                                 [] { return false; })});
    auto restored = checkpoint::StartAttempt({}, options.start);
    ASSERT_TRUE(restored.has_value()) << restored.error().ToString();
    options.restored = std::move(*restored);
    options.readers = {&held_};
    options.on_done = [] {};
    options.on_output_blocked = [](bool) {};
    control_.Begin(std::move(options));
    held_.AddSplits({{.id = "split", .position = "7"}});
    held_.NoMoreSplits();
  }

  simulation::SimFileSystem fs_{1};
  SeededRandom random_{1};
  simulation::ManualClock clock_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  checkpoint::FakeSystem system_{"system"};
  std::vector<checkpoint::System> systems_;
  std::unique_ptr<checkpoint::CheckpointStorage> storage_;
  SeenReader reader_;
  JobControl control_{wakeup_};
  HeldReader held_{"source", reader_, wakeup_};
};

TEST_F(JobControlTest, SplitsAreHeldUntilTheFirstCheckpointIsPublished) {
  EXPECT_EQ(control_.Step(), operators::StepResult::kProgress);  // gives the worker its job
  EXPECT_EQ(control_.Step(), operators::StepResult::kIdle);
  EXPECT_EQ(control_.state(), JobState::kStarting);
  EXPECT_EQ(reader_.splits(), 0U);
  // The lane is woken (by a signal, by an enumerator) at every moment of the worker's job, the last ones among them,
  // when the checkpoint is there and the worker is not done.
  uint64_t steps = 0;
  fs_.SetObserver([&](simulation::OperationKind, const std::string&) {
    ++steps;
    ASSERT_EQ(control_.Step(), operators::StepResult::kIdle);
    ASSERT_EQ(control_.state(), JobState::kStarting);
    ASSERT_EQ(reader_.splits(), 0U);
  });
  EXPECT_TRUE(workers_.RunOne(random_));
  fs_.SetObserver(nullptr);
  EXPECT_GT(steps, 5U);
  EXPECT_EQ(reader_.splits(), 0U);
  (void)control_.Step();
  EXPECT_EQ(control_.state(), JobState::kRunning);
  EXPECT_EQ(reader_.splits(), 1U);
  EXPECT_TRUE(reader_.complete());
  const auto published = storage_->LoadMetadata(1);
  ASSERT_TRUE(published.has_value()) << published.error().ToString();
  ASSERT_EQ(published->assigned_splits.size(), 1U);
  EXPECT_EQ(published->assigned_splits[0].position, "7");
  EXPECT_TRUE(system_.marker.has_value()) << "the first checkpoint was not signed";
}

TEST_F(JobControlTest, AFirstCheckpointThatCantBePublishedFailsTheJobAndNothingIsRead) {
  (void)control_.Step();
  fs_.Arm({.path_part = "_metadata", .forever = true});
  EXPECT_TRUE(workers_.RunOne(random_));
  EXPECT_EQ(control_.Step(), operators::StepResult::kFinished);
  EXPECT_EQ(control_.state(), JobState::kFailed);
  EXPECT_FALSE(control_.cause().ok());
  EXPECT_EQ(reader_.splits(), 0U);
}

TEST_F(JobControlTest, AStopBeforeTheFirstCheckpointEndsTheJobWithNothingRead) {
  control_.RequestStop(std::chrono::seconds(1));
  EXPECT_EQ(control_.Step(), operators::StepResult::kFinished);
  EXPECT_EQ(control_.state(), JobState::kStopped);
  EXPECT_EQ(workers_.runnable(), 0U);
  EXPECT_EQ(reader_.splits(), 0U);
}

}  // namespace
}  // namespace weir::jobs
