// The scenarios of the checkpoint protocol on systems in memory, by their numbers there. Each ends with what is right.
// The same on real servers, and the few that are at home elsewhere: tests named ScenarioNN_ in the other folders.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "base/fault_site.h"
#include "base/log.h"
#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using From = RestoreRequest::From;
using Outcome = CheckpointCoordinator::Outcome;

RestoreRequest Path(std::string path, std::optional<uint64_t> rewind = std::nullopt) {
  RestoreRequest request;
  request.from = From::kPath;
  request.path = std::move(path);
  request.rewind = rewind;
  return request;
}

class ScenariosTest : public testing::Test {
 protected:
  ScenariosTest() { SetLogLevel(LogLevel::kError); }
  ~ScenariosTest() override {
    EXPECT_EQ(kafka_.broken, "");
    EXPECT_EQ(postgres_.broken, "");
    SetLogLevel(LogLevel::kInfo);
  }

  std::unique_ptr<FakeJob> NewJob(Machine& machine) {
    auto job = std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{&kafka_, &postgres_});
    job->options.interval = minutes(60);
    return job;
  }
  std::unique_ptr<FakeJob> Started(Machine& machine, const RestoreRequest& request = {}) {
    auto job = NewJob(machine);
    const Status status = job->Start(request);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (status.ok()) job->Settle();
    return job;
  }
  static void Crash(Machine& machine, std::unique_ptr<FakeJob>& job) {
    job->life().Kill();
    job.reset();
    machine.fs.Disarm();
    machine.fs.PowerLoss();
  }
  static void Round(FakeJob& job, uint64_t rows = 2) {
    job.Emit(rows);
    job.Checkpoint();
  }
  Status Refused(Machine& machine, const RestoreRequest& request = {}) {
    const uint32_t fences = kafka_.fences + postgres_.fences;
    auto job = NewJob(machine);
    Status status = job->Start(request);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(kafka_.fences + postgres_.fences, fences) << "a refused start has fenced";
    return status;
  }

  Machine machine_{11};
  FakeSystem kafka_{"kafka"};
  FakeSystem postgres_{"postgres"};
};

#define EXPECT_SAYS(status, text) EXPECT_NE((status).message().find(text), std::string::npos) << (status).ToString()

TEST_F(ScenariosTest, Scenario01_OneSystemIsBehindAndTheStartCrashesAfterSigning) {
  auto job = Started(machine_);
  Round(*job);
  postgres_.up = false;
  Round(*job);
  Round(*job);
  EXPECT_EQ(kafka_.rows.size(), 6U);
  EXPECT_EQ(postgres_.rows.size(), 2U);
  Crash(machine_, job);
  postgres_.up = true;
  for (uint32_t nth = 1; nth <= 2; ++nth) {  // after the first signature, after the second
    job = NewJob(machine_);
    ArmFaultSites([&, left = nth](std::string_view site) mutable {
      if (site == "start.after-sign" && --left == 0) job->life().Kill();
    });
    (void)job->Start();
    ArmFaultSites({});
    EXPECT_TRUE(job->life().Dead());
    Crash(machine_, job);
  }
  job = Started(machine_);
  EXPECT_EQ(kafka_.rows.size(), 6U);
  EXPECT_EQ(postgres_.rows.size(), 6U);
  EXPECT_EQ(job->applied(), std::vector<uint64_t>{4});
}

TEST_F(ScenariosTest, Scenario02_AnotherStorageHasBroughtTheMarkerOn) {
  auto job = Started(machine_);
  for (int i = 0; i < 3; ++i) Round(*job);
  Machine other(12);
  CopyStorage(machine_.fs, other.fs, FakeJob::kStorage);
  kafka_.up = false;  // durable here, and not applied
  postgres_.up = false;
  Round(*job);
  Crash(machine_, job);
  kafka_.up = true;
  postgres_.up = true;
  auto clone = Started(other);
  Round(*clone);
  clone.reset();
  const Status status = Refused(machine_);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_SAYS(status, "system kafka is at checkpoint 5");
  EXPECT_SAYS(status, kafka_.marker->storage.ToString());
}

