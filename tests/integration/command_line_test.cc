// The command line as people type it, with nothing but the binary and a folder: what it prints and where, its exit
// codes, and that a stop is heard at any time.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CommandLineTest : public testing::Test {
 protected:
  // What it prints on standard output alone, to its end.
  Ended StandardOutput(Arguments arguments) {
    harness::ChildProcess::Options options;
    options.arguments = {"sh", "-c", "exec \"$@\" 2>/dev/null", "sh", WeirBinary()};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.output_path = folder_.Write("stdout.log", "");
    auto process = harness::ChildProcess::Start(options);
    EXPECT_TRUE(process.has_value());
    if (!process.has_value()) return {};
    const std::optional<int> code = process->Wait(seconds(20));
    return {code, ReadText(options.output_path)};
  }
  // Rows without end, into files.
  Json GeneratorJob() {
    Json job = EmptyJob(folder_, "made_up");
    job["sources"].push_back({{"id", "in"}, {"connector", "generator"}, {"rows-per-second", 1000}, {"splits", 4}});
    job["sinks"].push_back(FileSink(folder_, "out", "in"));
    return job;
  }
  // Runs until rows are out, then stops; answers what it said.
  std::string RunForAWhile(Arguments arguments) {
    const size_t before = OutLines(folder_).size();
    Weir weir(folder_, std::move(arguments));
    EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_).size() > before; })) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    return weir.Output();
  }
  std::string NewestCheckpoint(const std::string& job) {
    std::vector<std::pair<uint64_t, std::string>> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("checkpoints/" + job))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("chk-")) found.emplace_back(std::stoull(name.substr(4)), entry.path().string());
    }
    return std::ranges::max(found).second;
  }

  JobFolder folder_;
};

TEST_F(CommandLineTest, PrintsItsVersionAndHelpOnStandardOutput) {
  const Ended version = StandardOutput({"--version"});
  EXPECT_EQ(version.code, kOk);
  EXPECT_TRUE(std::regex_match(version.output, std::regex("weir [0-9]+\\.[0-9]+\\.[0-9]+\n"))) << version.output;
  const std::vector<std::pair<Arguments, std::string>> asked = {{{"--help"}, "weir run JOB"},
                                                                {{"validate", "--help"}, "weir validate JOB"},
                                                                {{"run", "--help"}, "--restore"},
                                                                {{"run", "-h"}, "weir run JOB"},
                                                                {{"state", "--help"}, "weir state show PATH"},
                                                                {{"state", "show", "--help"}, "weir state show PATH"},
                                                                {{"demo", "--help"}, "--directory"}};
  for (const auto& [arguments, text] : asked) {
    const Ended help = StandardOutput(arguments);
    EXPECT_EQ(help.code, kOk) << arguments[0];
    ExpectSays(help.output, {text});
  }
  EXPECT_EQ(StandardOutput({"state", "hide", "x"}).code, kBadUsage);
}

TEST_F(CommandLineTest, AnAggregateWithTheNameOfItsKeyIsAProblemOfTheDefinition) {
  Json job = GeneratorJob();
  AddCount(job, "counts", "in", "customer_id");
  job["operators"][1]["aggregates"] = {{"customer_id", {{"function", "count"}}}};
  job["sinks"][0]["input"] = "counts";
  const std::string path = WriteJob(folder_, job);
  for (const char* verb : {"validate", "run"}) {
    const Ended ended = RunToEnd(folder_, {verb, path});
    EXPECT_EQ(ended.code, kBadUsage) << ended.output;
    ExpectSays(ended.output, {"/operators/1/aggregates/customer_id", "customer_id_count"});
  }
}

// A start and `weir state show` know a checkpoint by the same paths.
TEST_F(CommandLineTest, ACheckpointIsNamedByItsFolderItsMetadataOrItsJob) {
  const std::string job = WriteJob(folder_, GeneratorJob());
  RunForAWhile({"run", job});
  const std::string first = NewestCheckpoint("made_up");
  const std::string jobs_folder = folder_.Path("checkpoints/made_up");
  for (const char* behind : {"", "/", "/_metadata"}) {
    for (const std::string& path : {NewestCheckpoint("made_up") + behind, jobs_folder + (*behind == '/' ? "/" : "")}) {
      const Ended shown = RunToEnd(folder_, {"state", "show", path});
      EXPECT_EQ(shown.code, kOk) << path << shown.output;
      ExpectSays(RunForAWhile({"run", job, "--restore", path}), {"goes on from checkpoint"});
    }
  }
  // What is gone by now is still known by where it was.
  ASSERT_FALSE(std::filesystem::exists(first));
  for (const std::string& path : {first, first + "/", first + "/_metadata"}) {
    ExpectSays(RunForAWhile({"run", job, "--restore", path}), {"goes on from checkpoint"});
  }
  for (const std::string& path : {folder_.Path("nothing"), folder_.path(), job}) {
    const Ended started = RunToEnd(folder_, {"run", job, "--restore", path});
    EXPECT_EQ(started.code, kStartRefused) << started.output;
    const Ended shown = RunToEnd(folder_, {"state", "show", path});
    EXPECT_EQ(shown.code, kBadUsage) << shown.output;
    for (const Ended& ended : {started, shown}) {
      ExpectSays(ended.output,
                 {"no checkpoint in " + path, "expected a checkpoint's folder, its _metadata, or a job's"});
    }
  }
}

