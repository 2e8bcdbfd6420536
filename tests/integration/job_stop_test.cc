// A SIGTERM while something does not answer: the process ends in time all the same, and says what it left.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "tests/harness/kafka_broker.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/job_http.h"

namespace weir::job_test {
namespace {

using std::chrono::seconds;

constexpr int kOutputWaits = 5;

// A port of loopback that takes connections and never says a word.
class SilentPort {
 public:
  SilentPort() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { close(listener_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  std::string port() const { return std::to_string(port_); }

 private:
  int listener_;
  uint16_t port_ = 0;
};

class JobStopTest : public testing::Test {
 protected:
  Json FollowJob() {
    std::filesystem::create_directories(folder_.Path("in"));
    Json job = EmptyJob(folder_, "stopped");
    job["sources"].push_back(FileSource(folder_, "in", "in/*.jsonl", true));
    return job;
  }
  static Json KafkaOut(const std::string& bootstrap) {
    return {{"id", "out"},
            {"connector", "kafka"},
            {"input", "in"},
            {"bootstrap-servers", bootstrap},
            {"topic", "out"},
            {"key", {"k"}},
            {"delivery", "exactly-once"}};
  }
  static Json PostgresOut(const std::string& connection) {
    return {{"id", "out"}, {"connector", "postgres"}, {"input", "in"}, {"connection", connection}, {"table", "t"}};
  }
  // The promise is 5 s; a machine that is busy with other tests gets one more.
  static std::optional<int> StopInTime(Weir& weir, const std::string& what) {
    const auto began = std::chrono::steady_clock::now();
    weir.Signal(SIGTERM);
    const std::optional<int> code = weir.Wait(seconds(6));
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    std::cout << "stopped after " << took.count() << " ms: " << what << "\n";
    return code;
  }
  JobFolder folder_;
};

TEST_F(JobStopTest, B32_BesideAFrozenBrokerOfTheSink) {
  auto broker = harness::KafkaBroker::Start();
  ASSERT_TRUE(broker.has_value()) << broker.error().ToString();
  ASSERT_TRUE((*broker)->CreateTopic("out", 1).ok());
  Json job = FollowJob();
  job["sinks"].push_back(KafkaOut((*broker)->bootstrap()));
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition});
    ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says("first start"); })) << weir.Output();
    Pause(seconds(2));
    (*broker)->Pause();
    folder_.Append("in/a.jsonl", "{\"k\":2}\n");
    Pause(seconds(1));  // a commit is under way
    EXPECT_EQ(StopInTime(weir, "a broker that is frozen"), kOutputWaits) << weir.Output();
  }
  // And once more, where the start asks it for the marker.
  Weir again(folder_, {"run", definition});
  Pause(seconds(1));
  EXPECT_TRUE(StopInTime(again, "a broker that was frozen before the start").has_value()) << again.Output();
  (*broker)->Resume();
  Weir last(folder_, {"run", definition});
  EXPECT_TRUE(Eventually(seconds(30), [&] { return last.Says("goes on from"); })) << last.Output();
  Pause(seconds(1));
  EXPECT_EQ(StopInTime(last, "nothing is wrong any more"), kOk) << last.Output();
}

TEST_F(JobStopTest, B32_BesideAPostgresThatIsGone) {
  const auto postgres = harness::StartPostgres();
  ASSERT_TRUE(postgres->Run("CREATE TABLE t (k int PRIMARY KEY)").ok());
  Json job = FollowJob();
  job["sinks"].push_back(PostgresOut(postgres->conninfo()));
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return postgres->Query("SELECT k FROM t").size() == 1; })) << weir.Output();
  postgres->Crash();
  folder_.Append("in/a.jsonl", "{\"k\":2}\n");
  Pause(seconds(1));
  EXPECT_EQ(StopInTime(weir, "a PostgreSQL that is gone"), kOutputWaits) << weir.Output();
}

