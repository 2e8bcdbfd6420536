// What people give a job that it can't take: each is a clear error with its own exit code, and nothing is lost, which
// the next start proves.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/integration/job_definitions.h"
#include "tests/integration/job_orders.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobBadInputTest : public testing::Test {
 protected:
  std::string Topic(int partitions, const std::string& stem = "in") {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  Ended Run(const Json& job, Arguments more = {}) {
    Arguments arguments = {"run", WriteJob(folder_, job)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunToEnd(folder_, std::move(arguments));
  }
  // A definition with this change is refused with these words, by validate and by run.
  void ExpectRefused(const Json& job, const std::vector<std::string>& parts) {
    const std::string path = WriteJob(folder_, job);
    for (const char* verb : {"validate", "run"}) {
      const Ended ended = RunToEnd(folder_, {verb, path});
      EXPECT_EQ(ended.code, kBadUsage) << ended.output;
      ExpectSays(ended.output, parts);
    }
  }
  Json LocalJob() {
    Json job = EmptyJob(folder_, "local");
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    job["sinks"].push_back(FileSink(folder_, "out", "in"));
    return job;
  }
  bool ComesOut(size_t rows) {
    return Eventually(seconds(30), [&] { return OutLines(folder_).size() >= rows; });
  }
  std::string NewestMetadata(const std::string& job) {
    uint64_t newest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("checkpoints/" + job))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("chk-")) newest = std::max<uint64_t>(newest, std::stoull(name.substr(4)));
    }
    return folder_.Path("checkpoints/" + job + "/chk-" + std::to_string(newest) + "/_metadata");
  }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
};

const std::vector<std::string> kSevenRecords = {R"({"a":1})", R"({"a":1})", R"({"a":1})", R"({"a":1)",
                                                R"({"a":2})", R"({"a":2})", R"({"a":2})"};
const std::vector<std::string> kSixRows = {R"({"a":1})", R"({"a":1})", R"({"a":1})",
                                           R"({"a":2})", R"({"a":2})", R"({"a":2})"};

TEST_F(JobBadInputTest, case_H68_Weakness_b_ABrokenRecordFailsTheJobOnceAtEachStart) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, kSevenRecords);
  Json job = CopyJob(*world_, folder_, topic);
  job["sources"][0]["end"] = "latest";
  job.erase("restart");  // the default does not try what no restart can heal
  for (int start = 0; start < 2; ++start) {
    const Ended ended = Run(job);
    EXPECT_EQ(ended.code, kJobFailed) << ended.output;
    EXPECT_EQ(ended.output.find("; restart "), std::string::npos) << ended.output;
    ExpectSays(ended.output, {topic, "partition 0", "offset 3"});
  }
  // Nothing of what was in front of it is lost, and nothing comes twice.
  job["sources"][0]["on-error"] = "skip";
  EXPECT_EQ(Run(job).code, kOk);
  EXPECT_EQ(OutLines(folder_), kSixRows);
}

TEST_F(JobBadInputTest, case_H68_ABrokenRecordIsSkippedAndTheOffsetIsBehindIt) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, kSevenRecords);
  Json job = CopyJob(*world_, folder_, topic);
  job["sources"][0]["on-error"] = "skip";
  job["sources"][0]["group"] = topic + "-group";
  const std::string path = WriteJob(folder_, job);
  const std::vector<connectors::TopicPartition> partitions = {{topic, 0}};
  const auto committed = [&] {
    const auto offsets = world_->NewAdmin()->CommittedOffsets(topic + "-group", partitions);
    return offsets.has_value() ? (*offsets)[0].value_or(-1) : -2;
  };
  {
    Weir first(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(6)) << first.Output();
    EXPECT_TRUE(Eventually(seconds(10), [&] { return committed() == 7; })) << committed();
    first.Kill9();
  }
  Weir second(folder_, {"run", path});
  world_->AppendValues(topic, 0, {R"({"a":3})"});
  EXPECT_TRUE(ComesOut(7)) << second.Output();
  EXPECT_EQ(second.Stop(), kOk) << second.Output();
  std::vector<std::string> rows = kSixRows;
  rows.push_back(R"({"a":3})");
  EXPECT_EQ(OutLines(folder_), rows);
}

