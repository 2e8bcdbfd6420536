// Savepoints of the real binary: taken while it runs and at a stop, moved, restored under another name, at another
// parallelism, with another operator; and killed in the middle of one.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

// A job that counts the rows of a few keys, and what it must have put out: every (key, count) once.
class JobSavepointTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_.Path("in")); }

  Json CountingJob(const std::string& name = "counting", const std::string& sink = "out") {
    Json job = EmptyJob(folder_, name);
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    AddCount(job, "counts", "in", "k");
    job["sinks"].push_back(FileSink(folder_, sink, "counts"));
    return job;
  }
  std::string Write(const Json& job) { return WriteJob(folder_, job, job["name"].get<std::string>() + ".json"); }
  void AppendRows(size_t count) {
    std::string lines;
    for (size_t i = 0; i < count; ++i) {
      const size_t key = rows_ % keys_;
      lines += "{\"k\":" + std::to_string(key) + "}\n";
      expected_.push_back("{\"k\":" + std::to_string(key) + ",\"n\":" + std::to_string(rows_ / keys_ + 1) + "}");
      ++rows_;
    }
    folder_.Append("in/a.jsonl", lines);
    std::ranges::sort(expected_);
  }
  bool AllOut(const std::string& sink = "out") {
    return Eventually(seconds(30), [&] { return OutLines(folder_, sink).size() >= expected_.size(); });
  }
  Ended Ask(const std::string& verb, const std::string& job, Arguments more) {
    Arguments arguments = {verb, job};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunToEnd(folder_, std::move(arguments));
  }

  JobFolder folder_;
  size_t keys_ = 7;
  size_t rows_ = 0;
  std::vector<std::string> expected_;
};

