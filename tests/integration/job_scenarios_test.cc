// Scenarios of the checkpoint protocol, by their numbers there, as whole jobs on a real broker and a real PostgreSQL:
// one system ahead of the others, put back or down, an output topic made anew, a start at the end of the input.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/harness/postgres_server.h"
#include "tests/integration/job_kafka_copy.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

// Numbers from a topic into another one, into a table that is only added to and into files.
class JobThreeSystemsTest : public KafkaCopyTest {
 protected:
  static constexpr const char* kFiles = "files";

  void SetUp() override {
    ASSERT_TRUE(postgres_->Run("CREATE TABLE t (seq bigserial, k bigint, n bigint)").ok());
    Json job = CopyJob();
    job["sinks"].push_back({{"id", "table"},
                            {"connector", "postgres"},
                            {"input", "numbers"},
                            {"connection", postgres_->conninfo()},
                            {"table", "t"},
                            {"mode", "append"}});
    job["sinks"].push_back(FileSink(folder_, kFiles, "numbers"));
    definition_ = WriteJob(folder_, job);
  }
  Weir BeginWithFault(const std::string& fault) {
    return {folder_, {"run", definition_, "--quiet"}, {{"WEIR_FAULT", fault}}};
  }
  // As the topic has them, in the order of their coming.
  Lines Table() { return postgres_->Query(R"(SELECT '{"k":' || k || ',"n":' || n || '}' FROM t ORDER BY seq)"); }
  Lines Files() { return OutLines(folder_, kFiles); }
  bool AllInTopicAndFiles() {
    return AllOut() && Eventually(seconds(30), [&] { return Files().size() >= static_cast<size_t>(fed_); });
  }
  bool AllThere() {
    return AllInTopicAndFiles() && Eventually(seconds(60), [&] { return Table().size() >= static_cast<size_t>(fed_); });
  }
  void ExpectInTopicAndFiles(Lines rows) {
    EXPECT_EQ(Out(), rows);
    std::ranges::sort(rows);
    EXPECT_EQ(Files(), rows);
  }
  void StopExact(Weir& weir) {
    EXPECT_TRUE(AllThere()) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
    ExpectInTopicAndFiles(Fed());
    EXPECT_EQ(Table(), Fed());
  }

  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
};

TEST_F(JobThreeSystemsTest, Scenario01_OneSystemIsBehindAndTheStartCrashesAfterSigning) {
  {
    Weir weir = Begin();
    Feed(80);
    StopExact(weir);
  }
  {  // dies behind Kafka's second commit of rows, before it has heard of it
    Weir weir = BeginWithFault("kafka.after-commit:3:kill");
    EXPECT_TRUE(Eventually(seconds(30), [&] { return weir.Says("goes on from"); })) << weir.Output();
    postgres_->Crash();
    std::optional<int> code;
    for (int i = 0; i < 200 && !code.has_value(); ++i) {
      Feed(5);
      code = weir.Wait(milliseconds(200));
    }
    ASSERT_EQ(code, -SIGKILL) << weir.Output();
  }
  const Lines in_topic = Out();
  EXPECT_GT(in_topic.size(), 80U);
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  for (int system = 1; system <= 3; ++system) {  // after the first signature, the second, the third
    Weir weir = BeginWithFault("start.after-sign:" + std::to_string(system) + ":kill");
    EXPECT_EQ(weir.Wait(seconds(60)), -SIGKILL) << weir.Output();
    EXPECT_EQ(Out(), in_topic);
    EXPECT_EQ(Table().size(), 80U) << "a start applies nothing before it has signed every system";
  }
  Weir weir = Begin();
  ASSERT_TRUE(AllThere()) << weir.Output();
  Feed(10);
  StopExact(weir);
}

