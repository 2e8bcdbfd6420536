// Exactly once into PostgreSQL by whole jobs on a real server: connections cut at their COMMIT, zombies, copies of the
// storage. The numbers are those of the scenarios in the checkpoint protocol. WEIR_TORTURE=1 does it more often.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <iostream>

#include "base/random.h"
#include "tests/harness/cutting_proxy.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/job_copy.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using harness::CuttingProxy;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

constexpr int kKeys = 7;
constexpr char kShortIdle[] = " options='-c idle_in_transaction_session_timeout=1s'";

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

// Numbers from a file into table `added`, which has no key, and, the last of each key, into table `kept`.
class JobPostgresExactTest : public CopyTest {
 protected:
  JobPostgresExactTest() {
    Sql("CREATE TABLE added (seq bigserial, k bigint, n bigint)");
    Sql("CREATE TABLE kept (k bigint PRIMARY KEY, n bigint)");
    folder_.Write("in.jsonl", "");
    Define(postgres_->conninfo());
  }

  void Define(const std::string& connection, const std::string& fence_timeout = "5s") {
    Json job = EmptyJob(folder_, "tables");
    job["sources"] = {FileSource(folder_, "in", "in.jsonl", true)};
    for (const auto& [table, mode] : {std::pair("added", "append"), std::pair("kept", "upsert")}) {
      job["sinks"].push_back({{"id", table},
                              {"connector", "postgres"},
                              {"input", "in"},
                              {"connection", connection},
                              {"table", table},
                              {"mode", mode},
                              {"fence-timeout", fence_timeout}});
    }
    definition_ = WriteJob(folder_, job);
  }
  void Feed(int count) override {
    std::string lines;
    for (const int end = fed_ + count; fed_ < end; ++fed_) {
      lines += "{\"k\":" + std::to_string(fed_ % kKeys) + ",\"n\":" + std::to_string(fed_) + "}\n";
    }
    folder_.Append("in.jsonl", lines);
  }
  bool AllOut() override {
    return Eventually(seconds(60),
                      [&] { return std::stoi(postgres_->Query("SELECT count(*) FROM added").front()) >= fed_; });
  }
  void ExpectExact() override {
    Lines added;
    for (int n = 0; n < fed_; ++n) added.push_back(std::to_string(n % kKeys) + "|" + std::to_string(n));
    EXPECT_EQ(postgres_->Query("SELECT k, n FROM added ORDER BY seq"), added);
    EXPECT_EQ(postgres_->Query("SELECT k, n FROM kept ORDER BY n"), Lines(added.end() - kKeys, added.end()));
  }

  void Sql(const std::string& statement) { EXPECT_EQ(postgres_->Run(statement).ToString(), "ok") << statement; }
  // The server still works at rows for a table when the process stops, and then has them in an open transaction.
  void FreezeInATransaction(Weir& weir) {
    const std::string table = random_->OneIn(2) ? "added" : "kept";
    Sql("BEGIN; LOCK TABLE " + table + " IN SHARE MODE");
    Feed(100);
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      return postgres_->Query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '" + table + "'::regclass") ==
             Lines{"1"};
    })) << weir.Output();
    weir.Freeze();
    Sql("COMMIT");
  }
  // Mostly in a transaction too, and anywhere in it.
  void FreezeAtARandomMoment(Weir& weir) {
    Feed(20'000);  // takes a while
    Eventually(seconds(10), [&] { return Sessions(" AND xact_start IS NOT NULL") > 0; });
    Pause(milliseconds(random_->Below(50)));
    weir.Freeze();
  }
  bool MarkerIsHeld() { return postgres_->Query("SELECT job FROM weir_markers FOR UPDATE SKIP LOCKED").empty(); }
  size_t Sessions(const std::string& more = "") {
    return postgres_->Query("SELECT pid FROM pg_stat_activity WHERE application_name = 'weir'" + more).size();
  }

  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  const std::unique_ptr<Random> random_ = NewSystemRandom();
  int fed_ = 0;
};

