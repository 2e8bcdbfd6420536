// Whole jobs into a real PostgreSQL that crashes and comes back, refuses rows, or has lost the job's marker.
// WEIR_TORTURE=1 crashes it more often.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "tests/integration/job_definitions.h"
#include "tests/integration/job_orders.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

constexpr int kOutputWaits = 5;

class JobPostgresTest : public testing::Test {
 protected:
  // Lines of JSON from "in-*.jsonl" into table t.
  Json TableJob(const Json& more = Json::object()) {
    Json job = EmptyJob(folder_, "tables");
    job["sources"] = {FileSource(folder_, "in", "in-*.jsonl", false)};
    Json sink = {{"id", "out"},
                 {"connector", "postgres"},
                 {"input", "in"},
                 {"connection", postgres_->conninfo()},
                 {"table", "t"}};
    sink.update(more);
    job["sinks"] = {sink};
    return job;
  }
  Ended Run(const std::string& definition) { return RunToEnd(folder_, {"run", definition, "--quiet"}); }

  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  JobFolder folder_;
};

// Down at the start of a process, in the middle, at its end: the job goes on, and nothing is lost or doubled.
TEST_F(JobPostgresTest, B31_TheJobOutlivesAServerThatCrashesAndOneThatIsNotThereYet) {
  const auto world = kafka_test::NewRealWorld();
  OrdersJob job(*world, folder_, 7, 300, postgres_.get());
  const auto random = NewSystemRandom();
  const auto begin = [&] { return Weir(folder_, {"run", job.definition(), "--quiet", "--set", "parallelism=2"}); };
  auto weir = std::make_unique<Weir>(begin());
  const int rounds = std::getenv("WEIR_TORTURE") != nullptr ? 20 : 3;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    job.Feed(5'000);
    Pause(milliseconds(random->Below(800)));
    postgres_->Crash();
    job.Feed(2'000);
    if (round % 2 == 1) {
      weir->Kill9();
      weir = std::make_unique<Weir>(begin());
    }
    Pause(milliseconds(500 + random->Below(500)));
    ASSERT_EQ(postgres_->Restart().ToString(), "ok");
    EXPECT_TRUE(weir->Running()) << weir->Output();
  }
  job.Feed(100);
  EXPECT_TRUE(Eventually(seconds(90), [&] {
    return (job.FilesComplete() && job.ExactTopicComplete() && job.TablesComplete()) || !weir->Running();
  }));
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
  job.ExpectExactFiles();
  job.ExpectExactTopic();
  job.ExpectExactTables();
}

TEST_F(JobPostgresTest, ARefusedRowStopsTheJobAndIsAppliedWhenTheTableIsMended) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE t (id bigint PRIMARY KEY, n bigint CHECK (n < 10))").ok());
  folder_.Write("in-1.jsonl", "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":99}\n{\"id\":3,\"n\":3}\n");
  const std::string definition = WriteJob(folder_, TableJob());
  const Ended refused = Run(definition);
  EXPECT_EQ(refused.code, kJobFailed) << refused.output;
  ExpectSays(refused.output, {"public.t", "(id)=(2)", "23514", "t_n_check"});
  EXPECT_EQ(postgres_->Query("SELECT * FROM t"), Lines());
  const Ended again = Run(definition);
  EXPECT_EQ(again.code, kJobFailed) << again.output;
  ASSERT_TRUE(postgres_->Run("ALTER TABLE t DROP CONSTRAINT t_n_check").ok());
  const Ended applied = Run(definition);
  EXPECT_EQ(applied.code, kOk) << applied.output;
  EXPECT_EQ(postgres_->Query("SELECT * FROM t ORDER BY id"), (Lines{"1|1", "2|99", "3|3"}));
}

// The policy is today's, not the one of the sealed segment.
TEST_F(JobPostgresTest, ARefusedRowGoesToTheDeadLettersOnceTheyAreAllowed) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE t (id bigint PRIMARY KEY, n bigint CHECK (n < 10))").ok());
  folder_.Write("in-1.jsonl", "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":99}\n");
  EXPECT_EQ(Run(WriteJob(folder_, TableJob())).code, kJobFailed);
  const Ended applied = Run(WriteJob(folder_, TableJob({{"dead-letter-table", "dead"}})));
  EXPECT_EQ(applied.code, kOk) << applied.output;
  EXPECT_EQ(postgres_->Query("SELECT * FROM t"), (Lines{"1|1"}));
  EXPECT_EQ(postgres_->Query("SELECT target, key, row FROM dead"),
            (Lines{"public.t|(id)=(2)|{\"id\":\"2\",\"n\":\"99\"}"}));
}

