// A job that fails is started again in its process, and with --supervise one whose process dies: exact all the same.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobRestartTest : public testing::Test {
 protected:
  // Follows a file, counts the rows of each key (they all differ) and writes a file for each checkpoint.
  Json CountingJob(const Json& restart) {
    Json job = EmptyJob(folder_, "copy");
    job["restart"] = restart;
    job["checkpoint"]["tolerated-failures"] = 0;
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    AddCount(job, "counts", "in", "k");
    job["sinks"].push_back(FileSink(folder_, "out", "counts"));
    return job;
  }
  void AppendRows(size_t count) {
    std::string lines;
    for (size_t i = 0; i < count; ++i) {
      const std::string key = "{\"k\":" + std::to_string(expected_.size());
      lines += key + "}\n";
      expected_.push_back(key + ",\"n\":1}");
    }
    folder_.Append("in/a.jsonl", lines);
  }
  bool AllOut() {
    return Eventually(seconds(30), [&] { return OutLines(folder_).size() >= expected_.size(); });
  }
  void ExpectExact() {
    std::ranges::sort(expected_);
    EXPECT_EQ(OutLines(folder_), expected_);
  }
  void Break() { broken_.emplace(shared_); }
  void Mend() { broken_.reset(); }
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  JobFolder folder_;
  const std::string shared_ = folder_.Path("checkpoints/copy/shared");
  std::optional<BrokenFolder> broken_;
  std::vector<std::string> expected_;
};

TEST_F(JobRestartTest, AFailedJobGoesOnInTheSameProcess) {
  std::filesystem::create_directories(folder_.Path("in"));
  AppendRows(100);
  const Json job = CountingJob({{"strategy", "fixed-delay"}, {"delay", "200ms"}, {"attempts-max", 1000}});
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  ASSERT_TRUE(AllOut()) << weir.Output();
  for (size_t round = 1; round <= 2; ++round) {
    Break();
    AppendRows(1);
    EXPECT_TRUE(Eventually(seconds(20), [&] { return Count(weir.Output(), "; restart ") >= 2 * round; }))
        << weir.Output();
    EXPECT_TRUE(weir.Running());
    EXPECT_EQ(OutLines(folder_).size(), expected_.size() - 1);
    Mend();
    EXPECT_TRUE(AllOut()) << weir.Output();
  }
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  ExpectExact();
  ExpectSays(weir.Output(), {"warning", "job \"copy\" failed", shared_, "goes on from checkpoint"});
}

TEST_F(JobRestartTest, ACrashLoopEndsWithItsOwnCodeAndTheRootCauseFirst) {
  std::filesystem::create_directories(folder_.Path("in"));
  AppendRows(10);
  const Json job = CountingJob({{"strategy", "fixed-delay"}, {"delay", "50ms"}, {"attempts-max", 3}});
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  ASSERT_TRUE(AllOut()) << weir.Output();
  Break();
  EXPECT_EQ(weir.Wait(seconds(30)), kGaveUp) << weir.Output();
  const std::vector<std::string> said = LinesOf(weir.Output());
  EXPECT_EQ(Count(weir.Output(), "; restart "), 3U) << weir.Output();
  ExpectSays(said.back(), {"error job \"copy\" failed: i/o error", shared_, "gave up after 3 restarts",
                           "fixed-delay: attempts-max is 3"});
  Mend();
  AppendRows(10);
  Weir next(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_TRUE(AllOut()) << next.Output();
  EXPECT_EQ(next.Stop(), kOk) << next.Output();
  ExpectExact();
}

TEST_F(JobRestartTest, Weakness_b_WhatARestartCannotHealEndsTheJobAtOnce) {
  folder_.Write("in/a.jsonl", "{\"k\":1}\n{\"k\":}\n");
  const Json job = CountingJob({{"strategy", "exponential-delay"}});
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job)}, {}, seconds(20));
  EXPECT_EQ(ended.code, kJobFailed) << ended.output;
  EXPECT_EQ(Count(ended.output, "; restart "), 0U) << ended.output;
}

TEST_F(JobRestartTest, AStopEndsTheWaitForARestart) {
  std::filesystem::create_directories(folder_.Path("in"));
  AppendRows(10);
  Weir weir(folder_, {"run", WriteJob(folder_, CountingJob({{"strategy", "fixed-delay"}, {"delay", "10m"}}))});
  ASSERT_TRUE(AllOut()) << weir.Output();
  Break();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("; restart 1 in 600000 ms"); })) << weir.Output();
  weir.Signal(SIGTERM);
  EXPECT_EQ(weir.Wait(seconds(10)), kJobFailed) << weir.Output();
  ExpectSays(weir.Output(), {"stopped while it waited for a restart"});
}

