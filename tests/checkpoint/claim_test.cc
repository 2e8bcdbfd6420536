// Restore mode claim: a savepoint that becomes the job's and goes behind its first own checkpoint.
#include "checkpoint/claim.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "checkpoint/savepoint.h"
#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

constexpr const char* kFolder = "/savepoints/first";
constexpr uint64_t kSavedRows = 7;

RestoreRequest Restore(bool claim, const std::string& path = kFolder) {
  RestoreRequest request;
  request.from = RestoreRequest::From::kPath;
  request.path = path;
  request.claim = claim;
  return request;
}

// A machine with a savepoint of job "count" at 7 rows, and what comes out of a job "clone" that starts from it.
struct World {
  explicit World(uint64_t seed) : machine(seed) {
    SetLogLevel(LogLevel::kError);
    FakeSystem kafka("kafka");
    FakeJob job(machine, {&kafka});
    job.options.interval = std::chrono::minutes(60);
    EXPECT_TRUE(job.Start().ok());
    job.Emit(kSavedRows);
    job.Checkpoint();
    EXPECT_TRUE(ExportSavepoint(machine.fs, "/storage/count/chk-2", kFolder).ok());
    for (; own.next <= kSavedRows; ++own.next) own.rows.push_back(own.next);  // as if it had had them
  }
  ~World() {
    EXPECT_EQ(own.broken, "");
    SetLogLevel(LogLevel::kInfo);
  }

  std::unique_ptr<FakeJob> NewClone() {
    auto job = std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{&own}, "clone");
    job->options.interval = std::chrono::minutes(60);
    return job;
  }
  std::unique_ptr<FakeJob> Started(const RestoreRequest& request) {
    auto job = NewClone();
    const Status status = job->Start(request);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (status.ok()) job->Settle();
    return job;
  }
  static void Round(FakeJob& job) {
    job.Emit(2);
    job.Checkpoint();
  }
  bool WholeSavepoint(const std::string& folder = kFolder) {
    const auto metadata = ReadCheckpointFolder(machine.fs, folder);
    return metadata.has_value() &&
           VerifyCheckpointFolder(machine.fs, folder, *metadata, CheckpointStorage::Verify::kChecksums).ok();
  }
  std::vector<std::string> Savepoints() { return machine.fs.List("/savepoints").value_or(std::vector<std::string>{}); }

  Machine machine;
  FakeSystem own{"kafka"};
};

TEST(ClaimTest, TheSavepointGoesBehindTheFirstOwnCheckpoint) {
  World world(1);
  auto job = world.Started(Restore(true));
  EXPECT_EQ(job->offset(), kSavedRows);
  EXPECT_TRUE(world.WholeSavepoint());
  World::Round(*job);
  EXPECT_TRUE(world.Savepoints().empty());
  for (int life = 0; life < 5; ++life) {  // a supervisor repeats the command line, for longer than anything is retained
    job.reset();
    job = world.Started(Restore(true));
    EXPECT_EQ(job->offset(), kSavedRows + 2 * static_cast<uint64_t>(life + 1));
    World::Round(*job);
  }
  job.reset();
  job = world.Started(Restore(true, std::string(kFolder) + "/_metadata"));
  job.reset();
  EXPECT_FALSE(world.NewClone()->Start(Restore(true, "/savepoints/other")).ok());
  job = world.Started({});
  EXPECT_EQ(world.own.rows.size(), kSavedRows + 12);
}

TEST(ClaimTest, WithoutItTheSavepointStays) {
  World world(2);
  auto job = world.Started(Restore(false));
  for (int i = 0; i < 5; ++i) World::Round(*job);
  EXPECT_TRUE(world.WholeSavepoint());
}

TEST(ClaimTest, AStopAndAPlainStartDoNotForgetIt) {
  World world(3);
  world.Started(Restore(true)).reset();
  EXPECT_TRUE(world.WholeSavepoint());
  auto job = world.Started({});
  World::Round(*job);
  EXPECT_TRUE(world.Savepoints().empty());
}