TEST_F(JobPostgresExactTest, case_H67_ConnectionsCutAtTheirCommit) {
  using enum CuttingProxy::Cut;
  constexpr std::array kCuts = {kCommitLost, kAnswerLost, kCommitLate};
  const auto started = CuttingProxy::Start(postgres_->socket_path());
  ASSERT_TRUE(started.has_value()) << started.error().ToString();
  CuttingProxy& proxy = **started;
  Define("host=127.0.0.1 port=" + std::to_string(proxy.port()) + " user=weir dbname=postgres");
  std::optional<Weir> weir = Begin();
  std::array<int, 2> outcomes = {};  // lost, committed
  int kills = 0;
  const size_t cuts = Torture() ? 50 : 5;
  for (size_t i = 0; i < cuts; ++i) {
    const CuttingProxy::Cut cut = kCuts.at(i < kCuts.size() ? i : random_->Below(kCuts.size()));
    proxy.CutNext(cut, "\"added\"");
    Feed(1 + static_cast<int>(random_->Below(2000)));
    ASSERT_TRUE(Eventually(seconds(60), [&] { return proxy.committed().has_value(); })) << weir->Output();
    const bool committed = *proxy.committed();
    if (cut != kCommitLate) {  // that one may come too late
      EXPECT_EQ(committed, cut == kAnswerLost);
    }
    ++outcomes.at(committed ? 1 : 0);
    ASSERT_TRUE(weir->Running()) << weir->Output();
    if (i % 5 == 3) {  // and the COMMIT of the next start's fence is cut as well
      proxy.CutNext(kCuts.at(random_->Below(kCuts.size())), "lock_timeout");
      weir->Kill9();
      weir.emplace(Begin());
      EXPECT_TRUE(Eventually(seconds(60), [&] { return proxy.committed().has_value(); })) << weir->Output();
      ++kills;
    } else if (random_->OneIn(2)) {  // otherwise what was cut and what follows may come to one transaction
      ASSERT_TRUE(AllOut()) << weir->Output();
    }
  }
  ASSERT_TRUE(AllOut()) << weir->Output();
  EXPECT_EQ(weir->Stop(), kOk) << weir->Output();
  ExpectExact();
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
  std::cout << cuts << " COMMITs cut: " << outcomes[1] << " done, " << outcomes[0] << " not; " << kills
            << " kills, each with a fence cut; " << fed_ << " rows\n";
}

TEST_F(JobPostgresExactTest, AProcessThatStoodStillGoesOnExactly) {
  Define(postgres_->conninfo() + kShortIdle);
  Weir weir = Begin();
  const int rounds = Torture() ? 10 : 2;
  int lost = 0;
  for (int round = 0; round < rounds; ++round) {
    Feed(500);
    ASSERT_TRUE(AllOut()) << weir.Output();
    const bool in_a_transaction = round % 2 == 0;
    in_a_transaction ? FreezeInATransaction(weir) : FreezeAtARandomMoment(weir);
    Pause(seconds(2));  // longer than a transaction may be idle
    if (in_a_transaction) {
      EXPECT_TRUE(Eventually(seconds(30), [&] { return Sessions() == 0; }));
    }
    if (Sessions() == 0) ++lost;
    weir.Signal(SIGCONT);
  }
  EXPECT_TRUE(AllOut()) << weir.Output();
  EXPECT_EQ(weir.Stop(), kOk) << weir.Output();
  ExpectExact();
  std::cout << "of " << rounds << " freezes " << lost << " cost a transaction\n";
}

TEST_F(JobPostgresExactTest, Scenario18_ACopyWithTheNewestCheckpointTakesOverAndTheOlderProcessEnds) {
  Define(postgres_->conninfo() + kShortIdle);
  const int rounds = Torture() ? 15 : 3;
  int held = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    Weir first = Begin();
    Feed(500);
    ASSERT_TRUE(AllOut()) << first.Output();
    switch (round % 3) {
      case 0: FreezeInATransaction(first); break;
      case 1: FreezeAtARandomMoment(first); break;
      default: first.Freeze();  // its session lives on
    }
    if (MarkerIsHeld()) ++held;
    ACopyTakesOver(first);
  }
  std::cout << "of " << rounds << " frozen processes " << held << " held the marker\n";
}

TEST_F(JobPostgresExactTest, Scenario19_AFrozenPredecessorThatHoldsTheMarkerIsWaitedForAndThenEnded) {
  Define(postgres_->conninfo(), "500ms");
  Weir first = Begin();
  Feed(500);
  ASSERT_TRUE(AllOut()) << first.Output();
  FreezeInATransaction(first);
  ASSERT_TRUE(MarkerIsHeld());
  ExpectSays(ACopyTakesOver(first), {"does not let go of its marker", "has been ended"});
}

TEST_F(JobPostgresExactTest, Scenario13_AnOlderCopyIsRefusedAndDisturbsNobody) { AnOlderCopyIsRefused("postgres:"); }

}  // namespace
}  // namespace weir::job_test