TEST_F(JobRestartTest, AJobThatWaitsForARestartIsStoppedByName) {
  std::filesystem::create_directories(folder_.Path("in"));
  AppendRows(10);
  const std::string path = WriteJob(folder_, CountingJob({{"strategy", "fixed-delay"}, {"delay", "10m"}}));
  Weir weir(folder_, {"run", path});
  ASSERT_TRUE(AllOut()) << weir.Output();
  Break();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("; restart 1 in 600000 ms"); })) << weir.Output();
  const Ended saved = RunToEnd(folder_, {"savepoint", path, "--to", folder_.Path("saved")});
  EXPECT_EQ(saved.code, kJobFailed) << saved.output;
  ExpectSays(saved.output, {"waits for a restart"});
  const Ended second = RunToEnd(folder_, {"run", path});
  EXPECT_EQ(second.code, kStartRefused) << second.output;
  ExpectSays(second.output, {"is running already"});
  const Ended stopped = RunToEnd(folder_, {"stop", path});
  EXPECT_EQ(stopped.code, kOk) << stopped.output;
  EXPECT_EQ(weir.Wait(seconds(10)), kJobFailed) << weir.Output();
}

// The child of a process, from /proc.
std::optional<pid_t> ChildOf(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::ifstream in("/proc/" + id + "/task/" + id + "/children");
  pid_t child = 0;
  return in >> child ? std::optional(child) : std::nullopt;
}

class SupervisedJobTest : public JobRestartTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.Path("in"));
    AppendRows(50);
    path_ = WriteJob(folder_, CountingJob({{"strategy", "fixed-delay"}, {"delay", "100ms"}, {"attempts-max", 4}}));
  }
  // The pid of a child other than `former`.
  pid_t NextChild(const Weir& weir, pid_t former) {
    std::optional<pid_t> child;
    EXPECT_TRUE(Eventually(seconds(20), [&] {
      child = ChildOf(weir.pid());
      return child.has_value() && *child != former;
    }));
    return child.value_or(0);
  }
  std::string path_;
};

TEST_F(SupervisedJobTest, AKilledChildIsStartedAgainAndAStopIsHandedOn) {
  Weir weir(folder_, {"run", path_, "--supervise"});
  pid_t child = 0;
  for (int life = 0; life < 3; ++life) {
    child = NextChild(weir, child);
    ASSERT_TRUE(AllOut()) << weir.Output();
    AppendRows(50);
    ASSERT_EQ(kill(child, SIGKILL), 0);
  }
  child = NextChild(weir, child);
  ASSERT_TRUE(AllOut()) << weir.Output();
  weir.Signal(SIGTERM);
  EXPECT_EQ(weir.Wait(seconds(20)), kOk) << weir.Output();
  ExpectExact();
  EXPECT_EQ(Count(weir.Output(), "was ended by signal 9; restart "), 3U) << weir.Output();
  ExpectSays(weir.Output(), {"stopping after a last checkpoint"});
}

TEST_F(SupervisedJobTest, ACrashLoopOfChildrenGivesUp) {
  Weir weir(folder_, {"run", path_, "--supervise"}, {{"WEIR_FAULT", "checkpoint.after-metadata-fsync:2:kill"}});
  EXPECT_EQ(weir.Wait(seconds(40)), kGaveUp) << weir.Output();
  ExpectSays(weir.Output(), {"was ended by signal 9; gave up after 4 restarts"});
  Weir next(folder_, {"run", path_});
  EXPECT_TRUE(AllOut()) << next.Output();
  EXPECT_EQ(next.Stop(), kOk) << next.Output();
  ExpectExact();
}

TEST_F(SupervisedJobTest, ADeadSupervisorTakesItsChildAlong) {
  Weir weir(folder_, {"run", path_, "--supervise"});
  const pid_t child = NextChild(weir, 0);
  ASSERT_TRUE(AllOut()) << weir.Output();
  weir.Kill9();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return kill(child, 0) != 0; }));
  AppendRows(10);
  Weir next(folder_, {"run", path_});
  EXPECT_TRUE(AllOut()) << next.Output();
  EXPECT_EQ(next.Stop(), kOk) << next.Output();
  ExpectExact();
}

TEST_F(SupervisedJobTest, ExitCodesOfTheChildAreFinal) {
  const Ended refused = RunToEnd(folder_, {"run", path_, "--supervise", "--restore", folder_.Path("nowhere")});
  EXPECT_EQ(refused.code, 3) << refused.output;
  const Ended anew = RunToEnd(folder_, {"run", path_, "--supervise", "--restore", "none"});
  EXPECT_EQ(anew.code, kBadUsage) << anew.output;
}

}  // namespace
}  // namespace weir::job_test