TEST_F(JobBadInputTest, case_H68_Weakness_b_ABrokenRecordGoesToTheDeadLetterOutputOnce) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, kSevenRecords);
  Json job = CopyJob(*world_, folder_, topic);
  job["sources"][0]["on-error"] = "dead-letter";
  job["sinks"].push_back(FileSink(folder_, "dead", "in.dead-letter"));
  const std::string path = WriteJob(folder_, job);
  for (int start = 0; start < 2; ++start) {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(6)) << weir.Output();
    EXPECT_TRUE(Eventually(seconds(10), [&] { return OutLines(folder_, "dead").size() == 1; })) << weir.Output();
    if (start == 0) {
      weir.Kill9();
    } else {
      EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    }
  }
  EXPECT_EQ(OutLines(folder_), kSixRows);
  const std::vector<std::string> dead = OutLines(folder_, "dead");
  ASSERT_EQ(dead.size(), 1U);
  ExpectSays(dead[0],
             {"\"topic\":\"" + topic + "\"", "\"partition\":0", "\"offset\":3", "\"uid\":\"in\"", "\"error\":"});
}

TEST_F(JobBadInputTest, ADefinitionThatIsWrongIsRefusedWithEveryProblem) {
  Json job = LocalJob();
  job["checkpiont"] = Json::object();
  job["sources"][0]["folow"] = true;
  ExpectRefused(job, {"job.json:", "/checkpiont", "\"checkpoint\"", "/sources/0/folow", "\"follow\""});

  job = LocalJob();
  job["operators"] = {{{"id", "a"}, {"type", "union"}, {"inputs", {"in", "b"}}},
                      {{"id", "b"}, {"type", "filter"}, {"input", "a"}, {"where", "TRUE"}}};
  job["sinks"][0]["input"] = "b";
  ExpectRefused(job, {"job.json:", "cycle", "a", "b"});

  job = LocalJob();
  job["sinks"][0]["input"] = "inn";
  ExpectRefused(job, {"job.json:", "/sinks/0/input", "\"inn\"", "\"in\""});
  job["sinks"][0].erase("input");
  ExpectRefused(job, {"job.json:", "/sinks/0", "without an input"});
}

TEST_F(JobBadInputTest, ANumberOnTheCommandLineIsWithinItsBounds) {
  for (const char* argument : {"--workers=-1", "--workers=0", "--workers=100000", "--rewind=-1", "--assume=-1"}) {
    const Ended ended = Run(LocalJob(), {argument});
    EXPECT_EQ(ended.code, kBadUsage) << argument << ended.output;
    ExpectSays(ended.output, {"expects a whole number from", "found"});
  }
}

TEST_F(JobBadInputTest, AMissingTopicIsNamed) {
  const std::string topic = Topic(1);
  const Ended source = Run(CopyJob(*world_, folder_, "no-such-topic"));
  EXPECT_EQ(source.code, kJobFailed) << source.output;
  ExpectSays(source.output, {"no-such-topic", "in"});
  Json job = CopyJob(*world_, folder_, topic);
  job["name"] = "to_nowhere";
  job["sinks"][0] = KafkaSink(*world_, "out", "in", "no-such-topic", Json::array({"a"}));
  world_->AppendValues(topic, 0, {R"({"a":1})"});
  const Ended sink = Run(job);
  EXPECT_EQ(sink.code, kJobFailed) << sink.output;
  ExpectSays(sink.output, {"no-such-topic", "out"});
  EXPECT_EQ(world_->CreateTopic("no-such-topic", 1).ToString(), "ok");
  job["sources"][0]["end"] = "latest";
  EXPECT_EQ(Run(job).code, kOk);
  EXPECT_EQ(ReadTopic(*world_, "no-such-topic", 1).size(), 1U);
}

TEST_F(JobBadInputTest, AnUnreachableBrokerIsNamedInBoundedTime) {
  const std::string topic = Topic(1);
  world_->AppendValues(topic, 0, {R"({"a":1})"});
  Json job = CopyJob(*world_, folder_, topic);
  const Json servers = job["sources"][0]["bootstrap-servers"];
  job["sources"][0]["bootstrap-servers"] = "127.0.0.1:1";
  job["sources"][0]["request-timeout"] = "1s";
  const Ended ended = Run(job);
  EXPECT_EQ(ended.code, kJobFailed) << ended.output;
  ExpectSays(ended.output, {"127.0.0.1:1"});
  job["sources"][0]["bootstrap-servers"] = servers;
  job["sources"][0]["end"] = "latest";
  EXPECT_EQ(Run(job).code, kOk);
  EXPECT_EQ(OutLines(folder_).size(), 1U);
}

