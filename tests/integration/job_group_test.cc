// Whole processes that share a topic as members of one consumer group, into one table by upsert: killed, frozen,
// stopped and restarted. Nothing is lost, nothing newer is overwritten, and nobody waits who need not.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/harness/postgres_server.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

constexpr int kIds = 50;  // a partition

class JobGroupTest : public testing::Test {
 protected:
  JobGroupTest() { EXPECT_TRUE(postgres_->Run("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)").ok()); }

  void MakeTopic(int partitions) {
    partitions_ = partitions;
    topic_ = world_->NewName("shared");
    ASSERT_EQ(world_->CreateTopic(topic_, partitions).ToString(), "ok");
  }
  Json SharedJob(const Json& source = Json::object(), int session_ms = 3000) {
    Json job = EmptyJob(folder_, "shared");
    Json in = KafkaSource(*world_, "in", topic_, "json");
    in["assignment"] = "group";
    in["group"] = group_;
    in["properties"] = {{"session.timeout.ms", session_ms}, {"heartbeat.interval.ms", 200}, {"fetch.wait.max.ms", 10}};
    in.update(source);
    job["sources"] = {in};
    job["sinks"] = {{{"id", "out"},
                     {"connector", "postgres"},
                     {"input", "in"},
                     {"connection", postgres_->conninfo()},
                     {"table", "t"},
                     {"key", {"id"}},
                     {"version-column", "v"},
                     {"delivery", "at-least-once"}}};
    return job;
  }
  std::unique_ptr<Weir> Start(const std::string& definition, const std::string& instance) {
    return std::make_unique<Weir>(folder_, Arguments{"run", definition, "--instance", instance, "--quiet"});
  }
  // `rounds` new versions of every id.
  void Feed(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      ++version_;
      for (int32_t p = 0; p < partitions_; ++p) {
        Lines values;
        for (int i = 0; i < kIds; ++i) {
          values.push_back("{\"id\":" + std::to_string(p * kIds + i) + ",\"v\":" + std::to_string(version_) + "}");
        }
        world_->AppendValues(topic_, p, values);
      }
    }
  }
  bool Complete() {
    return postgres_->Query("SELECT count(*), min(v), max(v) FROM t") ==
           Lines{std::to_string(kIds * partitions_) + "|" + std::to_string(version_) + "|" + std::to_string(version_)};
  }
  std::vector<int64_t> Committed() {
    std::vector<connectors::TopicPartition> names;
    for (int32_t p = 0; p < partitions_; ++p) names.push_back({topic_, p});
    std::vector<int64_t> result;
    const auto offsets = admin_->CommittedOffsets(group_, names);
    if (!offsets.has_value()) return result;
    for (const auto& offset : *offsets) result.push_back(offset.value_or(-1));
    return result;
  }
  std::vector<int64_t> Ends() const {
    return std::vector<int64_t>(static_cast<size_t>(partitions_), int64_t{version_} * kIds);
  }
  static size_t Times(const Weir& weir, const std::string& text) {
    const std::string output = weir.Output();
    size_t times = 0;
    for (size_t at = output.find(text); at != std::string::npos; at = output.find(text, at + 1)) ++times;
    return times;
  }

  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  const std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::unique_ptr<connectors::KafkaAdmin> admin_ = world_->NewAdmin();
  const std::string group_ = world_->NewName("group");
  JobFolder folder_;
  std::string topic_;
  int partitions_ = 0;
  int version_ = 0;
};

TEST_F(JobGroupTest, B30_Weakness_e_WhoIsKilledIsReplacedAndAStandbyTakesOver) {
  MakeTopic(2);
  const std::string definition = WriteJob(folder_, SharedJob());
  auto a = Start(definition, "a");
  auto b = Start(definition, "b");
  ASSERT_TRUE(Eventually(seconds(40), [&] { return a->Says("given " + topic_) && b->Says("given " + topic_); }))
      << a->Output() << b->Output();
  auto c = Start(definition, "c");
  Feed(20);
  b->Kill9();
  Feed(20);
  EXPECT_TRUE(Eventually(seconds(60), [&] { return Complete(); })) << a->Output() << c->Output();
  EXPECT_TRUE(c->Running()) << c->Output();
  a->Kill9();
  Feed(5);
  EXPECT_TRUE(Eventually(seconds(60), [&] { return Complete(); })) << c->Output();
  EXPECT_EQ(c->Stop(), kOk) << c->Output();
  EXPECT_EQ(Committed(), Ends());
  EXPECT_FALSE(c->Says("error")) << c->Output();  // a rebalance is none
}

// Frozen for longer than its session, with rows and offsets under way; it wakes when another has gone on.
TEST_F(JobGroupTest, B24_AFrozenInstanceCommitsNothingAndRollsNothingBack) {
  MakeTopic(4);
  const std::string definition = WriteJob(folder_, SharedJob());
  auto a = Start(definition, "a");
  auto b = Start(definition, "b");
  ASSERT_TRUE(Eventually(seconds(40), [&] { return a->Says("given " + topic_) && b->Says("given " + topic_); }))
      << a->Output() << b->Output();
  Feed(10);
  Feed(10);
  b->Freeze();
  Feed(10);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return Complete() && Committed() == Ends(); })) << a->Output();
  b->Signal(SIGCONT);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Committed(), Ends());
    EXPECT_TRUE(Complete());
    Pause(milliseconds(50));
  }
  // It has joined again and does its part.
  ASSERT_TRUE(Eventually(seconds(40), [&] { return Times(*b, ": given ") >= 2; })) << b->Output();
  Feed(5);
  EXPECT_TRUE(Eventually(seconds(60), [&] { return Complete(); })) << a->Output() << b->Output();
  EXPECT_EQ(a->Stop(), kOk) << a->Output();
  EXPECT_EQ(b->Stop(), kOk) << b->Output();
  EXPECT_EQ(Committed(), Ends());
}

