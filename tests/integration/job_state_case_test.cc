// Public reports about checkpoints, local state, values and secrets, as whole jobs.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobStateCaseTest : public testing::Test {
 protected:
  // Lines of a followed file, counted by key into a folder.
  Json CountJob() {
    Json job = EmptyJob(folder_, "counts");
    job["sources"].push_back(FileSource(folder_, "in", "in.jsonl", true));
    AddCount(job, "counts", "in", "k");
    job["sinks"].push_back(FileSink(folder_, "out", "counts"));
    return job;
  }
  void Put(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) folder_.Append("in.jsonl", "{\"k\":\"" + key + "\"}\n");
  }
  static std::string Count(const std::string& key, int n) {
    return "{\"k\":\"" + key + "\",\"n\":" + std::to_string(n) + "}";
  }
  bool ComesOut(size_t rows) {
    return Eventually(seconds(30), [&] { return OutLines(folder_).size() >= rows; });
  }
  void RunUntil(const std::string& path, size_t rows, Arguments more = {}) {
    Arguments arguments = {"run", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Weir weir(folder_, std::move(arguments));
    EXPECT_TRUE(ComesOut(rows)) << weir.Output();
    EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  }
  std::vector<std::string> Checkpoints(const std::string& storage, const std::string& job) {
    std::vector<std::string> folders;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(storage + "/" + job, ignored)) {
      if (entry.path().filename().string().starts_with("chk-")) folders.push_back(entry.path().string());
    }
    return folders;
  }
  static std::map<std::string, std::string> ContentUnder(const std::string& folder) {
    std::map<std::string, std::string> content;
    for (const std::string& file : FilesUnder(folder)) content[file] = ReadText(file);
    return content;
  }

  JobFolder folder_;
};

TEST_F(JobStateCaseTest, case_H19_AKeptCheckpointIsNotTouchedByAJobThatStartsFromIt) {
  Put({"a", "b", "a"});
  Json job = CountJob();
  RunUntil(WriteJob(folder_, job), 3);
  const std::string ours = folder_.Path("checkpoints");
  const std::vector<std::string> kept = Checkpoints(ours, "counts");
  ASSERT_FALSE(kept.empty());
  const std::string newest = *std::ranges::max_element(
      kept, {}, [](const std::string& path) { return std::stoull(path.substr(path.rfind('-') + 1)); });
  const auto before = ContentUnder(ours);
  // A second job with folders of its own, from that checkpoint.
  job["name"] = "second";
  job["checkpoint"]["storage"] = folder_.Path("second");
  job["checkpoint"]["interval"] = "20ms";
  job["checkpoint"]["retain"] = 1;
  job["sinks"][0]["path"] = folder_.Path("second_out");
  const std::string path = WriteJob(folder_, job, "second.json");
  const auto run_second = [&](Arguments more, size_t rows, Duration at_least) {
    Arguments arguments = {"run", path, "--restore", newest};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Weir weir(folder_, std::move(arguments));
    EXPECT_TRUE(Eventually(seconds(30), [&] { return OutLines(folder_, "second_out").size() >= rows; }))
        << weir.Output();
    weir.Wait(at_least);
    EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  };
  Put({"a"});
  run_second({}, 1, seconds(2));
  EXPECT_EQ(OutLines(folder_, "second_out"), std::vector<std::string>{Count("a", 3)});
  EXPECT_EQ(ContentUnder(ours), before);
  const std::vector<std::string> theirs = Checkpoints(folder_.Path("second"), "second");
  ASSERT_EQ(theirs.size(), 1U);
  const std::string number = theirs[0].substr(theirs[0].rfind('-') + 1);
  EXPECT_GE(std::stoull(number), 20U);
  // The line has gone on; by choice it goes back to the kept one, and what came after it comes again.
  run_second({"--rewind", number}, 2, milliseconds(200));
  EXPECT_EQ(OutLines(folder_, "second_out"), (std::vector<std::string>{Count("a", 3), Count("a", 3)}));
  EXPECT_EQ(ContentUnder(ours), before);
}

