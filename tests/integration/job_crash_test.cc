// The main job on a real broker and a real PostgreSQL, killed with -9 again and again, at random moments and at every
// named fault site, its parallelism changed from life to life: no row is lost or doubled. WEIR_TORTURE=1 kills more
// often.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "base/random.h"
#include "tests/integration/job_orders.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kParallelisms[] = {1, 2, 3};

bool Torture() { return std::getenv("WEIR_TORTURE") != nullptr; }

uint64_t RowsOfALife() { return Torture() ? 10'000 : 5'000; }

// WEIR_SEED repeats a run.
uint64_t Seed() {
  const char* given = std::getenv("WEIR_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : NewSystemRandom()->Below(1'000'000);
}

// Sites that the main job does not come by, and why. None: it has a state, a committer and a first start.
const std::map<std::string, std::string>& UnreachableSites() {
  static const std::map<std::string, std::string> sites;
  return sites;
}

class Lives {
 public:
  Lives(kafka_test::KafkaWorld& world, uint64_t seed)
      : postgres_(harness::StartPostgres()), job_(world, folder_, seed, 500, postgres_.get()), random_(seed) {
    std::cout << "seed " << seed << " (WEIR_SEED=" << seed << " repeats it)\n";
  }

  // Lives until a moment between the start of its process and 1.5 s later.
  void KillAtARandomMoment() {
    const Duration life = milliseconds(random_.Below(1'500));
    Weir weir = Begin({});
    const uint64_t slices = 1 + random_.Below(4);
    for (uint64_t i = 0; i < slices; ++i) {
      job_.Feed(RowsOfALife() / slices);
      if (weir.Wait(life / static_cast<int64_t>(slices)).has_value()) break;
    }
    EXPECT_TRUE(weir.Running()) << "ended by itself: " << weir.Output();
    weir.Kill9();
    Died();
  }

  // False if the job came through 20 s with rows and checkpoints without meeting the site.
  bool KillAtSite(const std::string& site, uint64_t nth) {
    Weir weir = Begin({{"WEIR_FAULT", site + ":" + std::to_string(nth) + ":kill"}});
    std::optional<int> code;
    for (int slice = 0; slice < 100 && !code.has_value(); ++slice) {
      job_.Feed(slice < 5 ? RowsOfALife() / 5 : 50);  // a part is written only where a checkpoint has rows
      if (site.starts_with("savepoint.")) AskForSavepoint();
      code = weir.Wait(milliseconds(200));
    }
    if (!code.has_value()) weir.Kill9();
    Died();
    EXPECT_TRUE(!code.has_value() || *code == -SIGKILL) << site << ": ended with " << *code << "\n" << weir.Output();
    return code == -SIGKILL;
  }

  // A life without a fault, at parallelism 1, until all is out; then what came out is judged.
  void LiveToTheEnd() {
    life_ = 0;
    Weir weir = Begin({});
    job_.Feed(RowsOfALife());
    EXPECT_TRUE(Eventually(seconds(60), [&] { return Complete() || !weir.Running(); })) << weir.Output();
    EXPECT_EQ(weir.Stop(), 0) << weir.Output();
    job_.ExpectExactFiles();
    job_.ExpectExactTopic();
    job_.ExpectExactTables();
    job_.ExpectTopicAtLeastOnce(kills_ms_);
    std::cout << kills_ms_.size() << " kills, " << job_.fed() << " rows in, " << job_.kept() << " rows out\n";
  }

 private:
  bool Complete() { return job_.FilesComplete() && job_.ExactTopicComplete() && job_.TablesComplete(); }
  void AskForSavepoint() {
    RunToEnd(folder_, {"savepoint", job_.definition(), "--to", folder_.Path("sp-" + std::to_string(++savepoints_))});
  }
  Weir Begin(const Environment& environment) {
    const int parallelism = kParallelisms[life_++ % std::size(kParallelisms)];
    return {folder_,
            {"run", job_.definition(), "--quiet", "--set", "parallelism=" + std::to_string(parallelism)},
            environment};
  }
  void Died() { kills_ms_.push_back(WallMs()); }

  JobFolder folder_;
  const std::unique_ptr<harness::PostgresServer> postgres_;
  OrdersJob job_;
  SeededRandom random_;
  size_t life_ = 0;
  int savepoints_ = 0;
  std::vector<int64_t> kills_ms_;
};

std::vector<std::string> AllSites() {
  const JobFolder folder;
  const Ended listed = RunToEnd(folder, {"--list-fault-sites"});
  EXPECT_EQ(listed.code, 0);
  return LinesOf(listed.output);
}

// The first start's own site comes first: later starts publish nothing.
void OrderForALife(std::vector<std::string>& sites) {
  std::ranges::stable_partition(sites, [](const std::string& site) { return site == "start.after-publish"; });
}

TEST(JobCrashTest, KilledAtRandomMoments) {
  const auto world = kafka_test::NewRealWorld();
  Lives lives(*world, Seed());
  const int kills = Torture() ? 200 : 20;
  for (int i = 0; i < kills && !testing::Test::HasFailure(); ++i) lives.KillAtARandomMoment();
  lives.LiveToTheEnd();
}

TEST(JobCrashTest, KilledAtEveryFaultSite) {
  std::vector<std::string> sites = AllSites();
  ASSERT_GE(sites.size(), 21U);
  OrderForALife(sites);
  const auto world = kafka_test::NewRealWorld();
  const uint64_t seed = Seed();
  SeededRandom random(seed);
  Lives lives(*world, seed);
  std::set<std::string> not_reached;
  for (int round = 0; round < (Torture() ? 3 : 1); ++round) {
    for (const std::string& site : sites) {
      if (round > 0 && site == "start.after-publish") continue;
      // A start meets its sites once for each system; everything else comes by with every checkpoint.
      const uint64_t nth = site.starts_with("start.") ? 1 : 1 + random.Below(3);
      if (!lives.KillAtSite(site, nth)) not_reached.insert(site);
      if (testing::Test::HasFailure()) break;
    }
  }
  for (const std::string& site : not_reached) {
    EXPECT_TRUE(UnreachableSites().contains(site)) << "the job never came to " << site;
  }
  for (const auto& [site, reason] : UnreachableSites()) {
    EXPECT_TRUE(not_reached.contains(site)) << site << " is reached after all, though: " << reason;
  }
  lives.LiveToTheEnd();
}

}  // namespace
}  // namespace weir::job_test
