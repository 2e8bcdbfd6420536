// `weir preflight` against a real broker and a real PostgreSQL server: what it finds, and that it leaves nothing
// behind.
#include <gtest/gtest.h>

#include "tests/harness/postgres_server.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

constexpr int kProblems = 1;

class PreflightTest : public testing::Test {
 protected:
  Ended Preflight(const Json& job) {
    Ended ended = RunToEnd(folder_, {"preflight", WriteJob(folder_, job)});
    EXPECT_TRUE(FilesUnder(folder_.Path("checkpoints")).empty());
    return ended;
  }
  std::string Topic(int partitions, const std::string& stem) {
    std::string name = world_->NewName(stem);
    EXPECT_EQ(world_->CreateTopic(name, partitions).ToString(), "ok");
    return name;
  }
  Json PostgresSink(const harness::PostgresServer& server, const std::string& table) {
    return {{"id", "rows"},   {"connector", "postgres"}, {"input", "in"}, {"connection", server.conninfo()},
            {"table", table}, {"connect-timeout", "2s"}};
  }

  const std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
};

TEST_F(PreflightTest, B47_NamesWhatIsThereAndWhatIsMissing) {
  const auto postgres = harness::StartPostgres();
  ASSERT_TRUE(postgres->Run("CREATE TABLE t (id bigint PRIMARY KEY, v text)").ok());
  ASSERT_TRUE(postgres->Run("CREATE TABLE keyless (id bigint)").ok());
  const std::string in = Topic(3, "in"), out = Topic(1, "out");
  Json job = EmptyJob(folder_, "check");
  job["sources"].push_back(KafkaSource(*world_, "in", in, "json"));
  job["sinks"].push_back(KafkaSink(*world_, "copy", "in", out, "k"));
  job["sinks"].push_back(PostgresSink(*postgres, "t"));
  job["sinks"].push_back(FileSink(folder_, "file", "in"));
  const Ended good = Preflight(job);
  EXPECT_EQ(good.code, kOk) << good.output;
  ExpectSays(good.output,
             {"ok       source in: topic " + in + " has 3 partitions", "sink copy: topic " + out + " has 1 partition",
              "has table public.t: id, v", ": 0 problems"});

  const std::string nowhere = world_->NewName("nowhere");
  job["sources"].push_back(KafkaSource(*world_, "in2", nowhere, "json"));
  job["sinks"][0]["topic"] = world_->NewName("neither");
  job["sinks"][1]["table"] = "keyless";
  job["sinks"].push_back(PostgresSink(*postgres, "gone"));
  job["sinks"].back()["id"] = "gone";
  const Ended bad = Preflight(job);
  EXPECT_EQ(bad.code, kProblems) << bad.output;
  ExpectSays(bad.output,
             {"ok       source in: topic " + in + " has 3 partitions", "problem  source in2: Kafka at ", nowhere,
              "problem  sink copy: ", "neither", "problem  sink rows: table public.keyless has no primary key",
              "problem  sink gone: ", "public.gone", ": 4 problems"});
}

TEST_F(PreflightTest, B47_SystemsThatDoNotAnswerAreNamed) {
  Json job = CopyJob(*world_, folder_, "t");
  job["sources"][0]["bootstrap-servers"] = "127.0.0.1:1";
  job["sources"][0]["request-timeout"] = "500ms";
  job["sinks"].push_back({{"id", "rows"},
                          {"connector", "postgres"},
                          {"input", "in"},
                          {"connection", "host=127.0.0.1 port=1 dbname=d user=u password=canary-7Q!x"},
                          {"table", "t"}});
  const Ended ended = Preflight(job);
  EXPECT_EQ(ended.code, kProblems) << ended.output;
  ExpectSays(ended.output,
             {"problem  source in: Kafka at 127.0.0.1:1", "problem  sink rows: ", "127.0.0.1:1/d", ": 2 problems"});
  EXPECT_EQ(ended.output.find("canary"), std::string::npos) << ended.output;
}

TEST_F(PreflightTest, B47_ABadDefinitionAsksNobody) {
  Json job = CopyJob(*world_, folder_, "t", "cockroachdb");
  job["sources"][0]["min-timestamp"] = "yesterday";
  const Ended ended = Preflight(job);
  EXPECT_EQ(ended.code, kBadUsage) << ended.output;
  ExpectSays(ended.output, {"/sources/0/min-timestamp", "yesterday"});
}

}  // namespace
}  // namespace weir::job_test