TEST_F(JobSavepointTest, OfARunningJobIsMovedAndClonedWhileTheJobGoesOn) {
  AppendRows(100);
  Json original = CountingJob();
  original["parallelism"] = 2;
  original["checkpoint"]["interval"] = "1h";  // nothing comes out but by the savepoint's own checkpoint
  original["checkpoint"]["storage"] = folder_.Path(std::string(120, 'd'));  // longer than a socket's address
  const std::string path = Write(original);
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("first start"); })) << weir.Output();
  // One may be cut before the rows are read: as often as it takes.
  const auto take_until_all_out = [&] {
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      std::filesystem::remove_all(folder_.Path("sp"));
      const Ended taken = Ask("savepoint", path, {"--to", folder_.Path("sp")});
      EXPECT_EQ(taken.code, kOk) << taken.output;
      ExpectSays(taken.output, {"savepoint of job \"counting\" at checkpoint ", folder_.Path("sp")});
      return OutLines(folder_).size() == expected_.size();
    })) << weir.Output();
  };
  take_until_all_out();
  const std::vector<std::string> before = OutLines(folder_);
  EXPECT_EQ(before, expected_);

  std::filesystem::rename(folder_.Path("sp"), folder_.Path("moved"));
  const Ended shown = RunToEnd(folder_, {"state", "show", folder_.Path("moved")});
  EXPECT_EQ(shown.code, kOk);
  ExpectSays(shown.output, {"savepoint at checkpoint", "counts", "groups"});
  Json clone = CountingJob("clone", "clone_out");
  clone["parallelism"] = 3;
  Weir cloned(folder_, {"run", Write(clone), "--restore", folder_.Path("moved")});
  AppendRows(100);
  std::vector<std::string> behind;
  std::ranges::set_difference(expected_, before, std::back_inserter(behind));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_, "clone_out").size() >= behind.size(); }))
      << cloned.Output();
  EXPECT_EQ(OutLines(folder_, "clone_out"), behind);
  EXPECT_EQ(cloned.Stop(), kOk) << cloned.Output();
  take_until_all_out();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, B23_B51_AChainOfStopsAndStartsAtOtherParallelismsIsExact) {
  const int rounds = Torture() ? 20 : 6;
  for (int round = 0; round < rounds; ++round) {
    Json job = CountingJob();
    job["parallelism"] = 1 + round % 3;
    if (round > rounds / 2) {  // an operator more, without state
      job["operators"].push_back({{"id", "all"}, {"type", "filter"}, {"input", "counts"}, {"where", "n > 0"}});
      job["sinks"][0]["input"] = "all";
    }
    const std::string path = Write(job);
    Arguments arguments = {"run", path};
    if (round % 2 == 1)
      arguments.insert(arguments.end(), {"--restore", folder_.Path("sp" + std::to_string(round - 1))});
    Weir weir(folder_, arguments);
    AppendRows(100);
    EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("first start") || weir.Says("goes on from"); }))
        << weir.Output();
    if (round % 3 != 2) {
      EXPECT_TRUE(AllOut()) << weir.Output();
    }
    const Ended stopped = Ask("savepoint", path, {"--to", folder_.Path("sp" + std::to_string(round)), "--stop"});
    EXPECT_EQ(stopped.code, kOk) << stopped.output;
    ExpectSays(stopped.output, {"stopped"});
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
    if (HasFailure()) return;
  }
  const std::string path = Write(CountingJob());
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("goes on from"); }));
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(Ask("stop", path, {}).code, kOk);
  EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, Scenario04_InEmptyStorageItNeedsRewindAndDoublesOnlyWhatCameBehindIt) {
  AppendRows(70);
  const std::string path = Write(CountingJob());
  std::vector<std::string> behind;
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(AllOut()) << weir.Output();
    EXPECT_EQ(Ask("savepoint", path, {"--to", folder_.Path("sp")}).code, kOk) << weir.Output();
    const std::vector<std::string> before = expected_;
    AppendRows(30);
    std::ranges::set_difference(expected_, before, std::back_inserter(behind));
    EXPECT_TRUE(AllOut()) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  }
  Arguments arguments = {
      "run", path, "--set", "checkpoint.storage=" + folder_.Path("empty"), "--restore", folder_.Path("sp")};
  const Ended refused = RunToEnd(folder_, arguments);
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  EXPECT_EQ(OutLines(folder_), expected_);
  std::smatch rewind;
  ASSERT_TRUE(std::regex_search(refused.output, rewind, std::regex("--rewind=[0-9]+"))) << refused.output;
  arguments.push_back(rewind[0]);
  expected_.insert(expected_.end(), behind.begin(), behind.end());
  std::ranges::sort(expected_);
  // A supervisor repeats the command line: it rewinds once.
  for (int life = 0; life < 3; ++life) {
    Weir weir(folder_, arguments);
    EXPECT_TRUE(AllOut()) << weir.Output();
    if (life == 1) {
      AppendRows(10);
      EXPECT_TRUE(AllOut()) << weir.Output();
    }
    weir.Kill9();
  }
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, WhatCannotBeDoneIsSaidAndTheJobGoesOn) {
  AppendRows(10);
  const std::string path = Write(CountingJob());
  EXPECT_EQ(Ask("savepoint", path, {"--to", folder_.Path("sp")}).code, kJobFailed);
  const Ended absent = Ask("stop", path, {});
  EXPECT_EQ(absent.code, kJobFailed);
  ExpectSays(absent.output, {"job \"counting\" is not running here"});
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(AllOut()) << weir.Output();
  struct stat info{};
  ASSERT_EQ(stat(folder_.Path("checkpoints/counting/control.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  folder_.Write("precious/file", "1");
  const Ended taken = Ask("savepoint", path, {"--to", folder_.Path("precious"), "--stop"});
  EXPECT_EQ(taken.code, kJobFailed) << taken.output;
  ExpectSays(taken.output, {folder_.Path("precious"), "something in"});
  const Ended inside = Ask("savepoint", path, {"--to", folder_.Path("checkpoints/counting/shared/x"), "--stop"});
  EXPECT_EQ(inside.code, kJobFailed) << inside.output;
  ExpectSays(inside.output, {"checkpoints/counting/shared/x", "a job's own folder"});
  EXPECT_EQ(Ask("savepoint", path, {}).code, kBadUsage);
  AppendRows(10);
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("checkpoints/counting/control.sock")));
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, KilledInTheMiddleOfOneLeavesNoneAndTheJobIsExact) {
  const std::string path = Write(CountingJob());
  for (const std::string site : {"savepoint.file-copied", "savepoint.before-metadata"}) {
    AppendRows(50);
    Weir weir(folder_, {"run", path}, {{"WEIR_FAULT", site + ":1:kill"}});
    EXPECT_TRUE(AllOut()) << weir.Output();
    const Ended taken = Ask("savepoint", path, {"--to", folder_.Path(site)});
    EXPECT_EQ(taken.code, kJobFailed) << taken.output;
    EXPECT_EQ(weir.Wait(seconds(10)), -SIGKILL) << weir.Output();
    const Ended restored = RunToEnd(folder_, {"run", path, "--restore", folder_.Path(site)}, {}, seconds(20));
    EXPECT_EQ(restored.code, kStartRefused) << restored.output;
  }
  AppendRows(50);
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, AClaimedOneIsLinkedAndGoesBehindTheFirstOwnCheckpoint) {
  AppendRows(50);
  const std::string path = Write(CountingJob());
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(AllOut()) << weir.Output();
    EXPECT_EQ(Ask("savepoint", path, {"--to", folder_.Path("sp"), "--stop"}).code, kOk) << weir.Output();
  }
  EXPECT_EQ(RunToEnd(folder_, {"run", path, "--claim"}).code, kBadUsage);
  EXPECT_EQ(RunToEnd(folder_, {"run", path, "--claim", "--restore", "none"}).code, kBadUsage);
  const std::string empty = "checkpoint.storage=" + folder_.Path("empty");
  const Ended refused =
      RunToEnd(folder_, {"run", path, "--set", empty, "--claim", "--restore", folder_.Path("checkpoints/counting")});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"--claim takes a savepoint", "of job 'counting'", "leave --claim out"});

  const Arguments claim = {
      "run", path, "--set", empty, "--set", "checkpoint.interval=1h", "--claim", "--restore", folder_.Path("sp") + "/"};
  for (int life = 0; life < 3; ++life) {
    AppendRows(20);
    Weir weir(folder_, claim);
    EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("goes on from"); })) << weir.Output();
    EXPECT_EQ(std::filesystem::exists(folder_.Path("sp")), life == 0);
    if (life == 0) {
      EXPECT_TRUE(weir.Says("savepoint " + folder_.Path("sp") + " is claimed")) << weir.Output();
      for (const std::string& file : FilesUnder(folder_.Path("sp/state"))) {
        EXPECT_GT(std::filesystem::hard_link_count(file), 1U) << file;
      }
    }
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    EXPECT_EQ(weir.Says("is deleted"), life == 0) << weir.Output();
  }
  EXPECT_TRUE(FilesUnder(folder_.Path("sp")).empty());
  Weir weir(folder_, {"run", path, "--set", empty});
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), expected_);
}