TEST_F(ScenariosTest, Scenario03_ASystemWasPutBackToAnOlderBackup) {
  auto job = Started(machine_);
  Round(*job);
  const FakeSystem backup = postgres_;
  for (int i = 0; i < 5; ++i) Round(*job);
  job.reset();
  const FakeSystem newest = postgres_;
  postgres_ = backup;
  const Status status = Refused(machine_);
  EXPECT_SAYS(status, "the system was put back: output behind checkpoint 2 up to 6 is not kept any more");
  postgres_ = newest;
  Started(machine_);
}

TEST_F(ScenariosTest, Scenario04_AnOlderCheckpointIsRestoredIntoEmptyStorageOnceOnly) {
  auto job = Started(machine_);
  Round(*job);  // 2 rows at checkpoint 2
  Machine other(13);
  CopyStorage(machine_.fs, other.fs, FakeJob::kStorage);
  for (int i = 0; i < 4; ++i) Round(*job);
  job.reset();
  ASSERT_TRUE(other.fs.CreateDirectories("/kept").ok());
  CopyStorage(other.fs, other.fs, FakeJob::kStorage);
  ASSERT_TRUE(other.fs.Rename("/storage", "/kept/storage").ok());
  const std::string path = "/kept/storage/count/chk-2";
  const Status status = Refused(other, Path(path));
  EXPECT_SAYS(status, "--rewind=6");
  EXPECT_SAYS(Refused(other, Path(path, 5)), "--rewind=6");
  kafka_.next = 3;  // what lies behind is doubled, and nothing before
  postgres_.next = 3;
  auto rewound = Started(other, Path(path, 6));
  EXPECT_EQ(rewound->offset(), 2U);
  EXPECT_EQ(rewound->restored().checkpoint->id.number, 7U);
  Round(*rewound, 3);
  EXPECT_EQ(kafka_.rows.size(), 10U + 3U);
  rewound.reset();
  rewound = Started(other, Path(path, 6));  // the same command line again
  EXPECT_EQ(rewound->offset(), 5U);
  rewound.reset();
  rewound = Started(other, Path(path));
  EXPECT_EQ(rewound->offset(), 5U);
  EXPECT_TRUE(other.fs.RemoveTree("/kept").ok());  // nothing of it is shared
  rewound.reset();
  rewound = Started(other);
  EXPECT_EQ(rewound->offset(), 5U);
}

TEST_F(ScenariosTest, Scenario05_WhatIsNotAppliedCanNotBeRestoredByChoice) {
  auto job = Started(machine_);
  Round(*job);
  postgres_.up = false;
  Round(*job);
  Round(*job);
  job.reset();
  postgres_.up = true;
  const Status status = Refused(machine_, Path("/storage/count/chk-3", 4));
  EXPECT_SAYS(status, "only an applied checkpoint can be restored by choice");
}

TEST_F(ScenariosTest, Scenario06_AnAbortBetweenSealAndDurable) {
  auto job = Started(machine_);
  job->options.tolerated_failures = 10;
  job->fail_snapshots = 1;
  Round(*job, 5);
  EXPECT_EQ(job->aborted(), std::vector<uint64_t>{2});
  machine_.clock.Advance(seconds(2));
  job->Emit(3);
  job->Settle();
  EXPECT_EQ(kafka_.rows.size(), 8U);
  EXPECT_EQ(postgres_.rows.size(), 8U);
}