TEST_F(JobGroupTest, B50_ARollingRestartOfStaticMembersMovesNoPartition) {
  MakeTopic(4);
  const std::string definition = WriteJob(folder_, SharedJob({{"group-instance-id", "weir"}}, 20'000));
  auto a = Start(definition, "a");
  auto b = Start(definition, "b");
  ASSERT_TRUE(Eventually(seconds(60), [&] { return a->Says("given " + topic_) && b->Says("given " + topic_); }))
      << a->Output() << b->Output();
  Feed(5);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return Complete(); }));
  const size_t given = Times(*a, ": given ");
  const size_t taken = Times(*a, ": gives up ");
  EXPECT_EQ(b->Stop(), kOk) << b->Output();
  b = Start(definition, "b");
  Feed(5);
  EXPECT_TRUE(Eventually(seconds(60), [&] { return Complete(); })) << a->Output() << b->Output();
  EXPECT_EQ(Times(*a, ": given "), given) << a->Output();
  EXPECT_EQ(Times(*a, ": gives up "), taken) << a->Output();
}

// With a session of 45 s: only who says good-bye is replaced sooner.
TEST_F(JobGroupTest, B32_AStopLeavesTheGroupAndItsOffsets) {
  MakeTopic(2);
  const std::string definition = WriteJob(folder_, SharedJob(Json::object(), 45'000));
  auto a = Start(definition, "a");
  Feed(5);
  ASSERT_TRUE(Eventually(seconds(40), [&] { return Complete(); })) << a->Output();
  a->Signal(SIGTERM);
  EXPECT_EQ(a->Wait(seconds(5)), kOk) << a->Output();
  EXPECT_EQ(Committed(), Ends());
  auto b = Start(definition, "b");
  Feed(1);
  ASSERT_TRUE(Eventually(seconds(30), [&] { return Complete(); })) << b->Output();
  postgres_->Crash();
  Feed(1);
  Pause(milliseconds(500));
  b->Signal(SIGTERM);
  EXPECT_TRUE(b->Wait(seconds(6)).has_value()) << b->Output();
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  a = Start(definition, "a");
  EXPECT_TRUE(Eventually(seconds(30), [&] { return Complete(); })) << a->Output();
}

TEST_F(JobGroupTest, AnInstanceIsNeededHasAStorageOfItsOwnAndIsForSharedJobsOnly) {
  MakeTopic(1);
  const std::string definition = WriteJob(folder_, SharedJob());
  const Ended nameless = RunToEnd(folder_, {"run", definition});
  EXPECT_EQ(nameless.code, kBadUsage);
  ExpectSays(nameless.output, {"--instance", "\"in\""});
  EXPECT_EQ(RunToEnd(folder_, {"validate", definition}).code, kOk);
  const Ended bad = RunToEnd(folder_, {"run", definition, "--instance", "a/b"});
  EXPECT_EQ(bad.code, kBadUsage);
  ExpectSays(bad.output, {"a/b"});

  Json alone = SharedJob();
  alone["sources"][0].erase("assignment");
  const Ended named = RunToEnd(folder_, {"run", WriteJob(folder_, alone, "alone.json"), "--instance", "a"});
  EXPECT_EQ(named.code, kBadUsage);
  ExpectSays(named.output, {"--instance"});

  auto a = Start(definition, "a");
  Feed(1);
  ASSERT_TRUE(Eventually(seconds(40), [&] { return Complete(); })) << a->Output();
  EXPECT_FALSE(FilesUnder(folder_.Path("checkpoints/shared@a")).empty());
  EXPECT_EQ(RunToEnd(folder_, {"run", definition, "--instance", "a", "--quiet"}).code, kStartRefused);
  const Ended stopped = RunToEnd(folder_, {"stop", definition, "--instance", "a"});
  EXPECT_EQ(stopped.code, kOk) << stopped.output;
  EXPECT_EQ(a->Wait(seconds(10)), kOk) << a->Output();
  EXPECT_EQ(Committed(), Ends());
}

TEST_F(JobGroupTest, WhatKeepsSomethingInCheckpointsIsRefusedByPath) {
  MakeTopic(1);
  Json job = SharedJob();
  AddCount(job, "counts", "in", "id");
  job["sinks"][0].erase("version-column");
  job["sinks"][0]["input"] = "counts";
  const Ended keyed = RunToEnd(folder_, {"validate", WriteJob(folder_, job)});
  EXPECT_EQ(keyed.code, kBadUsage);
  ExpectSays(keyed.output, {"/operators/1", "keeps state", "\"in\""});

  job = SharedJob();
  job["sinks"][0]["delivery"] = "exactly-once";
  const Ended exact = RunToEnd(folder_, {"validate", WriteJob(folder_, job)});
  EXPECT_EQ(exact.code, kBadUsage);
  ExpectSays(exact.output, {"/sinks/0", "exactly once", "at-least-once"});

  job = SharedJob();
  Json other = FileSource(folder_, "files", "in-*.jsonl", false);
  job["sources"].push_back(other);
  job["sinks"][0]["inputs"] = {"in", "files"};
  job["sinks"][0].erase("input");
  const Ended mixed = RunToEnd(folder_, {"validate", WriteJob(folder_, job)});
  EXPECT_EQ(mixed.code, kBadUsage);
  ExpectSays(mixed.output, {"/sources/1", "positions"});
}

}  // namespace
}  // namespace weir::job_test
