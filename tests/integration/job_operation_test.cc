// A running job as its operator sees it: metrics, health, diagnostics.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <regex>
#include <set>

#include "tests/harness/kafka_broker.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/job_http.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

// Names between backquotes in the first column of the tables under a heading of docs/operation.md.
std::set<std::string> DocumentedUnder(const std::string& heading) {
  const std::string text = ReadText(std::string(WEIR_SOURCE_DIR) + "/docs/operation.md");
  const size_t begin = text.find("\n## " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  const std::string section = text.substr(begin + 1, text.find("\n## ", begin + 1) - begin);
  std::set<std::string> names;
  static const std::regex pattern(R"(^\| `([a-z_]+)`)");
  for (const std::string& line : LinesOf(section)) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) names.insert(match[1]);
  }
  return names;
}

std::set<std::string> ExportedBy(const std::string& page) {
  std::set<std::string> names;
  for (const std::string& line : LinesOf(page)) {
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

class JobOperationTest : public testing::Test {
 protected:
  Json CountJob(const std::string& input, const std::string& output) {
    Json job = EmptyJob(folder_, "shown");
    job["checkpoint"]["interval"] = "2s";
    job["metrics"] = {{"port", 0}};
    job["sources"].push_back(KafkaSource(*world_, "in", input, "json"));
    AddCount(job, "counts", "in", "k");
    job["sinks"].push_back(KafkaSink(*world_, "out", "counts", output, Json::array({"k"})));
    job["sinks"][0]["delivery"] = "exactly-once";
    return job;
  }
  Json FollowJob(const std::string& bootstrap) {
    std::filesystem::create_directories(folder_.Path("in"));
    Json job = EmptyJob(folder_, "shown");
    job["checkpoint"]["interval"] = "500ms";
    job["metrics"] = {{"port", 0}};
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    job["sinks"].push_back({{"id", "out"},
                            {"connector", "kafka"},
                            {"input", "in"},
                            {"bootstrap-servers", bootstrap},
                            {"topic", "out"},
                            {"delivery", "exactly-once"},
                            {"key", {"k"}}});
    return job;
  }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
};

TEST_F(JobOperationTest, B33_MetricsBeforeAndAfterRows) {
  const std::string input = world_->NewName("in");
  const std::string output = world_->NewName("out");
  ASSERT_TRUE(world_->CreateTopic(input, 2).ok());
  ASSERT_TRUE(world_->CreateTopic(output, 2).ok());
  Weir weir(folder_, {"run", WriteJob(folder_, CountJob(input, output))});
  const JobHttp http(weir);
  ASSERT_TRUE(http.HealthIs(200)) << weir.Output() << http.Get("/health").body;
  EXPECT_EQ(http.Metric("weir_rows_in_total", "subtask=\"0\""), 0) << http.Metrics();
  for (int i = 0; i < 10; ++i) world_->AppendValues(input, i % 2, {"{\"k\":" + std::to_string(i) + "}"});
  EXPECT_TRUE(Eventually(seconds(30), [&] { return http.Metric("weir_rows_out_total", "counts -> out") == 10; }))
      << http.Metrics() << weir.Output();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return http.Metric("weir_checkpoint_applied_number") >= 2; }));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return http.Metric("weir_lag_records") == 0; }));
  EXPECT_EQ(http.Metric("weir_rows_in_total", "counts -> out"), 10);
  EXPECT_EQ(http.Metric("weir_job_state", "state=\"running\""), 1);
  EXPECT_EQ(http.Metric("weir_output_waiting_bytes"), 0);
  const harness::HttpReply page = http.Get("/metrics");
  EXPECT_NE(page.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos) << page.head;

  std::set<std::string> exported = ExportedBy(page.body);
  for (const std::string& name : DocumentedUnder("Metrics of every job")) {
    EXPECT_TRUE(exported.erase(name) == 1) << name << " is documented, and not exported:\n" << page.body;
  }
  const std::set<std::string> others = DocumentedUnder("Metrics of single connectors and operators");
  for (const std::string& name : exported) EXPECT_TRUE(others.contains(name)) << name << " is not documented";

  const Json shown = http.Diagnostics();
  ASSERT_TRUE(shown.is_object()) << http.Get("/diagnostics").body;
  EXPECT_EQ(shown["job"]["state"], "running");
  EXPECT_EQ(shown["job"]["healthy"], true) << shown["job"];
  EXPECT_EQ(shown["graph"]["vertices"].size(), 2U) << shown["graph"];
  EXPECT_EQ(shown["graph"]["edges"][0]["kind"], "hash");
  EXPECT_EQ(shown["systems"].size(), 1U) << shown["systems"];
  EXPECT_TRUE(shown["positions"]["sources"].contains("in")) << shown["positions"];
  EXPECT_EQ(shown["definition"]["sources"][0]["topics"], input);
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