TEST_F(ScenariosTest, Scenario07_TheFolderSyncFailsAndPowerIsLostAtEachLaterStep) {
  for (uint64_t nth = 1; nth < 60; ++nth) {
    for (const bool may_be_seen : {false, true}) {
      Machine machine(nth);
      FakeSystem system("kafka");
      auto job = std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{&system});
      ASSERT_TRUE(job->Start().ok());
      job->Emit(4);
      machine.fs.Arm({.kind = simulation::OperationKind::kSyncDirectory, .path_part = "chk-2"});
      job->Checkpoint();
      ASSERT_EQ(job->coordinator().outcome(), Outcome::kFailed);
      job->EndAttempt();
      machine.fs.Disarm();
      machine.fs.Arm({.nth = nth, .action = simulation::FaultAction::kCrashAfter});
      if (job->Start().ok()) job->Settle();
      job->life().dead = true;
      job.reset();
      machine.fs.Disarm();
      machine.fs.PowerLoss({}, may_be_seen ? simulation::UnsyncedNames::kKept : simulation::UnsyncedNames::kDropped);
      job = std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{&system});
      const Status status = job->Start();
      ASSERT_TRUE(status.ok()) << nth << status.ToString();
      job->Settle();
      EXPECT_EQ(system.rows.size(), job->offset());
      job->Emit(4);
      job->Checkpoint();
      EXPECT_EQ(system.broken, "") << nth;
      EXPECT_EQ(system.rows.size(), job->offset());
    }
  }
}

TEST_F(ScenariosTest, Scenario08_ASystemIsDownForAnHour) {
  auto job = NewJob(machine_);
  job->options.interval = std::chrono::milliseconds(500);
  job->options.unconfirmed_bytes_max = 2000;
  ASSERT_TRUE(job->Start().ok());
  kafka_.up = false;
  uint64_t emitted = 0;
  for (int i = 0; i < 7200; ++i) {
    if (!job->coordinator().OutputBlocked()) {
      job->Emit(3);
      emitted += 3;
    }
    machine_.clock.Advance(std::chrono::milliseconds(500));
    job->Settle();
  }
  EXPECT_TRUE(job->coordinator().OutputBlocked());
  EXPECT_LE(emitted, 203U);
  EXPECT_LE(job->storage().DurableNumbers()->size(), 3U);
  EXPECT_LE(machine_.fs.List(job->storage().SharedFolder())->size(), 6U);
  kafka_.up = true;
  machine_.clock.Advance(seconds(10));
  job->Settle();
  EXPECT_EQ(kafka_.rows.size(), emitted);
  EXPECT_FALSE(job->coordinator().OutputBlocked());
}

TEST_F(ScenariosTest, Scenario09_TheNewestIsDamagedAndAMarkerNamesIt) {
  auto job = Started(machine_);
  Round(*job);
  Round(*job);
  job.reset();
  ASSERT_TRUE(machine_.fs.Damage("/storage/count/chk-3/_metadata", [](std::string& bytes) { bytes.resize(9); }).ok());
  const Status status = Refused(machine_);
  EXPECT_SAYS(status, "checkpoint 3 is damaged and can't be passed over");
  EXPECT_SAYS(status, "system kafka is at checkpoint 3");
}

TEST_F(ScenariosTest, Scenario10_ASystemIsDownAtTheStartAndAtARestartInside) {
  auto job = Started(machine_);
  Round(*job);
  job.reset();
  postgres_.up = false;
  job = Started(machine_);
  Round(*job);
  EXPECT_EQ(kafka_.rows.size(), 4U);
  EXPECT_EQ(job->coordinator().outcome(), Outcome::kRunning);
  job->EndAttempt();
  ASSERT_TRUE(job->Start().ok());
  Round(*job);
  EXPECT_EQ(postgres_.rows.size(), 2U);
  EXPECT_TRUE(job->applied().empty() || job->applied().back() == 2U);
  postgres_.up = true;
  machine_.clock.Advance(seconds(11));
  job->Settle();
  EXPECT_EQ(postgres_.rows.size(), 6U);
  EXPECT_EQ(job->coordinator().stats().applied_number, 4U);
}