TEST_F(JobBadInputTest, ACheckpointFolderThatCannotBeWrittenIsNamed) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n");
  folder_.Write("occupied", "a file, not a folder");
  for (const std::string& storage : {folder_.Path("occupied/checkpoints"), std::string("/proc/weir/checkpoints")}) {
    Json job = LocalJob();
    job["checkpoint"]["storage"] = storage;
    const Ended ended = Run(job);
    EXPECT_EQ(ended.code, kStartRefused) << ended.output;
    ExpectSays(ended.output, {storage});
  }
  EXPECT_TRUE(OutLines(folder_).empty());
}

// A limit on the size of files stands for the disk that has no room left: state files are what is big.
TEST_F(JobBadInputTest, AFullCheckpointFolderFailsTheJobAndLosesNothing) {
  constexpr uint64_t kRows = 40'000;
  std::string rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    rows += R"({"k":"key-)" + std::to_string(i * 2'654'435'761 % 4'294'967'291) + "\"}\n";
  }
  folder_.Write("in/a.jsonl", rows);
  Json job = LocalJob();
  job["checkpoint"]["tolerated-failures"] = 1;
  AddCount(job, "counts", "in", "k");
  job["sinks"][0]["input"] = "counts";
  job["sinks"][0]["roll-bytes"] = "32KiB";
  const std::string path = WriteJob(folder_, job);
  {
    // XFSZ ignored: a write beyond the limit is an error, as on a full disk. 320 blocks of 512 or 1024 bytes.
    harness::ChildProcess::Options limited;
    limited.arguments = {"sh", "-c", "trap '' XFSZ; ulimit -f 320; exec \"$@\"", "sh", WeirBinary(), "run", path};
    limited.output_path = folder_.Path("limited.log");
    auto process = harness::ChildProcess::Start(limited);
    ASSERT_TRUE(process.has_value());
    EXPECT_EQ(process->Wait(seconds(60)), kJobFailed) << ReadText(limited.output_path);
    ExpectSays(ReadText(limited.output_path), {"checkpoint", "File too large", folder_.Path("checkpoints")});
  }
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(ComesOut(kRows)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  const std::vector<std::string> lines = OutLines(folder_);
  EXPECT_EQ(lines.size(), kRows);
  EXPECT_TRUE(std::ranges::adjacent_find(lines) == lines.end());
  for (const std::string& line : lines) ASSERT_TRUE(line.ends_with("\"n\":1}")) << line;
}

// As above, in the sink's folder: its parts are what is big.
TEST_F(JobBadInputTest, AFullSinkFolderFailsTheJobAndLosesNothing) {
  constexpr int kRows = 400'000;
  folder_.Write("in/a.jsonl", "{\"n\":0}\n{\"n\":1}\n");
  Json job = LocalJob();
  const std::string path = WriteJob(folder_, job);
  harness::ChildProcess::Options limited;
  limited.arguments = {"sh", "-c", "trap '' XFSZ; ulimit -f 320; exec \"$@\"", "sh", WeirBinary(), "run", path};
  limited.output_path = folder_.Path("limited.log");
  std::string rows;
  for (int n = 2; n < kRows; ++n) rows += "{\"n\":" + std::to_string(n) + "}\n";
  {
    auto process = harness::ChildProcess::Start(limited);
    ASSERT_TRUE(process.has_value());
    EXPECT_TRUE(ComesOut(2)) << ReadText(limited.output_path);
    folder_.Append("in/a.jsonl", rows);
    EXPECT_EQ(process->Wait(seconds(60)), kJobFailed) << ReadText(limited.output_path);
    ExpectSays(ReadText(limited.output_path), {"File too large", folder_.Path("out/.weir-local/part-out-")});
  }
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(ComesOut(kRows)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  const std::vector<std::string> lines = OutLines(folder_);
  EXPECT_EQ(lines.size(), static_cast<size_t>(kRows));
  EXPECT_TRUE(std::ranges::adjacent_find(lines) == lines.end());
}

TEST_F(JobBadInputTest, ASinkFolderThatCannotBeWrittenIsNamed) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n");
  folder_.Write("occupied", "a file, not a folder");
  for (const std::string& path : {folder_.Path("occupied/out"), std::string("/proc/weir/out")}) {
    Json job = LocalJob();
    job["sinks"][0]["path"] = path;
    const Ended ended = Run(job);
    EXPECT_EQ(ended.code, kStartRefused) << ended.output;
    ExpectSays(ended.output, {path});
  }
}