TEST_F(JobSavepointTest, CheckpointsGoWithAStopWhereTheDefinitionSaysSo) {
  Json job = CountingJob();
  job["checkpoint"]["on-stop"] = "delete";
  const std::string path = Write(job);
  const auto has_state = [&] {
    return std::ranges::any_of(FilesUnder(folder_.Path("checkpoints/counting")), [](const std::string& file) {
      return file.ends_with("/_metadata") || file.find("/shared/") != std::string::npos;
    });
  };
  {  // a supervisor's signal
    AppendRows(20);
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(AllOut()) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    EXPECT_TRUE(has_state());
  }
  Arguments arguments = {"run", path};
  for (const bool savepoint : {true, false}) {
    AppendRows(20);
    Weir weir(folder_, arguments);
    EXPECT_TRUE(AllOut()) << weir.Output();
    const Ended stopped =
        savepoint ? Ask("savepoint", path, {"--to", folder_.Path("sp"), "--stop"}) : Ask("stop", path, {});
    EXPECT_EQ(stopped.code, kOk) << stopped.output;
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
    ExpectSays(weir.Output(), {"its checkpoints are deleted, as checkpoint.on-stop says"});
    EXPECT_FALSE(has_state());
    EXPECT_EQ(OutLines(folder_), expected_);
    arguments = {"run", path, "--restore", folder_.Path("sp")};
  }
  const Ended refused = RunToEnd(folder_, {"run", path});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"has had checkpoints and none is left", "--restore none begins anew"});
}