TEST_F(JobPostgresTest, AMarkerThatIsGoneRefusesTheStart) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE t (id bigint PRIMARY KEY)").ok());
  folder_.Write("in-1.jsonl", "{\"id\":1}\n");
  Json job = TableJob();
  job["sources"] = {FileSource(folder_, "in", "in-*.jsonl", true)};
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition, "--quiet"});
    // The checkpoint behind a second row knows the marker of the first.
    for (const char* id : {"1", "2"}) {
      EXPECT_TRUE(Eventually(seconds(30), [&] { return postgres_->Query("SELECT max(id) FROM t") == Lines{id}; }));
      folder_.Append("in-1.jsonl", "{\"id\":2}\n");
    }
    weir.Kill9();
  }
  const Lines marker = postgres_->Query("DELETE FROM weir_markers RETURNING job");
  EXPECT_EQ(marker, (Lines{"tables"}));
  // What says that all had been applied would do in its place.
  for (const std::string& file : FilesUnder(folder_.Path("checkpoints/tables/applied"))) std::remove(file.c_str());
  const Ended refused = Run(definition);
  EXPECT_EQ(refused.code, kStartRefused) << refused.output;
  ExpectSays(refused.output, {"postgres:", "marker"});
  EXPECT_EQ(postgres_->Query("SELECT * FROM t ORDER BY id"), (Lines{"1", "2"}));
}

// What waits is named, and the next start applies it.
TEST_F(JobPostgresTest, Scenario12_AJobStoppedWhileTheServerIsDownLeavesItsOutputToTheNextStart) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE t (id bigint)").ok());
  folder_.Write("in-1.jsonl", "{\"id\":1}\n");
  Json job = TableJob({{"mode", "append"}});
  job["sources"] = {FileSource(folder_, "in", "in-*.jsonl", true)};
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition, "--quiet"});
    EXPECT_TRUE(Eventually(seconds(30), [&] { return postgres_->Query("SELECT * FROM t") == Lines{"1"}; }));
    postgres_->Crash();
    folder_.Append("in-1.jsonl", "{\"id\":2}\n");
    EXPECT_TRUE(Eventually(seconds(30), [&] { return weir.Says("does not take output"); })) << weir.Output();
    EXPECT_EQ(weir.Stop(), kOutputWaits) << weir.Output();
    ExpectSays(weir.Output(), {"postgres:", "1 row"});
  }
  ASSERT_EQ(postgres_->Restart().ToString(), "ok");
  Weir weir(folder_, {"run", definition, "--quiet"});
  EXPECT_TRUE(Eventually(seconds(30), [&] { return postgres_->Query("SELECT count(*) FROM t") == Lines{"2"}; }));
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  EXPECT_EQ(postgres_->Query("SELECT id FROM t ORDER BY id"), (Lines{"1", "2"}));
}

TEST_F(JobPostgresTest, AtLeastOnceEndsInTheSameTableWhateverHappens) {
  ASSERT_TRUE(postgres_->Run("CREATE TABLE t (id bigint PRIMARY KEY, n bigint)").ok());
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    lines += "{\"id\":" + std::to_string(i % 5'000) + ",\"n\":" + std::to_string(i) + "}\n";
  }
  folder_.Write("in-1.jsonl", lines);
  Json job = TableJob({{"delivery", "at-least-once"}});
  job["restart"] = {{"strategy", "fixed-delay"}, {"delay", "100ms"}};
  const std::string definition = WriteJob(folder_, job);
  {
    Weir weir(folder_, {"run", definition, "--quiet"});
    EXPECT_TRUE(Eventually(seconds(30), [&] { return postgres_->Query("SELECT count(*) FROM t") != Lines{"0"}; }));
    weir.Kill9();
  }
  const Ended ended = Run(definition);
  EXPECT_EQ(ended.code, kOk) << ended.output;
  EXPECT_EQ(postgres_->Query("SELECT count(*), min(n), max(n), sum(n - id) FROM t"),
            (Lines{"5000|15000|19999|75000000"}));
}

}  // namespace
}  // namespace weir::job_test