TEST_F(JobOperationTest, B33_HealthFollowsTheSinkAndNamesIt) {
  auto broker = harness::KafkaBroker::Start();
  ASSERT_TRUE(broker.has_value()) << broker.error().ToString();
  ASSERT_TRUE((*broker)->CreateTopic("out", 1).ok());
  Weir weir(folder_, {"run", WriteJob(folder_, FollowJob((*broker)->bootstrap()))});
  const JobHttp http(weir);
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  ASSERT_TRUE(http.HealthIs(200)) << weir.Output() << http.Get("/health").body;
  (*broker)->Pause();
  folder_.Append("in/a.jsonl", "{\"k\":2}\n");
  EXPECT_TRUE(http.HealthIs(503));
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    const std::string said = http.Get("/healthz").body;
    return said.find("no checkpoint was applied for") != std::string::npos &&
           said.find(" rows wait for kafka:") != std::string::npos;
  })) << http.Get("/health").body;
  EXPECT_GT(http.Metric("weir_output_waiting_bytes"), 0);
  (*broker)->Resume();
  EXPECT_TRUE(http.HealthIs(200)) << http.Get("/health").body;
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

TEST_F(JobOperationTest, Weakness_n_ARestartingJobAnswersAndSaysWhy) {
  Json job = FollowJob("127.0.0.1:1");
  job["restart"] = {{"strategy", "fixed-delay"}, {"delay", "1m"}};
  job["checkpoint"]["tolerated-failures"] = 0;
  job["sinks"][0] = FileSink(folder_, "out", "in");
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  const JobHttp http(weir);
  ASSERT_TRUE(http.HealthIs(200)) << weir.Output();
  {
    const BrokenFolder broken(folder_.Path("checkpoints/shown/shared"));
    folder_.Append("in/a.jsonl", "{\"k\":2}\n");
    ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says("restart 1 in"); })) << weir.Output();
  }
  const harness::HttpReply health = http.Get("/health");
  EXPECT_EQ(health.code, 503);
  ExpectSays(health.body, {"\"state\":\"restarting\"", "the job is not running: restarting: ", "shared"});
  EXPECT_EQ(http.Metric("weir_job_state", "state=\"restarting\""), 1);
  EXPECT_EQ(http.Metric("weir_job_restarts_total"), 1);
  const Json shown = http.Diagnostics();
  EXPECT_TRUE(shown["job"].contains("last-failure")) << shown["job"];
  EXPECT_GT(shown["job"]["restart-in-seconds"], 10) << shown["job"];
  weir.Signal(SIGTERM);
  EXPECT_EQ(weir.Wait(seconds(20)), kJobFailed) << weir.Output();
}