TEST_F(CommandLineTest, ADefinitionThatDoesNotFitTheCheckpointIsRefusedAndChangesNothing) {
  const std::string job = WriteJob(folder_, GeneratorJob());
  RunForAWhile({"run", job});
  const std::string newest = NewestCheckpoint("made_up");
  const Ended ended = RunToEnd(folder_, {"run", job, "--set", "sources.in.splits=8"});
  EXPECT_EQ(ended.code, kStartRefused) << ended.output;
  ExpectSays(ended.output, {"not started", "source 'in'", "the checkpoint has 4 splits, the definition says 8"});
  EXPECT_EQ(NewestCheckpoint("made_up"), newest);
  RunForAWhile({"run", job});
}

TEST_F(CommandLineTest, AFailureOfAKafkaSourceNamesTheSourceOnce) {
  Json job = EmptyJob(folder_, "unreachable");
  job["sources"].push_back({{"id", "orders_in"},
                            {"connector", "kafka"},
                            {"bootstrap-servers", "127.0.0.1:1"},
                            {"topics", "t"},
                            {"format", "json"},
                            {"request-timeout", "1s"}});
  job["sinks"].push_back(FileSink(folder_, "out", "orders_in"));
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_EQ(ended.code, kJobFailed) << ended.output;
  for (const std::string& line : LinesOf(ended.output)) {
    if (line.find("job \"unreachable\" failed: ") == std::string::npos) continue;
    ExpectSays(line, {"source 'orders_in'", "127.0.0.1:1"});
    EXPECT_EQ(line.find("orders_in"), line.rfind("orders_in")) << line;
    return;
  }
  FAIL() << "no line says why: " << ended.output;
}

// True once signals wait to be taken instead of killing. The thread that waits for them shows none as held; the others
// do. The allocator makes a thread in front of main and holds every signal meanwhile: that is not yet it.
bool HoldsSigterm(pid_t pid) {
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const uint64_t held = std::stoull(line.substr(7), nullptr, 16);
      if ((held >> (SIGTERM - 1) & 1U) != 0 && (held >> (SIGUSR2 - 1) & 1U) == 0) return true;
    }
  }
  return false;
}

TEST_F(CommandLineTest, AStopBeforeTheJobHasStartedIsAStop) {
  const std::string job = WriteJob(folder_, GeneratorJob());
  for (int start = 0; start < 5; ++start) {
    Weir weir(folder_, {"run", job});
    while (weir.Running() && !HoldsSigterm(weir.pid())) {
    }
    weir.Signal(SIGTERM);
    EXPECT_EQ(weir.Wait(seconds(20)), kOk) << weir.Output();
  }
}

bool AnyProcessNames(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (ReadText(entry.path().string() + "/cmdline").find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(CommandLineTest, AStoppedDemoLeavesNothingBehind) {
  for (const char* reached : {"weir run", "kill -9"}) {
    Weir demo(folder_, {"demo", "--rows", "1000000"});
    ASSERT_TRUE(Eventually(seconds(60), [&] { return demo.Says(reached); })) << demo.Output();
    demo.Wait(milliseconds(300));
    demo.Signal(SIGTERM);
    EXPECT_EQ(demo.Wait(seconds(20)), kJobFailed) << demo.Output();
    const std::string output = demo.Output();
    const size_t begin = output.find("/tmp/weir-demo-");
    ASSERT_NE(begin, std::string::npos) << output;
    const std::string folder = output.substr(begin, std::string("/tmp/weir-demo-").size() + 8);
    ExpectSays(output, {"stopped before its totals were proven; " + folder + " is removed"});
    EXPECT_FALSE(std::filesystem::exists(folder));
    EXPECT_FALSE(AnyProcessNames(folder));
  }
}

TEST_F(CommandLineTest, AStoppedDemoKeepsTheFolderThatItWasGiven) {
  const std::string kept = folder_.Path("kept");
  Weir demo(folder_, {"demo", "--directory", kept});
  ASSERT_TRUE(Eventually(seconds(60), [&] { return demo.Says("weir run"); })) << demo.Output();
  demo.Signal(SIGINT);
  EXPECT_EQ(demo.Wait(seconds(20)), kJobFailed) << demo.Output();
  ExpectSays(demo.Output(), {kept + " stays"});
  EXPECT_TRUE(std::filesystem::exists(kept));
}

}  // namespace
}  // namespace weir::job_test
