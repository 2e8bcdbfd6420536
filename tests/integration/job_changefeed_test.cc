// Changefeeds of many tables into PostgreSQL, by the parent/child workload: 5 partitions of 2 topics, rows of one
// source transaction in several of them. A reader that runs all along takes the marker's frontier and both tables in
// one snapshot, which must be the source as of that time. WEIR_TORTURE=1 makes it longer.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/random.h"
#include "connectors/format/hlc.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/job_definitions.h"
#include "tests/integration/job_http.h"
#include "tests/integration/parent_child.h"

namespace weir::job_test {
namespace {

using operators::EventTime;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

class JobChangefeedTest : public testing::Test {
 protected:
  static constexpr int kPartitions = 5;

  explicit JobChangefeedTest(bool redelivers = true)
      : feed_({.seed = NewSystemRandom()->Next(),
               .prefix = world_->NewName("family") + ".Public.",
               .partitions = kPartitions,
               .redelivers = redelivers}) {
    for (const std::string& topic : {feed_.parent_topic(), feed_.child_topic()}) {
      EXPECT_EQ(world_->CreateTopic(topic, kPartitions).ToString(), "ok");
    }
  }

  void CreateTables(bool foreign_keys) {
    ASSERT_TRUE(postgres_->Run("CREATE TABLE parent (id bigint PRIMARY KEY, value bigint NOT NULL)").ok());
    const std::string reference = foreign_keys ? " REFERENCES parent (id)" : "";
    ASSERT_TRUE(postgres_
                    ->Run("CREATE TABLE child (id bigint PRIMARY KEY, parent bigint NOT NULL" + reference +
                          ", value bigint NOT NULL)")
                    .ok());
  }

  Json Job(const std::string& name) {
    Json job = EmptyJob(folder_, name);
    job["parallelism"] = 2;
    Json source = KafkaSource(*world_, "feed", feed_.parent_topic(), "cockroachdb");
    source["topics"] = {feed_.parent_topic(), feed_.child_topic()};
    source["metadata"] = {{"table", "t"}, {"key", "k"}};
    job["sources"].push_back(source);
    job["operators"].push_back({{"id", "by_key"}, {"type", "key_by"}, {"input", "feed"}, {"keys", {"t", "k"}}});
    return job;
  }
  Json Sink(const std::string& input) {
    return {{"id", "target"},      {"connector", "postgres"}, {"input", input}, {"connection", postgres_->conninfo()},
            {"table-column", "t"}, {"key-column", "k"}};
  }
  Json ConsistentJob() {
    Json job = Job("family");
    job["sources"][0]["frontier"] = {{"release-rows-max", 20}};
    job["operators"].push_back({{"id", "ordered"}, {"type", "sequence"}, {"input", "by_key"}});
    job["sinks"].push_back(Sink("ordered"));
    return job;
  }

  void Send(const std::vector<FeedMessage>& messages) {
    std::map<std::pair<std::string, int32_t>, std::vector<kafka_test::TestRecord>> records;
    for (const FeedMessage& message : messages) {
      records[{message.topic, message.partition}].push_back({message.key, message.value});
    }
    for (const auto& [place, list] : records) world_->Append(place.first, place.second, list);
  }

  // What the target shows in one snapshot, and whether that is the source as of its frontier.
  void Look() {
    const Lines rows = postgres_->Query(ParentChildTables("family"));
    if (rows.size() != 1 || rows[0].starts_with("null|") || rows[0].starts_with("ERROR")) return;
    const std::string frontier = rows[0].substr(0, rows[0].find('|'));
    const std::optional<EventTime> time = connectors::ParseHlc(frontier);
    ASSERT_TRUE(time.has_value()) << rows[0];
    ASSERT_GE(*time, frontier_) << "the frontier fell";
    frontier_ = *time;
    seen_.insert(frontier);
    const Family& family = replay_.AdvanceTo(*time);
    ASSERT_EQ(rows[0], frontier + "|" + family.ParentsText() + "|" + family.ChildrenText());
  }
  bool TargetIsLatest() {
    const Lines rows = postgres_->Query(ParentChildTables({}));
    return rows.size() == 1 &&
           rows[0].substr(rows[0].find('|') + 1) == feed_.latest().ParentsText() + "|" + feed_.latest().ChildrenText();
  }

