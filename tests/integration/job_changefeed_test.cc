// Changefeeds of many tables into PostgreSQL (job_changefeed.h): what the target shows against the source, with
// processes that are killed, and with more than fits into memory. WEIR_TORTURE=1 makes it longer.
#include "tests/integration/job_changefeed.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/random.h"
#include "connectors/format/hlc.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(JobChangefeedTest, B19_B20_B29_Weakness_m_EachAppliedCheckpointIsTheSourceAsOfTheFrontier) {
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

TEST_F(JobChangefeedTest, B23_B29_Weakness_f_KilledAgainAndAgainItIsNeverTornAndEndsExact) {
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

// Down in the middle of a run and at a start: what comes meanwhile waits sealed in the storage.
TEST_F(JobChangefeedTest, B31_WhileTheTargetIsDownTheFeedIsStagedAndThenReplayed) {
  CreateTables(true);
  const std::string definition = WriteJob(folder_, ConsistentJob());
  auto weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  const auto feed = [&](int iterations) {
    for (int i = 0; i < iterations; ++i) Send(feed_.Iterate());
    Send(feed_.Resolve());
  };
  const auto arrives = [&] {
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      Look();
      return TargetIsLatest() || !weir->Running() || HasFailure();
    })) << weir->Output();
    EXPECT_TRUE(TargetIsLatest()) << weir->Output();
  };
  const auto staged = [&] { return FilesUnder(folder_.Path("checkpoints/family/output")).size(); };
  feed(3);
  arrives();
  postgres_->Crash();
  for (const bool at_a_start : {false, true}) {
    const size_t before = staged();
    if (at_a_start) {
      weir->Kill9();
      weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
    }
    feed(3);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return staged() > before + 2; })) << weir->Output();
  }
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  arrives();
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
}

// Rows go in as they come, the newest version of a key wins, and there are no foreign keys.
TEST_F(JobChangefeedTest, B12_B21_B29_ImmediateModeEndsWithTheNewestVersions) {
  CreateTables(false);
  const std::string definition = WriteJob(folder_, ImmediateJob());
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

// Somebody else edits the target; an update of the source keeps what it does not change.
TEST_F(JobChangefeedTest, B37_BothSidesChangeARowAndBothChangesStay) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE stock (id bigint PRIMARY KEY, qty bigint, place text, note text)").ok());
  const std::string topic = world_->NewName("shop") + ".stock";
  ASSERT_EQ(world_->CreateTopic(topic, 1).ToString(), "ok");
  Json job = Job("merging");
  job["sources"][0]["topics"] = {topic};
  job["operators"].push_back({{"id", "ordered"}, {"type", "sequence"}, {"input", "by_key"}});
  Json sink = Sink("ordered");
  sink["dead-letter-table"] = "dead";
  sink["tables"]["stock"] = {
      {"on-conflict", "merge"},
      {"merge", {{"columns", {{"qty", "$target + ($proposed - $before)"}}}, {"otherwise", "dead-letter"}}}};
  job["sinks"].push_back(sink);
  const std::string definition = WriteJob(folder_, job);
  auto weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  int64_t second = 1'700'000'000;
  const auto row = [](int64_t id, int64_t qty, const std::string& place) {
    return "{\"id\":" + std::to_string(id) + ",\"qty\":" + std::to_string(qty) + ",\"place\":\"" + place +
           "\",\"note\":null}";
  };
  const auto time = [&] { return "\"" + std::to_string(second) + "000000000.0000000000\""; };
  const auto send = [&](int64_t id, const std::string& before, const std::string& after) {
    world_->Append(topic, 0,
                   {{"[" + std::to_string(id) + "]",
                     "{\"before\":" + before + ",\"after\":" + after + ",\"updated\":" + time() + "}"}});
  };
  const auto resolve = [&] {
    ++second;
    world_->Append(topic, 0, {{std::nullopt, "{\"resolved\":" + time() + "}"}});
  };
  const auto shows = [&](const Lines& rows) {
    const std::string all = "SELECT * FROM stock ORDER BY id";
    EXPECT_TRUE(Eventually(seconds(60), [&] { return postgres_->Query(all) == rows || !weir->Running(); }));
    EXPECT_EQ(postgres_->Query(all), rows) << weir->Output();
  };
  for (int64_t id = 1; id <= 3; ++id) send(id, "null", row(id, 10, "A"));
  resolve();
  shows({"1|10|A|null", "2|10|A|null", "3|10|A|null"});
  ASSERT_TRUE(postgres_
                  ->Run("UPDATE stock SET note = 'theirs', qty = 15 WHERE id = 1;"
                        "UPDATE stock SET place = 'B' WHERE id IN (2, 3)")
                  .ok());
  weir->Kill9();
  send(1, row(1, 10, "A"), row(1, 7, "C"));
  send(2, row(2, 10, "A"), row(2, 10, "C"));
  send(3, row(3, 10, "A"), "null");
  resolve();
  weir = std::make_unique<Weir>(folder_, Arguments{"run", definition, "--quiet"});
  shows({"1|12|C|theirs", "2|10|B|null", "3|10|B|null"});
  EXPECT_EQ(
      postgres_->Query("SELECT key, kind, row->'before'->>'place', row->'target'->>'place' FROM dead ORDER BY key"),
      (Lines{"(id)=(2)|conflict|A|B", "(id)=(3)|conflict|A|B"}));
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
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

// The last rows are older than the end of the range: the marker names the end all the same.
TEST_F(JobChangefeedTest, B27_TheMarkerNamesTheEndOfTheRange) {
  CreateTables(true);
  for (int i = 0; i < 5; ++i) Send(feed_.Iterate());
  Send(feed_.Resolve());
  const operators::EventTime end = feed_.now();
  for (int i = 0; i < 5; ++i) Send(feed_.Iterate());
  Send(feed_.Resolve());
  Json job = ConsistentJob();
  std::string text;
  connectors::AppendHlc(end, text);
  job["sources"][0]["max-timestamp"] = text;
  const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job), "--quiet"});
  EXPECT_EQ(ended.code, kOk) << ended.output;
  Look();
  EXPECT_EQ(frontier_, end.Previous());
}

}  // namespace
}  // namespace weir::job_test
