// Rows that go in as they come, into tables with foreign keys: best effort, alone or while the target is far behind.
#include <gtest/gtest.h>

#include "base/random.h"
#include "connectors/format/hlc.h"
#include "tests/integration/job_changefeed.h"
#include "tests/integration/job_http.h"

namespace weir::job_test {
namespace {

using operators::EventTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

class JobBestEffortTest : public JobChangefeedTest {
 protected:
  // Children come before their parents: they wait.
  void SendChildrenFirst(Weir& weir) {
    std::vector<FeedMessage> children;
    std::vector<FeedMessage> parents;
    while (feed_.latest().ChildrenText().empty()) {
      for (const FeedMessage& message : feed_.Iterate()) {
        (message.topic == feed_.child_topic() ? children : parents).push_back(message);
      }
    }
    Send(children);
    const auto wait = [&] { return postgres_->Query("SELECT count(*) > 0 FROM weir_waiting") == Lines{"t"}; };
    EXPECT_TRUE(Eventually(seconds(60), [&] { return wait() || !weir.Running(); })) << weir.Output();
    EXPECT_TRUE(wait()) << weir.Output();
    Send(parents);
  }

  // Each fifth iteration ends the process; with `faults` the next one dies there by itself, one after the other.
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
    const bool dies_by_itself = !faults.empty();
    auto weir = start();
    if (!dies_by_itself) SendChildrenFirst(*weir);
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
};

// Rows go in as they come, although constraints that can't be deferred hold at each statement: those whose parents are
// missing, or whose children are still there, wait in the target.
TEST_F(JobBestEffortTest, B21_B29_BestEffortWithForeignKeysEndsExact) {
  BestEffort("exactly-once", Torture() ? 500 : 25, {});
}

TEST_F(JobBestEffortTest, B21_B29_BestEffortAtLeastOnceEndsExact) {
  BestEffort("at-least-once", Torture() ? 500 : 25, {});
}

// A row is nowhere marked as done before it is there.
TEST_F(JobBestEffortTest, Weakness_f_ACrashAroundTheCommitLosesNothingThatWaits) {
  BestEffort("exactly-once", Torture() ? 200 : 25,
             {"postgres.before-commit:3:kill", "postgres.after-commit:2:kill", "postgres.before-commit:2:kill",
              "postgres.after-commit:4:kill"});
}

// The feed tells of years ago and resolves nothing: rows go in as they come. Then it tells of now: from there on the
// target is the source as of the frontier again.
TEST_F(JobBestEffortTest, B42_FarBehindRowsGoInAsTheyComeAndThenTheTargetIsConsistentAgain) {
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