TEST_F(JobStateCaseTest, case_H20_AbortedCheckpointsLeaveNothingBehind) {
  Put({"a", "b"});
  Json job = CountJob();
  const std::string path = WriteJob(folder_, job);
  RunUntil(path, 2);
  job["checkpoint"] = {{"storage", folder_.Path("checkpoints")},
                       {"interval", "5ms"},
                       {"timeout", "1ms"},
                       {"tolerated-failures", 1'000'000}};
  {
    Weir failing(folder_, {"run", WriteJob(folder_, job, "failing.json")});
    for (int i = 0; i < 40; ++i) {
      Put({"k" + std::to_string(i)});
      failing.Wait(milliseconds(60));
    }
    EXPECT_TRUE(failing.Running()) << failing.Output();
    failing.Kill9();
  }
  RunUntil(path, 42);
  const std::vector<std::string> kept = Checkpoints(folder_.Path("checkpoints"), "counts");
  EXPECT_LE(kept.size(), 3U);
  // What is left: three checkpoints of 42 keys share their files.
  uint64_t bytes = 0;
  const std::vector<std::string> files = FilesUnder(folder_.Path("checkpoints"));
  for (const std::string& file : files) bytes += std::filesystem::file_size(file);
  EXPECT_LE(files.size(), 60U) << testing::PrintToString(files);
  EXPECT_LE(bytes, 600'000U);
}

TEST_F(JobStateCaseTest, case_H25_AnOperatorThatIsRemoved) {
  Put({"a", "b"});
  Json job = CountJob();
  job["operators"].insert(job["operators"].begin(),
                          Json{{"id", "all"}, {"type", "filter"}, {"input", "in"}, {"where", "k <> 'none'"}});
  job["operators"][1]["input"] = "all";
  RunUntil(WriteJob(folder_, job), 2);
  // (a) a stateless one
  job = CountJob();
  Put({"a"});
  RunUntil(WriteJob(folder_, job), 3);
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{Count("a", 1), Count("a", 2), Count("b", 1)}));
  // (b) a stateful one, (c) with leave
  job["operators"] = Json::array();
  job["sinks"][0]["input"] = "in";
  const std::string path = WriteJob(folder_, job);
  const Ended refused = RunToEnd(folder_, {"run", path}, {}, seconds(20));
  EXPECT_EQ(refused.code, 3) << refused.output;
  ExpectSays(refused.output, {"counts", "--allow-non-restored-state"});
  Put({"c"});
  Weir weir(folder_, {"run", path, "--allow-non-restored-state"});
  EXPECT_TRUE(ComesOut(4)) << weir.Output();
  EXPECT_EQ(weir.Stop(), 0) << weir.Output();
  ExpectSays(weir.Output(), {"counts", "dropped"});
}

TEST_F(JobStateCaseTest, case_H26_LocalStateOfACrashIsNotUsedAgain) {
  Json job = CountJob();
  job["state"] = {{"directory", folder_.Path("local")}};
  job["checkpoint"]["interval"] = "400ms";
  const std::string path = WriteJob(folder_, job);
  for (size_t round = 0; round < 3; ++round) {
    Put({"a", "b", "a"});
    Weir weir(folder_, {"run", path});
    EXPECT_TRUE(ComesOut(round * 4 + 3)) << weir.Output();
    Put({"a"});  // is in the state, and in no checkpoint yet
    weir.Wait(milliseconds(150));
    weir.Kill9();
    EXPECT_TRUE(std::filesystem::exists(folder_.Path("local")));
    folder_.Write("local/counts/0/CURRENT", "of somebody else");
    folder_.Write("local/counts/leftover/000007.sst", "of somebody else");
  }
  RunUntil(path, 12);
  std::vector<std::string> counts;
  for (int n = 1; n <= 9; ++n) counts.push_back(Count("a", n));
  for (int n = 1; n <= 3; ++n) counts.push_back(Count("b", n));
  EXPECT_EQ(OutLines(folder_), counts);
}

TEST_F(JobStateCaseTest, case_H28_StateNeverHasTheEffectOfAFailedAttempt) {
  Json job = EmptyJob(folder_, "sums");
  job["sources"].push_back(FileSource(folder_, "in", "in.jsonl", true));
  job["operators"].push_back({{"id", "by_k"}, {"type", "key_by"}, {"input", "in"}, {"keys", {"k"}}});
  job["operators"].push_back(
      {{"id", "sums"},
       {"type", "aggregate"},
       {"input", "by_k"},
       {"aggregates", {{"n", {{"function", "count"}}}, {"sum", {{"function", "sum"}, {"column", "v"}}}}}});
  job["sinks"].push_back(FileSink(folder_, "out", "sums"));
  const std::string path = WriteJob(folder_, job);
  const std::string good = "{\"k\":\"x\",\"v\":1}\n{\"k\":\"x\",\"v\":2}\n";
  folder_.Write("in.jsonl", good);
  RunUntil(path, 2);
  // Rows of the same batch in front of the poison have changed the state when it comes.
  folder_.Write("in.jsonl", good + "{\"k\":\"x\",\"v\":3}\n{\"k\":\"x\",\"v\":\"poison\"}\n");
  for (int start = 0; start < 3; ++start) {
    const Ended ended = RunToEnd(folder_, {"run", path}, {}, seconds(20));
    EXPECT_EQ(ended.code, 1) << ended.output;
    ExpectSays(ended.output, {"sums", "poison"});
  }
  folder_.Write("in.jsonl", good + "{\"k\":\"x\",\"v\":3}\n{\"k\":\"x\",\"v\":4       }\n");
  RunUntil(path, 4);
  EXPECT_EQ(OutLines(folder_), (std::vector<std::string>{R"({"k":"x","n":1,"sum":1})", R"({"k":"x","n":2,"sum":3})",
                                                         R"({"k":"x","n":3,"sum":6})", R"({"k":"x","n":4,"sum":10})"}));
}

