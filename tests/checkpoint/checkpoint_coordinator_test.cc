#include "checkpoint/checkpoint_coordinator.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = CheckpointCoordinator::Outcome;

class CheckpointCoordinatorTest : public testing::Test {
 protected:
  void Start() {
    const Status status = job_.Start();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Pass(Duration time) {
    machine_.clock.Advance(time);
    job_.Settle();
  }

  Machine machine_{1};
  FakeSystem kafka_{"kafka"};
  FakeSystem files_{"file"};
  FakeJob job_{machine_, {&kafka_, &files_}};
};

TEST_F(CheckpointCoordinatorTest, B15_Weakness_k_TakesOneEachIntervalAndAppliesIt) {
  job_.options.interval = seconds(5);
  Start();
  job_.Emit(10);
  Pass(milliseconds(4999));
  EXPECT_EQ(job_.coordinator().stats().completed, 0U);
  Pass(milliseconds(1));
  EXPECT_EQ(job_.coordinator().stats().completed, 1U);
  EXPECT_EQ(kafka_.rows.size(), 10U);
  EXPECT_EQ(files_.rows.size(), 10U);
  EXPECT_EQ(job_.applied(), (std::vector<uint64_t>{1, 2}));  // the first one too, at the start
  job_.Emit(1);
  Pass(seconds(5));
  EXPECT_EQ(kafka_.rows.size(), 11U);
  EXPECT_EQ(job_.coordinator().stats().applied_number, 3U);
  EXPECT_GT(job_.coordinator().stats().last_bytes, 0U);
}

TEST_F(CheckpointCoordinatorTest, KeepsTheMinimumPause) {
  job_.options.interval = seconds(1);
  job_.options.min_pause = seconds(3);
  Start();
  Pass(seconds(2));
  EXPECT_EQ(job_.coordinator().stats().completed, 0U);
  Pass(seconds(1));
  EXPECT_EQ(job_.coordinator().stats().completed, 1U);
}

TEST_F(CheckpointCoordinatorTest, ATimeoutAbortsOneCheckpointAndTheOutputTravelsOn) {
  job_.options.interval = seconds(60);
  job_.options.timeout = seconds(10);
  Start();
  job_.Emit(3);
  job_.withhold_snapshots = true;
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  job_.Settle();
  EXPECT_EQ(job_.coordinator().stats().pending_number, 2U);
  EXPECT_LE(job_.coordinator().NextDeadline() - machine_.clock.Now(), seconds(10));
  Pass(seconds(10));
  EXPECT_EQ(job_.aborted(), std::vector<uint64_t>{2});
  EXPECT_EQ(job_.coordinator().stats().consecutive_failures, 1U);
  job_.withhold_snapshots = false;
  Pass(seconds(60));
  EXPECT_EQ(job_.coordinator().stats().last_number, 3U);
  EXPECT_EQ(job_.coordinator().stats().consecutive_failures, 0U);
  EXPECT_EQ(kafka_.rows.size(), 3U);
}

TEST_F(CheckpointCoordinatorTest, OneFailureMoreThanToleratedFailsTheJob) {
  job_.options.interval = seconds(5);
  job_.options.tolerated_failures = 2;
  Start();
  job_.fail_snapshots = 3;
  Pass(seconds(5));
  Pass(seconds(5));
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
  Pass(seconds(5));
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kFailed);
  EXPECT_NE(job_.coordinator().failure().message().find("3 checkpoints in a row"), std::string::npos);
  EXPECT_NE(job_.coordinator().failure().message().find("no space"), std::string::npos);
}

TEST_F(CheckpointCoordinatorTest, AFailedTaskFailsTheJobWithItsCause) {
  Start();
  job_.coordinator().TaskFailed({}, Status::InvalidArgument("row 5 is broken"));
  job_.Settle();
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kFailed);
  EXPECT_EQ(job_.coordinator().failure().message(), "row 5 is broken");
}