// What was confirmed is gone and not written again, which is to be seen; the job goes on.
TEST_F(JobBadInputTest, ASinkFolderThatWasDeletedIsAWarning) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n");
  const std::string path = WriteJob(folder_, LocalJob());
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(1)) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  }
  std::filesystem::remove_all(folder_.Path("out"));
  folder_.Append("in/a.jsonl", "{\"a\":2}\n");
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(ComesOut(1)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{R"({"a":2})"}));
  const std::vector<std::string> lines = LinesOf(weir.Output());
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("warning") != std::string::npos && line.find("has no marker of job 'local'") != std::string::npos;
  })) << weir.Output();
}

// The log rotates while the job runs, and while it does not.
TEST_F(JobBadInputTest, ARotatedFileLosesAndDoublesNothing) {
  folder_.Write("in/a.log", "{\"a\":1}\n");
  Json job = LocalJob();
  job["sources"][0] = FileSource(folder_, "in", "in/a.log", true);
  const std::string path = WriteJob(folder_, job);
  const auto rotate = [&] { std::filesystem::rename(folder_.Path("in/a.log"), folder_.Path("in/a.log.1")); };
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(1)) << weir.Output();
    folder_.Append("in/a.log", "{\"a\":2}\n");
    rotate();
    folder_.Append("in/a.log.1", "{\"a\":3}\n");
    folder_.Append("in/a.log", "{\"a\":4}\n");
    EXPECT_TRUE(ComesOut(4)) << weir.Output();
    std::filesystem::remove(folder_.Path("in/a.log.1"));
    folder_.Append("in/a.log", "{\"a\":5}\n");
    EXPECT_TRUE(ComesOut(5)) << weir.Output();
    weir.Kill9();
  }
  folder_.Append("in/a.log", "{\"a\":6}\n");
  rotate();
  folder_.Append("in/a.log", "{\"a\":7}\n");
  Weir weir(folder_, {"run", path});
  EXPECT_TRUE(ComesOut(7)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  std::vector<std::string> expected;
  for (int n = 1; n <= 7; ++n) expected.push_back("{\"a\":" + std::to_string(n) + "}");
  EXPECT_EQ(OutLines(folder_), expected);
}

// A folder's marker names the newest checkpoint: without it the job could only double or lose.
TEST_F(JobBadInputTest, case_H21_ATruncatedCheckpointStopsTheStartAndIsKept) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n{\"a\":2}\n");
  Json job = LocalJob();
  job["checkpoint"]["interval"] = "1h";  // so that the last checkpoint has the output
  const std::string path = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(Eventually(seconds(10), [&] { return weir.Says("first start"); }));
    weir.Wait(milliseconds(700));
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    EXPECT_EQ(OutLines(folder_).size(), 2U);
  }
  const std::string metadata = NewestMetadata("local");
  const std::string whole = ReadText(metadata);
  for (const size_t size : {whole.size() / 2, size_t{0}}) {
    std::filesystem::resize_file(metadata, size);
    const Ended ended = RunToEnd(folder_, {"run", path}, {}, seconds(20));
    EXPECT_EQ(ended.code, kStartRefused) << ended.output;
    ExpectSays(ended.output, {metadata, "file:" + folder_.Path("out")});
    EXPECT_EQ(ReadText(metadata).size(), size);
  }
  folder_.Write(std::filesystem::relative(metadata, folder_.path()).string(), whole);
  folder_.Append("in/a.jsonl", "{\"a\":3}\n");
  Weir weir(folder_, {"run", WriteJob(folder_, LocalJob())});
  EXPECT_TRUE(ComesOut(3)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{R"({"a":1})", R"({"a":2})", R"({"a":3})"}));
}

// Without a system that remembers, an older checkpoint serves: the newest one is passed over with a warning.
TEST_F(JobBadInputTest, case_H21_ATruncatedCheckpointIsPassedOverWhereNobodyKnowsIt) {
  const std::string topic = Topic(1);
  const std::string out = Topic(1, "out");
  Json job = CopyJob(*world_, folder_, topic);
  AddCount(job, "counts", "in", "k");
  job["sinks"][0] = KafkaSink(*world_, "out", "counts", out, Json::array({"k"}));
  const std::string path = WriteJob(folder_, job);
  for (int round = 1; round <= 3; ++round) {
    world_->AppendValues(topic, 0, std::vector<std::string>(10, R"({"k":"x"})"));
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      const std::vector<TopicRecord> records = ReadTopic(*world_, out, 1);
      return !records.empty() && records.back().value == R"({"k":"x","n":)" + std::to_string(round * 10) + "}";
    })) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    if (round > 1) ExpectSays(weir.Output(), {"goes on from checkpoint", "warning", "is kept aside", "/_metadata"});
    const std::string metadata = NewestMetadata("copy");
    std::filesystem::resize_file(metadata, round == 1 ? std::filesystem::file_size(metadata) / 2 : 0);
  }
  const Ended shown = RunToEnd(folder_, {"state", "show", NewestMetadata("copy")});
  EXPECT_EQ(shown.code, kStartRefused) << shown.output;
}

