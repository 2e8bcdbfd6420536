// The parent/child workload through a `weir` each of whose call sites to Kafka and PostgreSQL fails twice
// (tests/harness/chaos), before the call had its effect and after it: in the end the target is the source, as if
// nothing had happened. WEIR_TORTURE=1 makes it longer, and the disk fails too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/integration/job_changefeed.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobChaosTest : public JobChangefeedTest {
 protected:
  // Feeds the workload to `job` until it is over and all of `sites` have failed twice; each time it calls `look`.
  void Endure(Json job, const Lines& sites, const std::function<void()>& look) {
    job["restart"] = {{"strategy", "fixed-delay"}, {"delay", "1ms"}, {"attempts-max", 100'000}};
    job["sources"][0]["group"] = world_->NewName("chaos");
    job["sources"][0]["discovery-interval"] = "100ms";
    const std::string definition = WriteJob(folder_, job);
    Environment environment = {{"WEIR_CHAOS_REPORT", report_}};
    if (Torture()) environment.emplace_back("WEIR_CHAOS_FILES", folder_.Path("checkpoints"));
    Weir weir(folder_, {"run", definition, "--quiet"}, environment, ChaosBinary());
    const int iterations = Torture() ? 2'500 : 25;
    const auto enough = [&] { return std::ranges::all_of(sites, [&](const std::string& s) { return Failed(s); }); };
    const bool endured = Eventually(seconds(Torture() ? 1'200 : 120), [&, i = 0]() mutable {
      Send(feed_.Iterate());
      ++i;
      if (IsPrime(i) || i >= iterations) Send(feed_.Resolve());
      look();
      Pause(milliseconds(40));
      return (i >= iterations && enough()) || !weir.Running() || HasFailure();
    });
    EXPECT_TRUE(endured) << "not all of the sites have failed:\n" << ReadText(report_);
    EXPECT_TRUE(Eventually(seconds(Torture() ? 600 : 60), [&] {
      look();
      return TargetIsLatest() || !weir.Running() || HasFailure();
    })) << weir.Output();
    EXPECT_TRUE(TargetIsLatest()) << weir.Output();
    weir.Kill9();
    // What was left is a storage like any other.
    job["restart"] = {{"strategy", "none"}};
    Weir ordinary(folder_, {"run", WriteJob(folder_, job), "--quiet"});
    Send(feed_.Iterate());
    Send(feed_.Resolve());
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      look();
      return TargetIsLatest() || !ordinary.Running() || HasFailure();
    })) << ordinary.Output();
    EXPECT_EQ(ordinary.Stop(), kOk) << ordinary.Output();
    const size_t failures = LinesOf(ReadText(report_)).size();
    std::printf("%zu failures injected\n", failures);
  }
  // A site whose name begins so has failed before and after its effect.
  bool Failed(const std::string& site) const {
    const Lines lines = LinesOf(ReadText(report_));
    return std::ranges::any_of(lines, [&](const std::string& line) {
      if (!line.starts_with("before " + site)) return false;
      return std::ranges::find(lines, "after" + line.substr(line.find(' '))) != lines.end();
    });
  }

  const std::string report_ = folder_.Path("failures");
};

// What each of the jobs calls again and again; others, as at a start, fail twice where they are reached so often.
const Lines kAlways = {"kafka: fetch",
                       "kafka: describe topic",
                       "kafka: query watermarks",
                       "kafka: commit offsets",

                       "postgres: BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; UPDATE",
                       "postgres: INSERT INTO \"public\".\"parent\"",
                       "postgres: INSERT INTO \"public\".\"child\"",
                       "postgres: DELETE FROM \"public\".\"child\"",
                       "postgres: COMMIT"};

TEST_F(JobChaosTest, B29_EachCallSiteFailsTwice_Consistent) {
  CreateTables(true);
  Endure(ConsistentJob(), kAlways, [&] { Look(); });
  EXPECT_GE(seen_.size(), 3U) << "the reader has seen it grow";
}

TEST_F(JobChaosTest, B29_EachCallSiteFailsTwice_Immediate) {
  CreateTables(false);
  Endure(ImmediateJob(), kAlways, [] {});
}

TEST_F(JobChaosTest, B29_EachCallSiteFailsTwice_BestEffort) {
  CreateTables(true);
  Json job = ImmediateJob();
  job["sinks"][0]["on-missing-parent"] = "wait";
  Lines sites = kAlways;
  sites.emplace_back("postgres: SELECT pg_advisory_xact_lock");
  sites.emplace_back("postgres: INSERT INTO \"public\".\"weir_waiting\"");
  Endure(job, sites, [] {});
  EXPECT_EQ(postgres_->Query("SELECT count(*) FROM weir_waiting"), (Lines{"0"}));
}

}  // namespace
}  // namespace weir::job_test