TEST_F(CheckpointCoordinatorTest, AStopEndsWhenItsCheckpointIsApplied) {
  Start();
  job_.Emit(4);
  kafka_.up = false;
  job_.coordinator().TriggerNow(AfterBarrier::kStop);
  job_.Settle();
  EXPECT_TRUE(job_.coordinator().LastCheckpointDurable());
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
  const auto waiting = job_.coordinator().Unconfirmed();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].system, "kafka");
  EXPECT_EQ(waiting[0].rows, 4U);
  EXPECT_EQ(waiting[0].last_error.code(), StatusCode::kUnavailable);
  kafka_.up = true;
  Pass(seconds(10));
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kStopped);
  EXPECT_EQ(kafka_.rows.size(), 4U);
}

TEST_F(CheckpointCoordinatorTest, AStopThatFailsIsTriedAgain) {
  Start();
  job_.Emit(4);
  job_.fail_snapshots = 1;
  job_.coordinator().TriggerNow(AfterBarrier::kStop);
  job_.Settle();
  EXPECT_EQ(job_.aborted().size(), 1U);
  Pass(seconds(1));
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kStopped);
}

TEST_F(CheckpointCoordinatorTest, TheEndOfInputCutsTheLastCheckpointAtOnce) {
  job_.options.interval = minutes(60);
  Start();
  job_.Emit(4);
  job_.at_end = true;
  job_.coordinator().InputEnded({});
  job_.Settle();
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kFinished);
  EXPECT_EQ(kafka_.rows.size(), 4U);
  EXPECT_EQ(files_.rows.size(), 4U);
}

TEST_F(CheckpointCoordinatorTest, ADownSystemHoldsUpNeitherTheOtherNorTheNextCheckpoint) {
  job_.options.interval = minutes(60);
  Start();
  kafka_.up = false;
  for (int i = 0; i < 5; ++i) {
    job_.Emit(2);
    job_.Checkpoint();
  }
  EXPECT_EQ(files_.rows.size(), 10U);
  EXPECT_EQ(job_.coordinator().stats().last_number, 6U);
  EXPECT_EQ(job_.coordinator().stats().applied_number, 1U);
  kafka_.up = true;
  Pass(seconds(10));
  EXPECT_EQ(kafka_.rows.size(), 10U);
  EXPECT_EQ(job_.coordinator().stats().applied_number, 6U);
  EXPECT_EQ(job_.applied(), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(CheckpointCoordinatorTest, B31_AFullBoundBlocksOutputAndStopsCheckpoints) {
  job_.options.interval = seconds(1);
  job_.options.unconfirmed_bytes_max = 100;
  job_.options.tolerated_failures = 0;
  Start();
  kafka_.up = false;
  job_.Emit(9);
  Pass(seconds(1));
  EXPECT_FALSE(job_.coordinator().OutputBlocked());
  job_.Emit(1);
  Pass(seconds(1));
  EXPECT_TRUE(job_.coordinator().OutputBlocked());
  const uint64_t last = job_.coordinator().stats().last_number;
  Pass(minutes(60));
  EXPECT_EQ(job_.coordinator().stats().last_number, last);
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
  EXPECT_GT(job_.coordinator().NextDeadline(), machine_.clock.Now());  // the control thread does not spin meanwhile
  kafka_.up = true;
  Pass(seconds(10));
  EXPECT_FALSE(job_.coordinator().OutputBlocked());
  EXPECT_EQ(kafka_.rows.size(), 10U);
}

// Scenario 17.
TEST_F(CheckpointCoordinatorTest, AnIntervalWithHalfTheBoundInOutputIsCutAtOnce) {
  job_.options.interval = minutes(60);
  job_.options.min_pause = minutes(1);
  job_.options.unconfirmed_bytes_max = 100;
  Start();
  const uint64_t first = job_.coordinator().stats().last_number;
  job_.unsealed_bytes = 50;
  Pass(minutes(30));
  EXPECT_EQ(job_.coordinator().stats().last_number, first);
  job_.unsealed_bytes = 51;
  job_.Emit(5);
  EXPECT_TRUE(job_.StepCoordinator());
  job_.unsealed_bytes = 0;  // the writers have sealed
  job_.Settle();
  EXPECT_EQ(job_.coordinator().stats().last_number, first + 1);
  EXPECT_EQ(kafka_.rows.size(), 5U);
}

TEST_F(CheckpointCoordinatorTest, AnUnknownOutcomeIsDecidedByTheMarker) {
  Start();
  for (const bool happened : {true, false}) {
    (happened ? kafka_.lose_answers : kafka_.lose_applies) = 1;
    job_.Emit(5);
    job_.Checkpoint();
    Pass(seconds(1));
    EXPECT_EQ(kafka_.broken, "");
    EXPECT_EQ(kafka_.rows.size(), job_.offset());
  }
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
}

TEST_F(CheckpointCoordinatorTest, ARefusalThatIsNoOutageFailsTheJob) {
  Start();
  kafka_.refuse = Status::FailedPrecondition("topic is gone");
  job_.Emit(5);
  job_.Checkpoint();
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kFailed);
  EXPECT_NE(job_.coordinator().failure().message().find("topic is gone"), std::string::npos);
}

TEST_F(CheckpointCoordinatorTest, HardErrorsAreRetriedABoundedNumberOfTimes) {
  job_.options.applier.retries_max = 3;
  Start();
  kafka_.refuse = Status::Internal("odd");
  job_.Emit(5);
  job_.Checkpoint();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(job_.coordinator().outcome(), Outcome::kRunning);
    Pass(seconds(10));
  }
  EXPECT_EQ(job_.coordinator().outcome(), Outcome::kFailed);
}

