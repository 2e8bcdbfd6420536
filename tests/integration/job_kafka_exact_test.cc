// Exactly once into Kafka by whole jobs on a real broker: copies of the storage, zombies, clones, rewinds, a cluster
// that is away, markers that are gone. The numbers are those of the scenarios in the checkpoint protocol.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <regex>
#include <set>

#include "base/random.h"
#include "tests/harness/kafka_broker.h"
#include "tests/integration/job_kafka_copy.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kStoppedUnapplied = 5;

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

class JobKafkaExactTest : public KafkaCopyTest {};

TEST_F(JobKafkaExactTest, Scenario18_ACopyWithTheNewestCheckpointTakesOverAndTheOlderProcessEnds) {
  for (int round = 0; round < (Torture() ? 10 : 1) && !HasFailure(); ++round) {
    Weir first = Begin();
    Feed(500);
    ASSERT_TRUE(AllOut()) << first.Output();
    first.Freeze();
    ACopyTakesOver(first);
  }
}

TEST_F(JobKafkaExactTest, Scenario13_AnOlderCopyIsRefusedAndDisturbsNobody) { AnOlderCopyIsRefused("kafka:"); }

// A process that stood still for longer than its transaction may last: it finds its transaction gone, begins anew from
// the marker, and nothing is there twice.
TEST_F(JobKafkaExactTest, AProcessThatStoodStillGoesOnExactly) {
  Weir weir = Begin({"--set", "sinks.copy.transaction-timeout=1s"});
  const auto random = NewSystemRandom();
  for (int round = 0; round < (Torture() ? 10 : 2); ++round) {
    Feed(2000);
    Pause(milliseconds(100 + static_cast<int64_t>(random->Below(200))));
    weir.Signal(SIGSTOP);
    Pause(seconds(4));
    weir.Signal(SIGCONT);
  }
  EXPECT_TRUE(ComesOut(static_cast<size_t>(fed_)) || !weir.Running()) << weir.Output();
  if (!weir.Running()) {  // its transaction was lost: without a restart strategy that ends the job
    EXPECT_EQ(weir.Wait(seconds(0)), kJobFailed) << weir.Output();
    Weir next = Begin();
    EXPECT_TRUE(ComesOut(static_cast<size_t>(fed_))) << next.Output();
    EXPECT_EQ(next.Stop(), kOk);
  }
  EXPECT_EQ(Out(), Fed());
}

TEST_F(JobKafkaExactTest, Scenario12_AStopWhileTheClusterIsAwayLeavesTheRowsToTheNextStart) {
  harness::KafkaBroker& broker = harness::SharedKafkaBroker();
  for (int round = 0; round < 2; ++round) {
    Weir weir = Begin();
    Feed(100);
    ASSERT_TRUE(ComesOut(static_cast<size_t>(fed_))) << weir.Output();
    broker.Pause();
    Pause(milliseconds(500));
    const std::optional<int> code = weir.Stop();
    EXPECT_TRUE(code == kOk || code == kStoppedUnapplied) << code.value_or(-1) << weir.Output();
    broker.Resume();
  }
  Weir weir = Begin();
  Feed(100);
  ASSERT_TRUE(ComesOut(static_cast<size_t>(fed_))) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(Out(), Fed());
}