  // A third of the rows comes before their parents. Each tenth iteration ends the process; with `faults` the next one
  // dies there by itself, one after the other.
  void BestEffort(const char* delivery, int iterations, std::vector<std::string> faults) {
    CreateTables(true);
    Json job = Job("family");
    job["operators"].push_back({{"id", "newest"}, {"type", "deduplicate"}, {"input", "by_key"}});
    Json sink = Sink("newest");
    sink["on-missing-parent"] = "wait";
    sink["delivery"] = delivery;
    job["sinks"].push_back(sink);
    const std::string definition = WriteJob(folder_, job);
    const auto start = [&] {
      Environment environment;
      if (!faults.empty()) {
        environment.emplace_back("WEIR_FAULT", faults.back());
        faults.pop_back();
      }
      return std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"}, environment);
    };
    auto weir = start();
    for (int i = 1; i <= iterations && !HasFailure(); ++i) {
      Send(feed_.Iterate());
      if (IsPrime(i) || i == iterations) Send(feed_.Resolve());
      LookForFrontier();
      if (i % 5 != 0) continue;
      Pause(milliseconds(300));
      weir->Kill9();
      weir = start();
    }
    const auto settled = [&] {
      return TargetIsLatest() && postgres_->Query("SELECT count(*) FROM weir_waiting") == Lines{"0"};
    };
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      LookForFrontier();
      return settled() || !weir->Running() || HasFailure();
    })) << weir->Output();
    EXPECT_TRUE(settled()) << weir->Output();
    EXPECT_EQ(postgres_->Query("SELECT last_value > 3 FROM weir_waiting_seq_seq"), (Lines{"t"})) << "some have waited";
    EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
  }
  // Where the marker shows a frontier, that is what the target is.
  void LookForFrontier() {
    const Lines rows = postgres_->Query(ParentChildTables("family"));
    if (rows.size() != 1 || rows[0].starts_with("null|") || rows[0].starts_with("ERROR")) return;
    const std::optional<EventTime> time = connectors::ParseHlc(rows[0].substr(0, rows[0].find('|')));
    ASSERT_TRUE(time.has_value()) << rows[0];
    ParentChild::Replay replay(feed_);
    const Family& family = replay.AdvanceTo(*time);
    ASSERT_EQ(rows[0].substr(rows[0].find('|') + 1), family.ParentsText() + "|" + family.ChildrenText());
    seen_.insert(rows[0]);
  }

  const std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  JobFolder folder_;
  ParentChild feed_;
  ParentChild::Replay replay_{feed_};
  EventTime frontier_ = EventTime::Min();
  std::set<std::string> seen_;  // frontiers
};