TEST_F(CheckpointCoordinatorTest, WhoIsFencedLooksAtTheMarker) {
  Start();
  job_.Emit(5);
  kafka_.owner = {.high = 1, .low = 1};
  job_.Checkpoint();
  EXPECT_EQ(job_.coordinator().failure().code(), StatusCode::kInternal);  // the marker is still ours: restart
}

TEST_F(CheckpointCoordinatorTest, AnotherAttemptsMarkerMeansTakenOver) {
  Start();
  job_.Emit(5);
  kafka_.owner = {.high = 1, .low = 1};
  kafka_.marker->attempt = kafka_.owner;
  job_.Checkpoint();
  EXPECT_EQ(job_.coordinator().failure().code(), StatusCode::kFenced);
  EXPECT_EQ(kafka_.rows.size(), 0U);
}

TEST_F(CheckpointCoordinatorTest, WhoWasOvertakenBeforeItHeardThatItHasSignedDoesNotFenceBack) {
  Start();
  job_.EndAttempt();
  kafka_.lose_signs = 1;
  Start();
  const uint32_t fences = kafka_.fences;
  kafka_.owner = {.high = 1, .low = 1};
  kafka_.marker->attempt = kafka_.owner;
  job_.Settle();
  EXPECT_EQ(job_.coordinator().failure().code(), StatusCode::kFenced);
  EXPECT_EQ(kafka_.fences, fences);
}

TEST_F(CheckpointCoordinatorTest, WhoWasOvertakenWhileTheSystemWasDownDoesNotFenceBack) {
  Start();
  job_.Emit(5);
  kafka_.up = false;
  job_.Checkpoint();
  kafka_.up = true;
  kafka_.owner = {.high = 1, .low = 1};
  kafka_.marker->attempt = kafka_.owner;
  const uint32_t fences = kafka_.fences;
  Pass(seconds(10));
  EXPECT_EQ(job_.coordinator().failure().code(), StatusCode::kFenced);
  EXPECT_EQ(kafka_.fences, fences);
}

TEST_F(CheckpointCoordinatorTest, ARefusedPublicationAbortsOneCheckpoint) {
  Start();
  job_.Emit(5);
  machine_.fs.Arm({.kind = simulation::OperationKind::kAppend, .path_part = "_metadata.tmp"});
  job_.Checkpoint();
  EXPECT_EQ(job_.aborted(), std::vector<uint64_t>{2});
  Pass(seconds(1));  // what was asked for is still wanted
  EXPECT_EQ(job_.coordinator().stats().last_number, 3U);
  EXPECT_EQ(kafka_.rows.size(), 5U);
}