TEST_F(JobSavepointTest, CheckpointsGoWithTheEndOfTheInputWhereTheDefinitionSaysSo) {
  AppendRows(20);
  Json job = CountingJob();
  job["checkpoint"]["on-stop"] = "delete";
  job["sources"][0]["follow"] = false;
  const Ended ended = RunToEnd(folder_, {"run", Write(job)});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  ExpectSays(ended.output, {"finished", "its checkpoints are deleted"});
  EXPECT_EQ(OutLines(folder_), expected_);
}

// At each step another parallelism, too; from a savepoint, from the newest checkpoint, and after a crash in between.
TEST_F(JobSavepointTest, KeyGroupsAreDoubledAndHalvedExactly) {
  keys_ = 1000;  // all groups have some
  struct Step {
    int groups, parallelism;
    bool savepoint;
  };
  int groups_before = 128;
  for (const Step& step : {Step{128, 3, false}, Step{256, 5, true}, Step{512, 3, false}, Step{64, 3, true}}) {
    Json job = CountingJob();
    job["key-groups"] = step.groups;
    job["parallelism"] = step.parallelism;
    const std::string path = Write(job);
    const std::string sp = folder_.Path("sp" + std::to_string(groups_before));
    Arguments arguments = {"run", path};
    if (step.savepoint) arguments.insert(arguments.end(), {"--restore", sp});
    const std::string change =
        "key groups " + std::to_string(groups_before) + " -> " + std::to_string(step.groups) + ":";
    if (step.groups != groups_before) {
      const Ended plan = RunToEnd(folder_, {"plan", path});
      EXPECT_EQ(plan.code, kOk) << plan.output;
      ExpectSays(plan.output, {change, "a start restores everything"});
      Weir killed(folder_, arguments);
      EXPECT_TRUE(Eventually(seconds(20), [&] { return killed.Says(change); })) << killed.Output();
      AppendRows(500);
      killed.Kill9();
    }
    Weir weir(folder_, arguments);
    AppendRows(1500);
    EXPECT_TRUE(AllOut()) << weir.Output();
    const std::string to = folder_.Path("sp" + std::to_string(step.groups));
    EXPECT_EQ(Ask("savepoint", path, {"--to", to, "--stop"}).code, kOk);
    EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
    EXPECT_EQ(OutLines(folder_), expected_);
    if (HasFailure()) return;
    groups_before = step.groups;
  }
  Json job = CountingJob();
  job["key-groups"] = 96;
  const Ended refused = RunToEnd(folder_, {"run", Write(job)});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"written with 64 key groups, the definition has 96", "expected 64, doubled or halved"});
}

TEST_F(JobSavepointTest, ADrainEndsTheJob) {
  AppendRows(20);
  const std::string path = Write(CountingJob());
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(Ask("savepoint", path, {"--to", folder_.Path("sp"), "--drain"}).code, kOk) << weir.Output();
  EXPECT_EQ(weir.Wait(seconds(10)), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), expected_);
}

}  // namespace
}  // namespace weir::job_test