TEST_F(JobStopTest, B32_BesideABrokerOfTheSourceThatIsFrozenOrGone) {
  auto broker = harness::KafkaBroker::Start();
  ASSERT_TRUE(broker.has_value()) << broker.error().ToString();
  ASSERT_TRUE((*broker)->CreateTopic("in", 1).ok());
  Json job = EmptyJob(folder_, "stopped");
  job["sources"] = {{{"id", "in"},
                     {"connector", "kafka"},
                     {"bootstrap-servers", (*broker)->bootstrap()},
                     {"topics", "in"},
                     {"format", "json"}}};
  job["sinks"].push_back(FileSink(folder_, "out", "in"));
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition});
    ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says("first start"); })) << weir.Output();
    Pause(seconds(2));
    (*broker)->Pause();
    Pause(seconds(1));
    EXPECT_EQ(StopInTime(weir, "a source's broker that is frozen"), kOk) << weir.Output();
  }
  {
    Weir weir(folder_, {"run", definition});
    Pause(seconds(1));
    EXPECT_TRUE(StopInTime(weir, "a source's broker that was frozen before the start").has_value()) << weir.Output();
  }
  (*broker)->Resume();
  Weir weir(folder_, {"run", definition, "--metrics", "0"});
  const JobHttp http(weir);
  ASSERT_TRUE(Eventually(seconds(30), [&] { return http.Metric("weir_checkpoints_completed_total") >= 1; }))
      << weir.Output();
  (*broker)->Kill9();
  Pause(seconds(1));
  EXPECT_EQ(StopInTime(weir, "a source's broker that is gone"), kOk) << weir.Output();
}

TEST_F(JobStopTest, B32_WhileItOpensBesideServersThatSayNothing) {
  const SilentPort silent;
  for (const Json& sink :
       {KafkaOut("127.0.0.1:" + silent.port()), PostgresOut("host=127.0.0.1 user=u dbname=d port=" + silent.port())}) {
    Json job = FollowJob();
    job["sinks"].push_back(sink);
    Weir weir(folder_, {"run", WriteJob(folder_, job)});
    Pause(seconds(1));
    EXPECT_TRUE(StopInTime(weir, "a silent " + sink["connector"].get<std::string>()).has_value()) << weir.Output();
    std::filesystem::remove_all(folder_.Path("checkpoints"));
  }
  Json job = EmptyJob(folder_, "stopped");
  job["sources"] = {{{"id", "in"},
                     {"connector", "kafka"},
                     {"bootstrap-servers", "127.0.0.1:" + silent.port()},
                     {"topics", "in"},
                     {"format", "json"}}};
  job["sinks"].push_back(FileSink(folder_, "out", "in"));
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  Pause(seconds(1));
  EXPECT_TRUE(StopInTime(weir, "a silent source").has_value()) << weir.Output();
}

TEST_F(JobStopTest, Weakness_o_WhileItWaitsForARestart) {
  Json job = FollowJob();
  job["restart"] = {{"strategy", "fixed-delay"}, {"delay", "5m"}};
  job["checkpoint"]["tolerated-failures"] = 0;
  job["sinks"].push_back(FileSink(folder_, "out", "in"));
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  Weir weir(folder_, {"run", WriteJob(folder_, job)});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return !OutLines(folder_).empty(); })) << weir.Output();
  const BrokenFolder broken(folder_.Path("checkpoints/stopped/shared"));
  folder_.Append("in/a.jsonl", "{\"k\":2}\n");
  ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says("restart 1 in"); })) << weir.Output();
  EXPECT_EQ(StopInTime(weir, "waiting for a restart"), kJobFailed) << weir.Output();
}

// A disk that hangs: a pipe that nobody writes stands in the place of a file that a restore reads.
TEST_F(JobStopTest, B32_WhileARestoreReadsAFileThatDoesNotCome) {
  Json job = FollowJob();
  job["sinks"].push_back(FileSink(folder_, "out", "in"));
  folder_.Append("in/a.jsonl", "{\"k\":1}\n");
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition});
    ASSERT_TRUE(Eventually(seconds(30), [&] { return !OutLines(folder_).empty(); })) << weir.Output();
    ASSERT_EQ(weir.Stop(), kOk) << weir.Output();
  }
  std::string replaced;
  for (const std::string& file : FilesUnder(folder_.Path("checkpoints/stopped"))) {
    if (file.ends_with("/_metadata")) replaced = file;
  }
  ASSERT_FALSE(replaced.empty());
  std::filesystem::rename(replaced, replaced + ".aside");
  ASSERT_EQ(mkfifo(replaced.c_str(), 0600), 0);
  {
    Weir weir(folder_, {"run", definition});
    Pause(seconds(1));
    EXPECT_TRUE(weir.Running()) << weir.Output();
    EXPECT_EQ(StopInTime(weir, "a restore that reads"), kOutputWaits) << weir.Output();
    ExpectSays(weir.Output(), {"job \"stopped\" is starting and a call that does not return holds up the end"});
  }
  std::filesystem::rename(replaced + ".aside", replaced);
  Weir weir(folder_, {"run", definition});
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_TRUE(weir.Says("goes on from")) << weir.Output();
  EXPECT_EQ(OutLines(folder_).size(), 1U);
}

}  // namespace
}  // namespace weir::job_test