TEST_F(JobKafkaExactTest, Scenario08_AClusterThatIsAwayStopsTheSourcesAtTheBound) {
  constexpr uint64_t kRows = 500'000;
  constexpr uint64_t kBound = 4'000'000;
  Json job = Json::parse(ReadText(definition_));
  job["checkpoint"]["interval"] = "500ms";
  job["checkpoint"]["output-bytes-max"] = kBound;
  job["sources"][0] = {
      {"id", "numbers"}, {"connector", "generator"}, {"rows", kRows}, {"splits", 2}, {"rows-per-second", 100'000}};
  job["operators"].push_back({{"id", "ids"}, {"type", "project"}, {"input", "numbers"}, {"columns", {{"id", "id"}}}});
  job["sinks"][0]["input"] = "ids";
  job["sinks"][0].erase("key");
  definition_ = WriteJob(folder_, job);
  harness::KafkaBroker& broker = harness::SharedKafkaBroker();
  Weir weir = Begin();
  ASSERT_TRUE(ComesOut(1)) << weir.Output();
  broker.Pause();
  Pause(seconds(Torture() ? 60 : 6));
  uint64_t waiting = 0;
  for (const std::string& file : FilesUnder(Storage() + "/" + job_ + "/output")) {
    waiting += std::filesystem::file_size(file);
  }
  EXPECT_TRUE(weir.Running()) << weir.Output();
  broker.Resume();
  EXPECT_GT(waiting, kBound / 4) << "nothing has waited";
  EXPECT_LT(waiting, 10 * kBound)
      << "the sources went on";  // a second's rows may come on top, and what was applied stays
  EXPECT_EQ(weir.Wait(seconds(60)), kOk) << weir.Output();
  std::set<std::string> distinct;
  const std::vector<std::string> rows = Out();
  EXPECT_EQ(rows.size(), kRows);
  distinct.insert(rows.begin(), rows.end());
  EXPECT_EQ(distinct.size(), kRows);
}

// A clone has a marker and a transactional id of its own, by its name.
TEST_F(JobKafkaExactTest, Scenario15_ACloneFromASavepointRunsBesideTheOriginal) {
  Weir original = Begin();
  Feed(300);
  ASSERT_TRUE(ComesOut(300)) << original.Output();
  const Ended saved = RunToEnd(folder_, {"savepoint", definition_, "--to", folder_.Path("sp")});
  ASSERT_EQ(saved.code, kOk) << saved.output;
  const std::string clone_out = out_ + "-clone";
  ASSERT_EQ(world_->CreateTopic(clone_out, 1).ToString(), "ok");
  Weir clone = Begin(
      {"--set", "name=" + job_ + "-clone", "--set", "sinks.copy.topic=" + clone_out, "--restore", folder_.Path("sp")});
  Feed(300);
  ASSERT_TRUE(ComesOut(600)) << original.Output();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return ReadTopic(*world_, clone_out, 1).size() >= 300; }))
      << clone.Output();
  EXPECT_EQ(clone.Stop(), kOk) << clone.Output();
  EXPECT_EQ(original.Stop(), kOk) << original.Output();
  EXPECT_EQ(Out(), Fed());
  std::vector<std::string> cloned;
  for (const TopicRecord& record : ReadTopic(*world_, clone_out, 1)) cloned.push_back(*record.value);
  EXPECT_EQ(cloned, Fed(300));
}

// Back to a savepoint by choice, once, whatever a supervisor repeats.
TEST_F(JobKafkaExactTest, Scenario14_ARewindHappensOnceAndDoublesOnlyWhatCameBehindIt) {
  std::optional<Weir> weir = Begin();
  Feed(100);
  ASSERT_TRUE(ComesOut(100)) << weir->Output();
  ASSERT_EQ(RunToEnd(folder_, {"savepoint", definition_, "--to", folder_.Path("sp")}).code, kOk);
  Feed(50);
  ASSERT_TRUE(ComesOut(150)) << weir->Output();
  EXPECT_EQ(weir->Stop(), kOk);
  const Ended refused = RunToEnd(folder_, {"run", definition_, "--restore", folder_.Path("sp"), "--set",
                                           "checkpoint.storage=" + folder_.Path("empty")});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  std::smatch number;
  ASSERT_TRUE(std::regex_search(refused.output, number, std::regex(R"(--rewind=(\d+))"))) << refused.output;
  const Arguments rewind = {"--restore", folder_.Path("sp"), "--rewind=" + number[1].str(), "--set",
                            "checkpoint.storage=" + folder_.Path("empty")};
  std::vector<std::string> expected = Fed();
  for (int i = 100; i < 150; ++i) expected.push_back(Row(i));
  for (int life = 0; life < 3; ++life) {
    weir.emplace(folder_,
                 Arguments{"run", definition_, "--quiet", rewind[0], rewind[1], rewind[2], rewind[3], rewind[4]});
    for (int i = 0; i < 20; ++i) expected.push_back(Row(fed_ + i));
    Feed(20);
    ASSERT_TRUE(ComesOut(expected.size())) << weir->Output();
    weir->Kill9();
  }
  EXPECT_EQ(Out(), expected);
}