TEST_F(JobBadInputTest, AForeignCheckpointIsNotTaken) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n");
  const auto definition = [&](const std::string& name) {
    Json job = LocalJob();
    job["name"] = name;
    job["sinks"][0]["path"] = folder_.Path("out_of_" + name);
    if (name == "theirs") {
      AddCount(job, "their_counts", "in", "a");
      job["sinks"][0]["input"] = "their_counts";
    }
    return WriteJob(folder_, job, name + ".json");
  };
  const auto run_until = [&](const std::string& name, size_t rows, Duration at_least) {
    Weir weir(folder_, {"run", definition(name)});
    EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_, "out_of_" + name).size() == rows; }));
    weir.Wait(at_least);
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    return weir.Output();
  };
  run_until("theirs", 1, seconds(2));  // so that its number is greater
  run_until("ours", 1, milliseconds(0));
  const std::filesystem::path foreign = std::filesystem::path(NewestMetadata("theirs")).parent_path();
  // By choice: their operators' state has no owner here.
  const Ended chosen = RunToEnd(folder_, {"run", definition("ours"), "--restore", foreign.string()}, {}, seconds(20));
  EXPECT_EQ(chosen.code, kStartRefused) << chosen.output;
  ExpectSays(chosen.output, {"their_counts"});
  // Among ours, where it would be the newest.
  const std::string planted = folder_.Path("checkpoints/ours/" + foreign.filename().string());
  std::filesystem::copy(foreign, planted, std::filesystem::copy_options::recursive);
  folder_.Append("in/a.jsonl", "{\"a\":2}\n");
  ExpectSays(run_until("ours", 2, milliseconds(0)), {"warning", planted, "theirs", "goes on from checkpoint"});
  EXPECT_EQ(OutLines(folder_, "out_of_ours"), (std::vector<std::string>{R"({"a":1})", R"({"a":2})"}));
}

TEST_F(JobBadInputTest, ASecondProcessOfTheSameJobIsRefusedAndTheFirstIsUnharmed) {
  folder_.Write("in/a.jsonl", "{\"a\":1}\n");
  const std::string path = WriteJob(folder_, LocalJob());
  Weir first(folder_, {"run", path});
  EXPECT_TRUE(ComesOut(1)) << first.Output();
  const Ended second = RunToEnd(folder_, {"run", path});
  EXPECT_EQ(second.code, kStartRefused) << second.output;
  ExpectSays(second.output, {folder_.Path("checkpoints/local")});
  // Another storage, the same sink folder: its fence refuses.
  const Ended third = RunToEnd(folder_, {"run", path, "--set", "checkpoint.storage=" + folder_.Path("elsewhere")});
  EXPECT_EQ(third.code, kStartRefused) << third.output;
  ExpectSays(third.output, {folder_.Path("out")});
  folder_.Append("in/a.jsonl", "{\"a\":2}\n");
  EXPECT_TRUE(ComesOut(2)) << first.Output();
  EXPECT_EQ(first.Stop(), kOk) << first.Output();
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{R"({"a":1})", R"({"a":2})"}));
}

TEST_F(JobBadInputTest, SigtermStopsCleanlyAndTheNextStartGoesOn) {
  OrdersJob job(*world_, folder_, 11, 100);
  for (int life = 0; life < 3; ++life) {
    Weir weir(folder_, {"run", job.definition(), "--set", "parallelism=" + std::to_string(1 + life)});
    job.Feed(3'000);
    if (life == 2) {
      EXPECT_TRUE(Eventually(seconds(30), [&] { return job.FilesComplete(); })) << weir.Output();
    } else {
      weir.Wait(milliseconds(700));
    }
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    ExpectSays(weir.Output(), {"stopping after a last checkpoint", "stopped at checkpoint"});
  }
  job.ExpectExactFiles();
  job.ExpectExactTopic();
  job.ExpectTopicAtLeastOnce({});  // a clean stop repeats nothing
}

}  // namespace
}  // namespace weir::job_test