TEST_F(JobChangefeedTest, B19_B20_B29_EachAppliedCheckpointIsTheSourceAsOfTheFrontier) {
  CreateTables(true);
  const std::string definition = WriteJob(folder_, ConsistentJob());
  Weir weir(folder_, {"run", definition, "--quiet"});
  const int iterations = Torture() ? 2'500 : 25;
  for (int i = 1; i <= iterations && !HasFailure(); ++i) {
    Send(feed_.Iterate());
    if (IsPrime(i) || i == iterations) Send(feed_.Resolve());
    Look();
    ASSERT_TRUE(weir.Running()) << weir.Output();
  }
  EXPECT_TRUE(Eventually(seconds(60), [&] {
    Look();
    return TargetIsLatest() || !weir.Running() || HasFailure();
  })) << weir.Output();
  EXPECT_TRUE(TargetIsLatest()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  Look();
  EXPECT_GE(seen_.size(), 3U) << "the reader has seen it grow";
}

TEST_F(JobChangefeedTest, B23_B29_KilledAgainAndAgainItIsNeverTornAndEndsExact) {
  CreateTables(true);
  const std::string definition = WriteJob(folder_, ConsistentJob());
  const auto random = NewSystemRandom();
  auto weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  const int iterations = Torture() ? 500 : 25;
  int kills = 0;
  for (int i = 1; i <= iterations && !HasFailure(); ++i) {
    Send(feed_.Iterate());
    if (IsPrime(i) || i == iterations) Send(feed_.Resolve());
    Look();
    if (i % 5 != 0) continue;
    Pause(milliseconds(random->Below(600)));
    Look();
    weir->Kill9();
    ++kills;
    const std::string parallelism = std::to_string(1 + random->Below(3));
    weir =
        std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet", "--set", "parallelism=" + parallelism});
  }
  EXPECT_TRUE(Eventually(seconds(60), [&] {
    Look();
    return TargetIsLatest() || !weir->Running() || HasFailure();
  })) << weir->Output();
  EXPECT_TRUE(TargetIsLatest()) << weir->Output();
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
  EXPECT_GE(kills, 5);
}

// Rows go in as they come, the newest version of a key wins, and there are no foreign keys.
TEST_F(JobChangefeedTest, B12_B21_B29_ImmediateModeEndsWithTheNewestVersions) {
  CreateTables(false);
  Json job = Job("family");
  job["operators"].push_back({{"id", "newest"}, {"type", "deduplicate"}, {"input", "by_key"}});
  job["sinks"].push_back(Sink("newest"));
  const std::string definition = WriteJob(folder_, job);
  auto weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  const int iterations = Torture() ? 500 : 25;
  for (int i = 1; i <= iterations; ++i) {
    Send(feed_.Iterate());
    if (i % 10 != 0) continue;
    Pause(milliseconds(300));
    weir->Kill9();
    weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  }
  EXPECT_TRUE(Eventually(seconds(60), [&] { return TargetIsLatest() || !weir->Running(); })) << weir->Output();
  EXPECT_TRUE(TargetIsLatest()) << weir->Output();
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
}

// Rows go in as they come, although constraints that can't be deferred hold at each statement: those whose parents are
// missing, or whose children are still there, wait in the target.
TEST_F(JobChangefeedTest, B21_B29_BestEffortWithForeignKeysEndsExact) {
  BestEffort("exactly-once", Torture() ? 500 : 25, {});
}

TEST_F(JobChangefeedTest, B21_B29_BestEffortAtLeastOnceEndsExact) {
  BestEffort("at-least-once", Torture() ? 500 : 25, {});
}

// A row is nowhere marked as done before it is there.
TEST_F(JobChangefeedTest, Weakness_f_ACrashAroundTheCommitLosesNothingThatWaits) {
  BestEffort("exactly-once", Torture() ? 200 : 25,
             {"postgres.before-commit:3:kill", "postgres.after-commit:2:kill", "postgres.before-commit:2:kill",
              "postgres.after-commit:4:kill"});
}

// The members of a group share the partitions; rows carry their time, by which the target knows what is older, also
// after a deletion.
TEST_F(JobChangefeedTest, B29_B30_TwoProcessesShareTheFeedAndOneIsKilled) {
  CreateTables(false);
  for (const char* table : {"parent", "child"}) {
    ASSERT_TRUE(postgres_->Run(std::string("ALTER TABLE ") + table + " ADD u numeric(30, 10)").ok());
  }
  Json job = Job("family");
  job["parallelism"] = 1;
  job["operators"] = Json::array();
  Json& source = job["sources"][0];
  source["assignment"] = "group";
  source["group"] = world_->NewName("members");
  source["metadata"]["updated"] = "u";
  source["properties"] = {{"session.timeout.ms", 3000}, {"heartbeat.interval.ms", 200}};
  Json sink = Sink("feed");
  sink["delivery"] = "at-least-once";
  sink["version-column"] = "u";
  job["sinks"].push_back(sink);
  const std::string definition = WriteJob(folder_, job);
  const auto start = [&](const char* instance) {
    return std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet", "--instance", instance});
  };
  auto left = start("left");
  auto right = start("right");
  const int iterations = Torture() ? 500 : 50;
  for (int i = 1; i <= iterations; ++i) {
    Send(feed_.Iterate());
    if (IsPrime(i)) Send(feed_.Resolve());
    if (i == iterations / 2) {
      EXPECT_TRUE(Eventually(seconds(30), [&] { return TargetIsLatest(); })) << left->Output();
      right->Kill9();
    }
    Pause(milliseconds(20));
  }
  EXPECT_TRUE(Eventually(seconds(60), [&] { return TargetIsLatest() || !left->Running(); })) << left->Output();
  EXPECT_TRUE(TargetIsLatest()) << left->Output();
  right = start("right");
  for (int i = 0; i < 10; ++i) Send(feed_.Iterate());
  EXPECT_TRUE(Eventually(seconds(60), [&] { return TargetIsLatest(); })) << left->Output() << right->Output();
  EXPECT_EQ(left->Stop(), kOk) << left->Output();
  EXPECT_EQ(right->Stop(), kOk) << right->Output();
}

// A silent partition holds the frontier back while the other brings far more than fits into memory.
TEST_F(JobChangefeedTest, B18_B44_WhatWaitsSpillsAndThenDrainsExactly) {
  constexpr int64_t kRowBytes = 2'000;
  const int64_t state_bytes = Torture() ? 256 << 20 : 24 << 20;
  const int64_t rows = (Torture() ? int64_t{5} << 30 : 150 << 20) / kRowBytes;
  ASSERT_TRUE(postgres_->Run("CREATE TABLE wide (id bigint PRIMARY KEY, pad text NOT NULL)").ok());
  const std::string topic = world_->NewName("wide") + ".wide";
  ASSERT_EQ(world_->CreateTopic(topic, 2).ToString(), "ok");
  Json job = Job("wide");
  job["state"] = {{"bytes-max", state_bytes}};
  job["checkpoint"]["interval"] = "1s";
  Json& source = job["sources"][0];
  source["topics"] = {topic};
  source["group"] = world_->NewName("watched");
  source["frontier"] = {{"release-rows-max", 5'000}};
  job["operators"].push_back({{"id", "ordered"}, {"type", "sequence"}, {"input", "by_key"}});
  job["sinks"].push_back(Sink("ordered"));
  Weir weir(folder_, {"run", WriteJob(folder_, job), "--quiet"});

  constexpr int64_t kBegin = 1'700'000'000'000'000'000;
  const std::string pad(static_cast<size_t>(kRowBytes) - 100, 'x');
  for (int64_t id = 0; id < rows;) {
    std::vector<kafka_test::TestRecord> block;
    for (int i = 0; i < 1'000 && id < rows; ++i, ++id) {
      const std::string number = std::to_string(id);
      block.push_back({"[" + number + "]", "{\"after\":{\"id\":" + number + ",\"pad\":\"" + pad + "\"},\"updated\":\"" +
                                               std::to_string(kBegin + id) + ".0000000000\"}"});
    }
    world_->Append(topic, 0, block);
  }
  const std::string resolved = "{\"resolved\":\"" + std::to_string(kBegin + rows) + ".0000000000\"}";
  world_->Append(topic, 0, {{std::nullopt, resolved}});
  const auto admin = world_->NewAdmin();
  const std::vector<connectors::TopicPartition> first = {{topic, 0}};
  EXPECT_TRUE(Eventually(seconds(1'200), [&] {
    const auto offsets = admin->CommittedOffsets(source["group"], first);
    return (offsets.has_value() && (*offsets)[0] == rows + 1) || !weir.Running();
  })) << weir.Output();
  EXPECT_EQ(postgres_->Query("SELECT count(*) FROM wide"), (Lines{"0"})) << "the other partition holds it back";
  world_->Append(topic, 1, {{std::nullopt, resolved}});
  const std::string all = std::to_string(rows) + "|" + std::to_string(rows * (rows - 1) / 2);
  EXPECT_TRUE(Eventually(seconds(1'200), [&] {
    return postgres_->Query("SELECT count(*), sum(id) FROM wide") == Lines{all} || !weir.Running();
  })) << weir.Output();
  EXPECT_EQ(postgres_->Query("SELECT count(*), sum(id) FROM wide"), (Lines{all}));
  const std::string status = ReadText("/proc/" + std::to_string(weir.pid()) + "/status");
  const int64_t peak = 1'024 * std::stoll(status.substr(status.find("VmHWM:") + 6));
  EXPECT_LE(peak, state_bytes + (200 << 20));
  std::printf("%lld rows of %lld bytes waited, state %lld MiB, peak %lld MiB\n", static_cast<long long>(rows),
              static_cast<long long>(kRowBytes), static_cast<long long>(state_bytes >> 20),
              static_cast<long long>(peak >> 20));
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

// The feed tells of years ago and resolves nothing: rows go in as they come. Then it tells of now: from there on the
// target is the source as of the frontier again.
TEST_F(JobChangefeedTest, B42_FarBehindRowsGoInAsTheyComeAndThenTheTargetIsConsistentAgain) {
  CreateTables(true);
  Json job = ConsistentJob();
  job["metrics"] = {{"port", 0}};
  job["operators"][1]["best-effort-window"] = "200s";
  job["sinks"][0]["on-missing-parent"] = "wait";
  const std::string definition = WriteJob(folder_, job);
  {
    Weir killed(folder_, {"run", definition});
    for (int i = 0; i < 5; ++i) Send(feed_.Iterate());
    EXPECT_TRUE(Eventually(seconds(60), [&] { return TargetIsLatest() || !killed.Running(); })) << killed.Output();
    killed.Kill9();
  }
  Weir weir(folder_, {"run", definition});
  const JobHttp http(weir);
  for (int i = 0; i < 5; ++i) Send(feed_.Iterate());
  EXPECT_TRUE(Eventually(seconds(60), [&] { return TargetIsLatest() || !weir.Running(); })) << weir.Output();
  Look();
  EXPECT_EQ(seen_.size(), 0U) << "a frontier, though nothing is resolved";
  EXPECT_EQ(http.Metric("weir_best_effort"), 2) << "both subtasks";

  feed_.SkipTo(WallMs() * 1'000'000);
  for (int i = 1; i <= 15 && !HasFailure(); ++i) {
    Send(feed_.Iterate());
    Send(feed_.Resolve());
    Look();
    ASSERT_TRUE(weir.Running()) << weir.Output();
    Pause(milliseconds(50));
  }
  EXPECT_TRUE(Eventually(seconds(60), [&] {
    Look();
    return (TargetIsLatest() && frontier_.Next() == feed_.now()) || !weir.Running() || HasFailure();
  })) << weir.Output();
  EXPECT_TRUE(TargetIsLatest()) << weir.Output();
  EXPECT_EQ(http.Metric("weir_best_effort"), 0) << weir.Output();
  EXPECT_EQ(http.Metric("weir_mode_switches_total"), 2) << weir.Output();
  int shown = 0;
  const Json diagnostics = http.Diagnostics();
  for (const Json& each : diagnostics["metrics"]["named"]) {
    shown += each["uid"] == "ordered" && each["name"] == "best_effort" && each["value"] == 0 ? 1 : 0;
  }
  EXPECT_EQ(shown, 2);
  EXPECT_TRUE(weir.Says("consistent from now on")) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
}

}  // namespace
}  // namespace weir::job_test