TEST_F(ScenariosTest, Scenario11_ASinkIsRemovedAndAddedAgain) {
  auto job = Started(machine_);
  Round(*job);
  postgres_.up = false;
  Round(*job);
  job.reset();
  FakeJob without(machine_, {&kafka_});
  const Status status = without.Start();
  EXPECT_SAYS(status, "system postgres is not in the job definition and has not confirmed 2 rows");
  EXPECT_SAYS(status, "--drop-output postgres");
  RestoreRequest drop;
  drop.drop_output = {"postgres"};
  ASSERT_TRUE(without.Start(drop).ok());
  Round(without);
  EXPECT_EQ(kafka_.rows.size(), 6U);
  without.EndAttempt();
  // Without output that waits it may go at once.
  ASSERT_TRUE(without.Start().ok());
  Round(without);
}

TEST_F(ScenariosTest, Scenario11_ASinkWithoutUnconfirmedOutputMayGoAndComeBackAsNew) {
  auto job = Started(machine_);
  Round(*job);
  job.reset();
  {
    FakeJob without(machine_, {&kafka_});
    const Status status = without.Start();
    ASSERT_TRUE(status.ok()) << status.ToString();
    Round(without);
  }
  postgres_.next = 5;  // rows 3 and 4 were not meant for it
  job = Started(machine_);
  EXPECT_TRUE(job->restored().systems[1].is_new);
  Round(*job);
  EXPECT_EQ(postgres_.rows, (std::vector<uint64_t>{1, 2, 5, 6}));
  EXPECT_EQ(kafka_.rows.size(), 6U);
  // P2 of this test job counts rows: it does not know that the system joined late.
  postgres_.broken.clear();
}

TEST_F(ScenariosTest, Scenario12_AStopWhileASystemIsDownIsDurableAndAppliedLater) {
  auto job = Started(machine_);
  job->Emit(3);
  postgres_.up = false;
  job->coordinator().TriggerNow(AfterBarrier::kStop);
  job->Settle();
  EXPECT_TRUE(job->coordinator().LastCheckpointDurable());
  EXPECT_EQ(job->coordinator().outcome(), Outcome::kRunning);
  ASSERT_EQ(job->coordinator().Unconfirmed().size(), 1U);
  EXPECT_EQ(job->coordinator().Unconfirmed()[0].rows, 3U);
  job.reset();
  postgres_.up = true;
  job = Started(machine_);
  EXPECT_EQ(postgres_.rows.size(), 3U);
}

TEST_F(ScenariosTest, Scenario13_AnOlderCopyBesideAHealthyJobIsRefusedBeforeItFences) {
  auto job = Started(machine_);
  Round(*job);
  Machine other(14);
  CopyStorage(machine_.fs, other.fs, FakeJob::kStorage);
  Round(*job);
  EXPECT_EQ(Refused(other).code(), StatusCode::kFailedPrecondition);
  Round(*job);
  EXPECT_EQ(job->coordinator().outcome(), Outcome::kRunning);
  EXPECT_EQ(kafka_.rows.size(), 6U);
}

TEST_F(ScenariosTest, Scenario14_ARepeatedCommandLineRewindsOnce) {
  auto job = Started(machine_);
  job->options.retain = 10;
  Round(*job);
  Round(*job);
  job.reset();
  const RestoreRequest request = Path("/storage/count/chk-2", 3);
  kafka_.next = 3;
  postgres_.next = 3;
  for (int i = 0; i < 5; ++i) {
    job = Started(machine_, request);
    EXPECT_EQ(job->offset(), 2U + 2U * static_cast<uint64_t>(i));
    Round(*job);
    Crash(machine_, job);
  }
  EXPECT_EQ(kafka_.rows.size(), 4U + 10U);
}