// Secrets by value, from the environment and from a file, in each option that takes one.
TEST_F(JobOperationTest, B46_SecretsAreShownNowhere) {
  const std::string canary = "canary-7Qx";
  const auto postgres = harness::StartPostgres();
  ASSERT_TRUE(postgres->Run("CREATE TABLE t (k int PRIMARY KEY)").ok());
  const std::string input = world_->NewName("in");
  ASSERT_TRUE(world_->CreateTopic(input, 1).ok());
  ASSERT_TRUE(world_->CreateTopic(input + "-out", 1).ok());
  const Json properties = {
      {"sasl.password", canary}, {"ssl.key.password", "${CANARY}"}, {"sasl.oauthbearer.config", "a ${CANARY} b"}};
  Json job = EmptyJob(folder_, "shown");
  job["description"] = "with ${CANARY} in it";
  job["metrics"] = {{"port", 0}};
  job["sources"].push_back(KafkaSource(*world_, "in", input, "json"));
  job["sources"][0]["properties"] = properties;
  job["sinks"] = {KafkaSink(*world_, "kafka", "in", input + "-out", Json::array({"k"})),
                  {{"id", "tables"},
                   {"connector", "postgres"},
                   {"input", "in"},
                   {"connection", postgres->conninfo() + " password=" + canary},
                   {"table", "t"}},
                  {{"id", "again"},
                   {"connector", "postgres"},
                   {"input", "in"},
                   {"connection", "${file:" + folder_.Path("connection") + "}"},
                   {"table", "t"}}};
  job["sinks"][0]["properties"] = properties;
  folder_.Write("connection", postgres->conninfo() + " password=" + canary + "\n");
  Weir weir(folder_, {"run", WriteJob(folder_, job)}, {{"CANARY", canary}});
  const JobHttp http(weir);
  ASSERT_TRUE(Eventually(seconds(30), [&] { return http.Metric("weir_job_state", "state=\"running\"") == 1; }))
      << weir.Output();
  for (const std::string path : {"/metrics", "/health", "/diagnostics"}) {
    const std::string body = http.Get(path).body;
    EXPECT_FALSE(body.empty()) << path;
    EXPECT_EQ(body.find("canary"), std::string::npos) << path << body;
  }
  const Json shown = http.Diagnostics()["definition"];
  EXPECT_EQ(shown["sinks"][1]["connection"], "<secret>");
  EXPECT_EQ(shown["sinks"][2]["connection"], "${file:" + folder_.Path("connection") + "}");
  EXPECT_EQ(shown["sinks"][1]["table"], "t");
  EXPECT_EQ(shown["sources"][0]["properties"]["sasl.password"], "<secret>");
  EXPECT_EQ(shown["sources"][0]["properties"]["ssl.key.password"], "${CANARY}");
  EXPECT_EQ(shown["sources"][0]["properties"]["sasl.oauthbearer.config"], "<secret>");
  weir.Stop();
  EXPECT_EQ(weir.Output().find("canary"), std::string::npos) << weir.Output();
}

TEST_F(JobOperationTest, case_H70_OnlyTheThreePathsAreThere) {
  Weir weir(folder_, {"run", WriteJob(folder_, FollowJob("127.0.0.1:1"))});
  const JobHttp http(weir);
  for (const std::string path : {"/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%252e%252e/etc/passwd",
                                 "/..%2f..%2fetc/passwd", "/etc/passwd", "/metrics/../diagnostics", "/%6detrics"}) {
    const harness::HttpReply reply = http.Get(path);
    EXPECT_EQ(reply.code, 404) << path;
    EXPECT_EQ(reply.body.find("root:"), std::string::npos) << path;
  }
  EXPECT_EQ(harness::GetHttp(http.port(), "/metrics", "POST").code, 405);
  EXPECT_EQ(http.Get("/metrics").code, 200);

  // A second one can't have the port, and says so before it touches anything.
  const Ended second = RunToEnd(folder_, {"run", folder_.Path("job.json"), "--set", "name=second", "--metrics",
                                          "127.0.0.1:" + std::to_string(http.port())});
  EXPECT_EQ(second.code, kStartRefused) << second.output;
  ExpectSays(second.output, {"can't listen at 127.0.0.1:" + std::to_string(http.port())});
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("checkpoints/second")));
}

TEST_F(JobOperationTest, WhereItListensIsSaidAndChosen) {
  Json job = FollowJob("127.0.0.1:1");
  job.erase("metrics");
  job["sinks"][0] = FileSink(folder_, "out", "in");
  const std::string definition = WriteJob(folder_, job);
  Weir silent(folder_, {"run", definition});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return silent.Says("first start"); })) << silent.Output();
  EXPECT_FALSE(silent.Says("http://"));
  EXPECT_EQ(silent.Stop(), kOk) << silent.Output();
  Weir open(folder_, {"run", definition, "--metrics", "0.0.0.0:0"});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return open.Says("diagnostics at"); })) << open.Output();
  ExpectSays(open.Output(), {"warning other machines can reach http://0.0.0.0:"});
  EXPECT_EQ(open.Stop(), kOk) << open.Output();
  const Ended wrong = RunToEnd(folder_, {"run", definition, "--metrics", "localhost:many"});
  EXPECT_EQ(wrong.code, kBadUsage) << wrong.output;
}

}  // namespace
}  // namespace weir::job_test