// The acknowledgements may be faster than the folder: the publication stands behind it in the worker's queue.
TEST_F(CheckpointCoordinatorTest, ACheckpointWhoseFolderFailedIsNotPublishedLater) {
  Start();
  job_.Settle();
  job_.Emit(5);
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  job_.StepCoordinator();
  while (job_.StepTask()) continue;
  job_.StepCoordinator();
  machine_.fs.Arm({.kind = simulation::OperationKind::kSyncDirectory, .path_part = FakeJob::kJob});
  job_.Settle();
  EXPECT_EQ(job_.aborted(), std::vector<uint64_t>{2});
  EXPECT_EQ(*job_.storage().DurableNumbers(), std::vector<uint64_t>{1});
  Pass(seconds(1));
  EXPECT_EQ(*job_.storage().DurableNumbers(), (std::vector<uint64_t>{3, 1}));
  EXPECT_EQ(kafka_.rows.size(), 5U);
}

TEST_F(CheckpointCoordinatorTest, AnErrorAtOrBehindTheRenameEndsTheAttempt) {
  using simulation::OperationKind;
  const std::vector<simulation::Fault> faults = {
      {.kind = OperationKind::kRename, .path_part = "_metadata", .action = simulation::FaultAction::kErrorAfter},
      {.kind = OperationKind::kRename, .path_part = "_metadata"},
      {.kind = OperationKind::kSyncDirectory, .path_part = "chk-"},
      {.kind = OperationKind::kSync, .path_part = "shared/"}};
  for (const simulation::Fault& fault : faults) {
    Machine machine(3);
    FakeSystem system("kafka");
    {
      FakeJob job(machine, {&system});
      ASSERT_TRUE(job.Start().ok());
      job.Emit(5);
      machine.fs.Arm(fault);
      job.Checkpoint();
      EXPECT_EQ(job.coordinator().outcome(), Outcome::kFailed);
      EXPECT_EQ(system.rows.size(), 0U);
      machine.fs.Disarm();
      job.EndAttempt();
      ASSERT_TRUE(job.Start().ok());
      job.Settle();
      job.Emit(5);
      job.Checkpoint();
      EXPECT_EQ(system.broken, "");
      EXPECT_EQ(system.rows.size(), job.offset());
    }
  }
}

TEST_F(CheckpointCoordinatorTest, AbortedCheckpointsLeaveNothingBehindAfterTheNextSuccess) {
  job_.options.tolerated_failures = 1000;
  Start();
  job_.fail_snapshots = 200;
  job_.coordinator().TriggerNow(AfterBarrier::kGoOn);
  for (int i = 0; i < 200; ++i) {
    job_.Emit(1);
    Pass(seconds(1));
  }
  EXPECT_EQ(job_.coordinator().stats().last_number, 1U);
  Pass(seconds(1));
  EXPECT_EQ(job_.coordinator().stats().last_number, 202U);
  const auto shared = machine_.fs.List(job_.storage().SharedFolder());
  EXPECT_EQ(shared->size(), 1U);
  const auto names = machine_.fs.List(job_.storage().root());
  size_t folders = 0;
  for (const std::string& name : *names) folders += name.starts_with("chk-") ? 1U : 0U;
  EXPECT_EQ(folders, 2U);
  EXPECT_EQ(kafka_.rows.size(), 200U);
}

TEST_F(CheckpointCoordinatorTest, RetentionKeepsWhatTheRetainedName) {
  job_.options.retain = 2;
  Start();
  for (int i = 0; i < 10; ++i) {
    job_.Emit(1);
    job_.Checkpoint();
    const auto numbers = job_.storage().DurableNumbers();
    ASSERT_LE(numbers->size(), 2U);
    for (const uint64_t number : *numbers) {
      const auto metadata = job_.storage().LoadMetadata(number);
      ASSERT_TRUE(metadata.has_value());
      EXPECT_TRUE(job_.storage().VerifyFiles(*metadata, CheckpointStorage::Verify::kChecksums).ok());
    }
  }
}

}  // namespace
}  // namespace weir::checkpoint