TEST_F(JobStateCaseTest, case_H42_LargeIntegersKeepEveryDigit) {
  const auto world = kafka_test::NewRealWorld();
  const std::string topic = world->NewName("in");
  const std::string out = world->NewName("out");
  ASSERT_TRUE(world->CreateTopic(topic, 1).ok() && world->CreateTopic(out, 1).ok());
  const std::vector<std::string> ids = {"9007199254740993", "9007199254740992", "9223372036854775807",
                                        "-9223372036854775808"};
  for (int round = 0; round < 2; ++round) {
    for (const std::string& id : ids) {
      world->Append(topic, 0,
                    {{.key = "[" + id + "]", .value = "{\"after\":{\"id\":" + id + "},\"updated\":\"5.0000000000\"}"}});
    }
  }
  Json job = EmptyJob(folder_, "digits");
  job["sources"].push_back(KafkaSource(*world, "in", topic, "cockroachdb"));
  job["sources"][0]["end"] = "latest";
  job["operators"].push_back(
      {{"id", "some"}, {"type", "filter"}, {"input", "in"}, {"where", "id > 9007199254740991 OR id < 0"}});
  AddCount(job, "counts", "some", "id");
  job["sinks"].push_back(FileSink(folder_, "out", "counts"));
  job["sinks"].push_back(KafkaSink(*world, "topic", "counts", out, Json::array({"id"})));
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job)});
  EXPECT_EQ(ended.code, 0) << ended.output;
  std::vector<std::string> expected;
  for (const std::string& id : ids) {
    expected.push_back("{\"id\":" + id + ",\"n\":1}");
    expected.push_back("{\"id\":" + id + ",\"n\":2}");
  }
  std::ranges::sort(expected);
  EXPECT_EQ(OutLines(folder_), expected);
  std::vector<std::string> values;
  for (const TopicRecord& record : ReadTopic(*world, out, 1)) {
    values.push_back(record.value.value_or(""));
    EXPECT_TRUE(values.back().find(record.key->substr(1, record.key->size() - 2)) != std::string::npos);
  }
  std::ranges::sort(values);
  EXPECT_EQ(values, expected);
}

TEST_F(JobStateCaseTest, case_H69_APasswordIsNowhereToBeSeen) {
  const auto world = kafka_test::NewRealWorld();
  const std::string canary = "canary-7Q!x";
  const std::string topic = world->NewName("in");
  const std::string out = world->NewName("out");
  ASSERT_TRUE(world->CreateTopic(topic, 1).ok() && world->CreateTopic(out, 1).ok());
  world->AppendValues(topic, 0, {R"({"k":1})"});
  folder_.Write("secret", canary);
  const Json good = {{"sasl.password", "${CANARY}"}, {"sasl.username", "me"}, {"ssl.key.password", "${CANARY}"}};
  Json job = CopyJob(*world, folder_, topic);
  job["sources"][0]["properties"] = good;
  job["sinks"].push_back(KafkaSink(*world, "topic", "in", out, Json::array({"k"})));
  job["sinks"][1]["properties"] = {{"sasl.password", "${file:" + folder_.Path("secret") + "}"}};
  const std::string path = WriteJob(folder_, job);
  const Environment environment = {{"CANARY", canary}};
  std::string said = RunToEnd(folder_, {"validate", path}, environment).output;
  {
    Weir weir(folder_, {"run", path}, environment);
    EXPECT_TRUE(ComesOut(1)) << weir.Output();
    said += ReadText("/proc/" + std::to_string(weir.pid()) + "/cmdline");
    EXPECT_EQ(weir.Stop(), 0) << weir.Output();
    said += weir.Output();
  }
  said += RunToEnd(folder_, {"state", "show", folder_.Path("checkpoints/copy")}).output;
  // Wrong in every way: a misspelled property, a value that is none, a login that fails.
  job["name"] = "wrong";
  job["sources"][0]["properties"] = {{"sasl.pasword", "${CANARY}"}};
  said += RunToEnd(folder_, {"validate", WriteJob(folder_, job)}, environment).output;
  job["sources"][0]["properties"] = {{"security.protocol", "${CANARY}"}, {"linger.ms", "${CANARY}"}};
  said += RunToEnd(folder_, {"validate", WriteJob(folder_, job)}, environment).output;
  job["sources"][0]["properties"] = {{"security.protocol", "sasl_plaintext"},
                                     {"sasl.mechanism", "PLAIN"},
                                     {"sasl.username", "me"},
                                     {"sasl.password", "${CANARY}"}};
  job["sources"][0]["request-timeout"] = "1s";
  const Ended failed = RunToEnd(folder_, {"run", WriteJob(folder_, job)}, environment, seconds(30));
  EXPECT_NE(failed.code.value_or(0), 0) << failed.output;
  said += failed.output;
  EXPECT_EQ(said.find(canary), std::string::npos) << said;
  EXPECT_EQ(said.find("canary"), std::string::npos) << said;
  for (const std::string& file : FilesUnder(folder_.path())) {
    if (file == folder_.Path("secret")) continue;
    EXPECT_EQ(ReadText(file).find(canary), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace weir::job_test