TEST(ClaimTest, OneThatTheStorageComesFromAlreadyIsTakenAndClaimed) {
  World world(4);
  auto job = world.Started(Restore(false));
  World::Round(*job);
  job.reset();
  job = world.Started(Restore(true));
  EXPECT_EQ(job->offset(), kSavedRows + 2);
  EXPECT_TRUE(world.WholeSavepoint());
  World::Round(*job);
  EXPECT_TRUE(world.Savepoints().empty());
}

TEST(ClaimTest, AnotherSavepointThatHasTakenThePlaceStays) {
  World world(5);
  auto job = world.Started(Restore(true));
  ASSERT_TRUE(world.machine.fs.RemoveTree(kFolder).ok());
  ASSERT_TRUE(ExportSavepoint(world.machine.fs, "/storage/clone/chk-1", kFolder).ok());
  World::Round(*job);
  EXPECT_TRUE(world.WholeSavepoint());
  EXPECT_FALSE(ReadCheckpointFolder(world.machine.fs, kFolder)->claimed.has_value());
}

TEST(ClaimTest, WhatIsNoSavepointOrHoldsMoreIsRefused) {
  World world(6);
  Status status = world.NewClone()->Start(Restore(true, "/storage/count/chk-2"));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("/storage/count/chk-2 is checkpoint 2 of job 'count'"), std::string::npos)
      << status.ToString();
  const std::string mine = std::string(kFolder) + "/notes";
  ASSERT_TRUE(WriteFileDurably(world.machine.fs, mine, "1").ok());
  status = world.NewClone()->Start(Restore(true));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find(mine), std::string::npos) << status.ToString();
  EXPECT_EQ(world.own.fences, 0U);
  ASSERT_TRUE(world.machine.fs.Remove(mine).ok());
  auto job = world.Started(Restore(true));
  ASSERT_TRUE(WriteFileDurably(world.machine.fs, mine, "1").ok());  // later than the start
  World::Round(*job);
  EXPECT_TRUE(Exists(world.machine.fs, mine));
  EXPECT_TRUE(world.WholeSavepoint());
}

// Power is lost at each operation of the start and the checkpoints behind it: what is left is a whole savepoint or a
// line that goes on, the same command line works, and in the end the savepoint is gone with all it had.
TEST(ClaimTest, PowerIsLostAtEachStep) {
  for (const auto names : {simulation::UnsyncedNames::kKept, simulation::UnsyncedNames::kDropped}) {
    bool finished = false;
    for (uint64_t step = 1; !finished; ++step) {
      SCOPED_TRACE("power loss at operation " + std::to_string(step));
      World world(step);
      auto job = world.NewClone();
      world.machine.fs.Arm({.nth = step, .action = simulation::FaultAction::kCrashBefore});
      bool own = false;  // a checkpoint of its own was durable
      if (job->Start(Restore(true)).ok()) {
        for (int i = 0; i < 2; ++i) World::Round(*job);
        own = job->coordinator().stats().completed > 0;
      }
      finished = !world.machine.fs.crashed();
      job->life().Kill();
      job.reset();
      world.machine.fs.Disarm();
      world.machine.fs.PowerLoss({}, names);
      EXPECT_TRUE(own || world.WholeSavepoint());
      job = world.Started(Restore(true));
      EXPECT_GE(job->offset(), kSavedRows);
      for (int i = 0; i < 2; ++i) World::Round(*job);
      EXPECT_TRUE(world.Savepoints().empty()) << world.Savepoints().front();
      EXPECT_EQ(world.own.rows.size(), job->offset());
      if (testing::Test::HasFailure()) return;
    }
  }
}

// An operation that fails costs the deletion alone.
TEST(ClaimTest, ADeletionThatFailsIsNoFailureOfTheJob) {
  for (const auto kind : {simulation::OperationKind::kRename, simulation::OperationKind::kRemoveTree}) {
    World world(7);
    auto job = world.Started(Restore(true));
    world.machine.fs.Arm({.kind = kind, .path_part = "/savepoints"});
    World::Round(*job);
    World::Round(*job);
    EXPECT_EQ(job->coordinator().outcome(), CheckpointCoordinator::Outcome::kRunning);
    EXPECT_EQ(world.Savepoints().size(), 1U);
    EXPECT_TRUE(world.WholeSavepoint("/savepoints/" + world.Savepoints().front()));
  }
}

}  // namespace
}  // namespace weir::checkpoint