TEST_F(JobThreeSystemsTest, Scenario03_PostgresPutBackToAnOlderBackupIsRefusedAndTheGapNamed) {
  {
    Weir weir = Begin();
    Feed(50);
    StopExact(weir);
  }
  postgres_->Crash();
  ASSERT_EQ(postgres_->Backup().ToString(), "ok");
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  {
    Weir weir = Begin();
    for (int i = 0; i < 5; ++i) {  // more checkpoints than are retained
      Feed(10);
      ASSERT_TRUE(AllThere()) << weir.Output();
    }
    StopExact(weir);
  }
  const auto swap = [&] {
    postgres_->Crash();
    ASSERT_EQ(postgres_->SwapWithBackup().ToString(), "ok");
    ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  };
  swap();
  const auto world = [&] {  // all that a start could have changed
    Lines all = postgres_->Query("SELECT * FROM weir_markers");
    for (const Lines& more : {Table(), Out(), Files(), FilesUnder(Storage())}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    all.push_back(std::to_string(ReadTopic(*world_, "weir-markers", 1).size()));
    return all;
  };
  const Lines before = world();
  EXPECT_EQ(Table().size(), 50U);
  const Ended refused = RunToEnd(folder_, {"run", definition_, "--quiet"});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output,
             {"system postgres:", "the system was put back: output behind checkpoint ", "is not kept any more"});
  // Where there is a marker it decides.
  const Ended assumed = RunToEnd(folder_, {"run", definition_, "--quiet", "--assume", "1"});
  EXPECT_EQ(assumed.code, kStartRefused) << assumed.output;
  EXPECT_EQ(world(), before);
  swap();
  Weir weir = Begin();
  Feed(10);
  StopExact(weir);
}

TEST_F(JobThreeSystemsTest, Scenario10_PostgresIsDownAtTheStartAndAtARestartInsideTheProcess) {
  {  // the very first start waits for every system
    Weir weir = Begin();
    Feed(30);
    StopExact(weir);
  }
  postgres_->Crash();
  Weir weir = Begin(
      {"--set", "restart.strategy=fixed-delay", "--set", "restart.delay=200ms", "--set", "restart.attempts-max=1000"});
  Feed(30);
  ASSERT_TRUE(AllInTopicAndFiles()) << weir.Output();
  const auto goes_on = [&] {  // twice
    const std::string said = weir.Output();
    return said.find("goes on from checkpoint") != said.rfind("goes on from checkpoint");
  };
  EXPECT_FALSE(goes_on()) << weir.Output();
  {
    const BrokenFolder broken(folder_.Path(kFiles));
    Feed(10);
    ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says("; restart 1 in"); })) << weir.Output();
  }
  ASSERT_TRUE(AllInTopicAndFiles()) << weir.Output();
  EXPECT_TRUE(goes_on()) << weir.Output();
  Feed(30);
  ASSERT_TRUE(AllInTopicAndFiles()) << weir.Output();
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  StopExact(weir);
}

using JobTopicsLifeTest = KafkaCopyTest;

TEST_F(JobTopicsLifeTest, Scenario20_AnOutputTopicDeletedAndMadeAgainGetsNoRowOfBefore) {
  for (int life = 0; life < 2; ++life) {
    const int from = fed_;
    {
      Weir weir = Begin();
      for (int i = 0; i < 2; ++i) {
        Feed(50);
        ASSERT_TRUE(ComesOut(static_cast<size_t>(fed_ - from))) << weir.Output();
      }
      if (life == 0) {
        weir.Kill9();
      } else {
        EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
      }
    }
    EXPECT_EQ(Out(), Fed(from));
    EXPECT_EQ(world_->DeleteTopic(out_).ToString(), "ok");
    EXPECT_TRUE(Eventually(seconds(30), [&] { return world_->CreateTopic(out_, 1).ok(); }));
  }
  const int from = fed_;
  Weir weir = Begin();
  Feed(50);
  ASSERT_TRUE(ComesOut(50)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed(from));
}

TEST_F(JobTopicsLifeTest, Scenario22_LatestKilledBeforeTheFirstCheckpointMeansTheSameMoment) {
  Feed(20);
  Json job = CopyJob();
  job["sources"][0]["start"] = "latest";
  job["sinks"].push_back({{"id", "shown"}, {"connector", "print"}, {"input", "numbers"}});
  definition_ = WriteJob(folder_, job);
  const Ended first =
      RunToEnd(folder_, {"run", definition_, "--quiet"}, {{"WEIR_FAULT", "start.after-publish:1:kill"}});
  EXPECT_EQ(first.code, -SIGKILL) << first.output;
  for (int life = 0; life < 2; ++life) {
    Feed(30);
    Weir weir = Begin({"--set", "checkpoint.interval=1h"});
    ASSERT_TRUE(Eventually(seconds(30), [&] { return weir.Says(Row(fed_ - 1)); })) << weir.Output();
    weir.Kill9();
  }
  EXPECT_EQ(Out(), Lines());
  Weir weir = Begin();
  ASSERT_TRUE(ComesOut(60)) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed(20));
}

}  // namespace
}  // namespace weir::job_test
