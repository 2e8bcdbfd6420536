#include "checkpoint/savepoint.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = CheckpointCoordinator::Outcome;

constexpr const char* kFolder = "/savepoints/first";

class SavepointTest : public testing::Test {
 protected:
  void SetUp() override { job_.options.interval = minutes(60); }
  void Start() {
    const Status status = job_.Start();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Ask(const std::string& folder = kFolder) {
    job_.coordinator().TriggerSavepoint(
        {.folder = folder, .done = [this](Result<CheckpointId> result) { results_.push_back(std::move(result)); }});
    job_.Settle();
  }
  // The savepoint in `folder`, with every file as it says.
  CheckpointMetadata Whole(const std::string& folder = kFolder) {
    const auto metadata = ReadCheckpointFolder(machine_.fs, folder);
    EXPECT_TRUE(metadata.has_value()) << metadata.error().ToString();
    if (!metadata.has_value()) return {};
    const Status status = VerifyCheckpointFolder(machine_.fs, folder, *metadata, CheckpointStorage::Verify::kChecksums);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return *metadata;
  }

  Machine machine_{1};
  FakeSystem kafka_{"kafka"};
  FakeJob job_{machine_, {&kafka_}};
  std::vector<Result<CheckpointId>> results_;
};

TEST_F(SavepointTest, IsAnAppliedCheckpointInAFolderOfItsOwn) {
  Start();
  job_.Emit(7);
  Ask();
  ASSERT_EQ(results_.size(), 1U);
  ASSERT_TRUE(results_[0].has_value()) << results_[0].error().ToString();
  EXPECT_EQ(results_[0]->number, 2U);
  EXPECT_EQ(kafka_.rows.size(), 7U);
  const CheckpointMetadata savepoint = Whole();
  EXPECT_TRUE(savepoint.savepoint);
  EXPECT_EQ(savepoint.id, *results_[0]);
  EXPECT_FALSE(savepoint.StateFiles().empty());
  ASSERT_EQ(savepoint.systems.size(), 1U);
  EXPECT_EQ(savepoint.systems[0].base, savepoint.id);
  EXPECT_TRUE(savepoint.systems[0].later.empty());
  // The checkpoint itself is a checkpoint like any other.
  const auto checkpoint = ReadCheckpointFolder(machine_.fs, "/storage/count/chk-2");
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_FALSE(checkpoint->savepoint);
}

TEST_F(SavepointTest, WaitsUntilEverySystemHasItsCheckpointWhichIsKeptMeanwhile) {
  job_.options.retain = 1;
  Start();
  job_.Emit(3);
  kafka_.up = false;
  Ask();
  for (int i = 0; i < 4; ++i) {
    job_.Emit(1);
    job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
    job_.Settle();
  }
  EXPECT_TRUE(results_.empty());
  kafka_.up = true;
  machine_.clock.Advance(seconds(60));
  job_.Settle();
  ASSERT_EQ(results_.size(), 1U);
  ASSERT_TRUE(results_[0].has_value()) << results_[0].error().ToString();
  EXPECT_EQ(Whole().id.number, 2U);
  // No longer needed, it goes with the next.
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  job_.Settle();
  EXPECT_FALSE(Exists(machine_.fs, "/storage/count/chk-2"));
  Whole();
}

TEST_F(SavepointTest, AFailedCheckpointIsRepeatedForIt) {
  Start();
  job_.fail_snapshots = 1;
  Ask();
  EXPECT_TRUE(results_.empty());
  machine_.clock.Advance(seconds(1));
  job_.Settle();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_TRUE(results_[0].has_value());
  EXPECT_EQ(Whole().id.number, 3U);
}

TEST_F(SavepointTest, OneThatIsAskedForWhileACheckpointIsTakenGetsTheNext) {
  Start();
  job_.withhold_snapshots = true;
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  job_.Settle();
  Ask();
  job_.withhold_snapshots = false;
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  machine_.clock.Advance(minutes(10));  // the withheld one times out
  job_.Settle();
  machine_.clock.Advance(seconds(1));
  job_.Settle();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(Whole().id.number, 3U);
}

TEST_F(SavepointTest, AFolderWithSomethingInItIsRefusedAndTheJobGoesOn) {
  ASSERT_TRUE(machine_.fs.CreateDirectories(kFolder).ok());
  ASSERT_TRUE(WriteFileDurably(machine_.fs, std::string(kFolder) + "/precious", "1").ok());
  Start();
  Ask();
  ASSERT_EQ(results_.size(), 1U);
  ASSERT_FALSE(results_[0].has_value());
  EXPECT_EQ(results_[0].error().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(results_[0].error().message().find(kFolder), std::string::npos);
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
  EXPECT_TRUE(Exists(machine_.fs, std::string(kFolder) + "/precious"));
}

TEST_F(SavepointTest, APlaceInTheJobsOwnFolderIsRefused) {
  Start();
  for (const std::string folder : {"/storage/count", "/storage/count/shared/mine", "/storage/count/chk-99"}) {
    EXPECT_EQ(PrepareSavepointFolder(machine_.fs, "/storage/count", folder).code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(PrepareSavepointFolder(machine_.fs, "/storage/count", "/storage/counts").ok());
  for (const char* folder : {"/storage/count", "/storage/count/chk-99"}) {
    const StatusCode code = PrepareSavepointFolder(machine_.fs, "/elsewhere", folder).code();
    EXPECT_NE(code, StatusCode::kOk) << "another job's folder: " << folder;
  }
}

TEST_F(SavepointTest, AStopWaitsForItAndALaterOneIsRefused) {
  Start();
  job_.Emit(5);
  job_.coordinator().TriggerSavepoint(
      {.folder = kFolder, .done = [this](Result<CheckpointId> result) { results_.push_back(std::move(result)); }});
  job_.coordinator().TriggerNow(AfterBarrier::kStop);
  job_.Settle();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_TRUE(results_[0].has_value());
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kStopped);
  EXPECT_EQ(Whole().id.number, job_.coordinator().stats().last_number);
}

TEST_F(SavepointTest, AFailedJobAbandonsIt) {
  Start();
  kafka_.up = false;
  job_.Emit(1);
  Ask();
  job_.coordinator().TaskFailed({}, Status::InvalidArgument("row 5 is broken"));
  job_.Settle();
  ASSERT_EQ(results_.size(), 1U);
  ASSERT_FALSE(results_[0].has_value());
  EXPECT_NE(results_[0].error().message().find("row 5 is broken"), std::string::npos);
  EXPECT_FALSE(Exists(machine_.fs, std::string(kFolder) + "/_metadata"));
}

// A power loss at each step of the export: what has a _metadata afterwards is whole, and what was told done is there.
TEST(SavepointCrashTest, IsCompleteOrNoSavepoint) {
  bool finished = false;
  uint64_t told = 0;
  for (uint64_t step = 1; !finished; ++step) {
    SCOPED_TRACE("power loss at operation " + std::to_string(step));
    Machine machine(step);
    FakeSystem kafka("kafka");
    FakeJob job(machine, {&kafka});
    job.options.interval = minutes(60);
    ASSERT_TRUE(job.Start().ok());
    job.Emit(7);
    job.coordinator().TriggerNow(AfterBarrier::kGoOn);
    job.Settle();
    machine.fs.Arm({.nth = step, .action = simulation::FaultAction::kCrashBefore});
    const Status status = ExportSavepoint(machine.fs, "/storage/count/chk-2", kFolder);
    finished = !machine.fs.crashed();
    EXPECT_EQ(status.ok(), finished);
    machine.fs.Disarm();
    machine.fs.PowerLoss();
    if (finished) ++told;
    const auto metadata = ReadCheckpointFolder(machine.fs, kFolder);
    if (!metadata.has_value()) {
      EXPECT_EQ(metadata.error().code(), StatusCode::kNotFound) << metadata.error().ToString();
      EXPECT_FALSE(finished);
      continue;
    }
    EXPECT_TRUE(VerifyCheckpointFolder(machine.fs, kFolder, *metadata, CheckpointStorage::Verify::kChecksums).ok());
  }
  EXPECT_EQ(told, 1U);
}

// An operation that fails leaves no half: the same folder can be given again.
TEST(SavepointCrashTest, AFailedExportLeavesAnEmptyFolder) {
  bool finished = false;
  for (uint64_t step = 1; !finished; ++step) {
    SCOPED_TRACE("error at operation " + std::to_string(step));
    Machine machine(step);
    FakeSystem kafka("kafka");
    FakeJob job(machine, {&kafka});
    job.options.interval = minutes(60);
    ASSERT_TRUE(job.Start().ok());
    job.coordinator().TriggerNow(AfterBarrier::kGoOn);
    job.Settle();
    machine.fs.Arm({.nth = step, .action = simulation::FaultAction::kError});
    const Status status = ExportSavepoint(machine.fs, "/storage/count/chk-2", kFolder);
    machine.fs.Disarm();
    finished = status.ok();
    if (finished) break;
    EXPECT_TRUE(PrepareSavepointFolder(machine.fs, "/storage/count", kFolder).ok());
    EXPECT_TRUE(ExportSavepoint(machine.fs, "/storage/count/chk-2", kFolder).ok());
  }
}

}  // namespace
}  // namespace weir::checkpoint