TEST_F(ScenariosTest, Scenario15_ACloneBesideTheOriginal) {
  auto job = Started(machine_);
  Round(*job);
  FakeSystem own("kafka");  // the job's name is part of every marker: a clone sees a system without marker
  own.next = 3;
  FakeJob clone(machine_, {&own}, "clone");
  const Status status = clone.Start(Path("/storage/count/chk-2"));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(clone.offset(), 2U);
  Round(*job);
  clone.Emit(5);
  clone.Checkpoint();
  EXPECT_EQ(own.rows, (std::vector<uint64_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(kafka_.rows.size(), 4U);
}

TEST_F(ScenariosTest, Scenario16_TheMarkerIsGone) {
  auto job = Started(machine_);
  Round(*job);
  Round(*job);
  job.reset();
  const auto marker = kafka_.marker;
  ASSERT_TRUE(machine_.fs.RemoveTree("/storage/count/applied").ok());
  kafka_.marker.reset();
  const Status status = Refused(machine_);
  EXPECT_SAYS(status, "system kafka has no marker");
  EXPECT_SAYS(status, "--assume");
  RestoreRequest assume;
  assume.assume = 7;
  EXPECT_SAYS(Refused(machine_, assume), "one of 2 3");
  assume.assume = 3;
  job = Started(machine_, assume);
  Round(*job);
  job.reset();
  assume.assume = 2;  // ignored: there is a marker again
  job = Started(machine_, assume);
  EXPECT_EQ(kafka_.rows.size(), 6U);
}

TEST_F(ScenariosTest, Scenario16_TheHintShowsThatNothingWasMissing) {
  auto job = Started(machine_);
  Round(*job);
  Round(*job);
  job.reset();
  kafka_.marker.reset();
  job = Started(machine_);
  Round(*job);
  EXPECT_EQ(kafka_.rows.size(), 6U);
}

TEST_F(ScenariosTest, Scenario17_MoreOutputThanTheBoundInOneInterval) {
  auto job = NewJob(machine_);
  job->options.interval = minutes(60);
  job->options.unconfirmed_bytes_max = 100;
  ASSERT_TRUE(job->Start().ok());
  for (int i = 0; i < 50; ++i) {
    job->Emit(5);
    job->coordinator().TriggerNow(AfterBarrier::kGoOn);  // half of the bound is unsealed
    job->Settle();
    EXPECT_FALSE(job->coordinator().OutputBlocked());
  }
  EXPECT_EQ(kafka_.rows.size(), 250U);
}

TEST_F(ScenariosTest, Scenario18_TwoProcessesOnOneStorage) {
  auto job = Started(machine_);
  const Status status = Refused(machine_);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_SAYS(status, "job 'count' is running already");
  EXPECT_SAYS(status, "/storage/count");
}

TEST_F(ScenariosTest, Scenario18_ACopiedStorageTakesTheOlderProcessOver) {
  auto job = Started(machine_);
  Round(*job);
  Machine other(15);
  CopyStorage(machine_.fs, other.fs, FakeJob::kStorage);
  auto second = Started(other);
  Round(*job);
  EXPECT_EQ(job->coordinator().outcome(), Outcome::kFailed);
  EXPECT_EQ(job->coordinator().failure().code(), StatusCode::kFenced);
  Round(*second);
  EXPECT_EQ(kafka_.rows.size(), 4U);
}

TEST_F(ScenariosTest, Scenario21_OutputOfAnEarlierCheckpointIsDamaged) {
  auto job = Started(machine_);
  Round(*job);
  kafka_.up = false;
  postgres_.up = false;
  Round(*job);
  Round(*job);
  job.reset();
  kafka_.up = true;
  postgres_.up = true;
  kafka_.verify = Status::Corruption("part 7 has a wrong checksum");
  job = Started(machine_);  // 4 and 3 need that part; 2 does not, and no marker is behind it
  EXPECT_EQ(job->restored().checkpoint->id.number, 2U);
  ASSERT_EQ(job->restored().report.size(), 2U);
  EXPECT_NE(job->restored().report[0].text.find("checkpoint 4 is damaged and passed over"), std::string::npos);
  EXPECT_TRUE(Exists(machine_.fs, "/storage/count/chk-4.damaged/_metadata"));
  kafka_.verify = Status::Ok();
  job->Emit(4);  // the source reads them again
  EXPECT_EQ(job->Checkpoint(), 5U);
  EXPECT_EQ(kafka_.rows.size(), 6U);
}

TEST_F(ScenariosTest, Scenario22_TheFirstCheckpointFixesWhereSplitsBegin) {
  auto job = NewJob(machine_);
  kafka_.up = false;
  EXPECT_EQ(job->Start().code(), StatusCode::kUnavailable);  // a first start waits for every system
  kafka_.up = true;
  ASSERT_TRUE(job->Start().ok());
  EXPECT_TRUE(job->restored().is_first_start);
  EXPECT_EQ(job->restored().checkpoint->enumerators.at("source"), "1");
  Crash(machine_, job);
  job = Started(machine_);
  EXPECT_FALSE(job->restored().is_first_start);
  EXPECT_EQ(job->restored().checkpoint->id.number, 1U);
  EXPECT_EQ(job->restored().checkpoint->enumerators.at("source"), "1");
}

TEST_F(ScenariosTest, Scenario25_IdleForLongThenACrashBetweenDurableAndApplied) {
  auto job = Started(machine_);
  Round(*job);
  for (int i = 0; i < 200; ++i) job->Checkpoint();
  EXPECT_EQ(job->coordinator().stats().applied_number, 202U);
  EXPECT_EQ(kafka_.applies, 1U);  // nothing to write, nothing written
  job->Emit(3);
  ArmFaultSites([&](std::string_view site) {
    if (site == "checkpoint.durable") job->life().Kill();
  });
  job->Checkpoint();
  ArmFaultSites({});
  EXPECT_EQ(kafka_.rows.size(), 2U);
  Crash(machine_, job);
  job = Started(machine_);
  EXPECT_EQ(kafka_.rows.size(), 5U);
  EXPECT_EQ(postgres_.rows.size(), 5U);
}

TEST_F(ScenariosTest, Scenario26_NumbersAreNeverUsedTwice) {
  std::set<uint64_t> used;
  auto job = Started(machine_);
  for (int i = 0; i < 30; ++i) {
    job->options.tolerated_failures = 100;
    job->withhold_snapshots = i % 3 == 1;
    job->Emit(1);
    job->coordinator().TriggerNow(AfterBarrier::kGoOn);
    job->Settle();
    const uint64_t number =
        i % 3 == 1 ? *job->coordinator().stats().pending_number : job->coordinator().stats().last_number;
    EXPECT_TRUE(used.insert(number).second) << number;
    Crash(machine_, job);
    job = Started(machine_);
  }
  EXPECT_EQ(kafka_.rows.size(), 20U);
}

TEST_F(ScenariosTest, StateThatTheDefinitionLacksIsRefusedByName) {
  auto job = Started(machine_);
  Round(*job);
  job.reset();
  job = NewJob(machine_);
  job->uids = {"other"};
  EXPECT_SAYS(job->Start(), "holds state of 'source'");
  RestoreRequest request;
  request.allow_non_restored_state = true;
  ASSERT_TRUE(job->Start(request).ok());
  ASSERT_FALSE(job->restored().report.empty());
  EXPECT_NE(job->restored().report[0].text.find("'source' is dropped"), std::string::npos);
}

TEST_F(ScenariosTest, RestoreNoneBeginsAnewOnlyWithAWordForWhatTheSystemsHold) {
  auto job = Started(machine_);
  Round(*job);
  job.reset();
  RestoreRequest none;
  none.from = From::kNone;
  EXPECT_SAYS(Refused(machine_, none), "--rewind=2");
  none.rewind = 2;
  kafka_.next = 1;
  postgres_.next = 1;
  job = Started(machine_, none);
  EXPECT_EQ(job->offset(), 0U);
  EXPECT_EQ(job->restored().checkpoint->id.number, 3U);
  Round(*job);
  Crash(machine_, job);
  job = Started(machine_, none);  // the flag has been used
  EXPECT_EQ(job->offset(), 2U);
}

TEST_F(ScenariosTest, AnEmptyStorageBesideSystemsWithOutputIsRefused) {
  auto job = Started(machine_);
  Round(*job);
  job.reset();
  Machine other(16);
  EXPECT_SAYS(Refused(other), "is empty, but system kafka has output");
}

}  // namespace
}  // namespace weir::checkpoint