TEST_F(JobKafkaExactTest, Scenario16_AMarkerThatIsGoneStopsTheStart) {
  {
    Weir weir = Begin();
    Feed(100);
    ASSERT_TRUE(ComesOut(100)) << weir.Output();
    Feed(100);  // its checkpoint says which marker was known
    ASSERT_TRUE(ComesOut(200)) << weir.Output();
    weir.Kill9();
  }
  world_->Append("weir-markers", 0, {{.key = job_, .value = std::nullopt}});
  std::filesystem::remove_all(Storage() + "/" + job_ + "/applied");  // the hint would tell that nothing is missing
  std::filesystem::create_directories(Storage() + "/" + job_ + "/applied");
  const Ended refused = RunToEnd(folder_, {"run", definition_});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"has no marker", "--assume"});
}

TEST_F(JobKafkaExactTest, ATopicThatIsMissingIsNamedAndARowThatIsTooLargeToo) {
  const Ended missing = RunToEnd(folder_, {"run", definition_, "--set", "sinks.copy.topic=never-made"});
  EXPECT_EQ(missing.code, kJobFailed) << missing.output;
  ExpectSays(missing.output, {"never-made"});
  Weir weir = Begin({"--set", "sinks.copy.properties={\"message.max.bytes\":\"999900\"}"});
  // As a record of the input it just fits; its key comes on top.
  world_->Append(in_, 0, {{.value = R"({"k":7,"n":")" + std::string(999'900, 'x') + "\"}"}});
  EXPECT_EQ(weir.Wait(seconds(30)), kJobFailed) << weir.Output();
  ExpectSays(weir.Output(), {"the limit is 999900", "message.max.bytes", "[7]"});
}

TEST_F(JobKafkaExactTest, SinksOfOneClusterMustAgreeOnTheirConnection) {
  Json job = Json::parse(ReadText(definition_));
  Json second = job["sinks"][0];
  second["id"] = "other";
  second["transaction-timeout"] = "7s";
  job["sinks"].push_back(second);
  const Ended refused = RunToEnd(folder_, {"validate", WriteJob(folder_, job, "two.json")});
  EXPECT_NE(refused.code, kOk) << refused.output;
  ExpectSays(refused.output, {"/sinks/1", "\"copy\"", "\"other\"", "one committer", "differ: transaction-timeout"});
}

// Under one transactional id the two would fence each other.
TEST_F(JobKafkaExactTest, OneClusterUnderTwoNamesIsRefused) {
  Json job = Json::parse(ReadText(definition_));
  Json second = job["sinks"][0];
  const auto address = second["bootstrap-servers"].get<std::string>();
  second["id"] = "other";
  second["bootstrap-servers"] = "localhost" + address.substr(address.find(':'));
  job["sinks"].push_back(second);
  const Ended refused = RunToEnd(folder_, {"run", WriteJob(folder_, job, "two.json")});
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"are both Kafka cluster", "localhost:"});
}

// Its checkpoint would hold rows that no start could ever bring to a cluster.
TEST_F(JobKafkaExactTest, RowsForATopicThatNeverWasDoNotBecomeDurable) {
  Feed(100);
  const Ended missing = RunToEnd(folder_, {"run", definition_, "--set", "sinks.copy.topic=never-made", "--set",
                                           "checkpoint.interval=10ms", "--set", "restart.strategy=none"});
  EXPECT_EQ(missing.code, kJobFailed) << missing.output;
  Weir weir = Begin();
  EXPECT_TRUE(ComesOut(100)) << weir.Output();
}

TEST_F(JobKafkaExactTest, AFailureWhileTheJobStopsStartsItNoMore) {
  Weir weir = Begin({"--set", "restart.strategy=fixed-delay", "--set", "restart.delay=1ms"});
  Feed(100);
  ASSERT_TRUE(ComesOut(100)) << weir.Output();
  EXPECT_EQ(world_->DeleteTopic(out_).ToString(), "ok");
  Feed(100);
  EXPECT_TRUE(Eventually(seconds(20), [&] { return weir.Says("; restart 2 in"); })) << weir.Output();
  weir.Signal(SIGTERM);
  EXPECT_NE(weir.Wait(seconds(20)), kOk) << weir.Output();
  EXPECT_EQ(weir.Output().rfind("; restart "), weir.Output().rfind("; restart ", weir.Output().find("stopping")));
}

}  // namespace
}  // namespace weir::job_test
