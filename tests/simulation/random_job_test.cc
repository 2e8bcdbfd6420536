// Random jobs, crashed at drawn moments, against the oracle: the engine, state, checkpoints, restore, Kafka source,
// file, Kafka and PostgreSQL sinks, all of it the real code. Seeds by WEIR_SIM_FIRST and WEIR_SIM_COUNT; a failure
// prints its seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/fault_site.h"
#include "tests/simulation/job_world.h"

namespace weir::simulation {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

WorldResult RunSeed(uint64_t seed, PlantedBug bug = PlantedBug::kNone) {
  SeededRandom random(seed);
  const auto graph = random.Split("graph");
  JobWorld world({.seed = seed, .crashes = 4, .bug = bug}, MakeRandomJob(*graph));
  return world.Run();
}

TEST(RandomJobTest, OutputIsExactWhateverDies) {
  const uint64_t first = FromEnvironment("WEIR_SIM_FIRST", 1);
  const uint64_t count = FromEnvironment("WEIR_SIM_COUNT", 2000);
  std::map<std::string, uint64_t> coverage;
  uint64_t steps = 0;
  uint64_t checkpoints = 0;
  uint64_t savepoints = 0;
  const SystemClock clock;
  const MonotonicTime begin = clock.Now();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const WorldResult result = RunSeed(seed);
    ASSERT_EQ(result.failure, "") << "seed " << seed << "; again: WEIR_SIM_FIRST=" << seed << " WEIR_SIM_COUNT=1";
    for (const auto& [site, crashes] : result.crashes_at) coverage[site] += crashes;
    steps += result.steps;
    checkpoints += result.checkpoints;
    savepoints += result.savepoints;
    if (seed % 50 == 0) {
      ASSERT_EQ(RunSeed(seed).trace, result.trace) << "seed " << seed << " took two courses";
    }
  }
  const double seconds = std::chrono::duration<double>(clock.Now() - begin).count();
  std::cout << count << " seeds, " << static_cast<double>(count) / seconds << " a second, " << steps << " steps, "
            << checkpoints << " checkpoints, " << savepoints << " savepoints\ncrashes at:\n";
  for (const auto& [site, crashes] : coverage) std::cout << "  " << site << ": " << crashes << "\n";
  if (count < 2000) return;
  for (const std::string_view site : FaultSites()) {
    EXPECT_TRUE(coverage.contains(std::string(site) + ", power")) << "no power loss at " << site;
    EXPECT_TRUE(coverage.contains(std::string(site) + ", process")) << "no process died at " << site;
  }
  for (const char* one : {"frozen at step", "frozen at kafka.before-commit", "frozen at postgres.before-commit",
                          "zombie taken over", "table out of reach for too long"}) {
    EXPECT_TRUE(coverage.contains(one)) << "never: " << one;
  }
}

// The first of 500 seeds that notices the planted bug; 0: none.
uint64_t SeedThatFinds(PlantedBug bug, std::string& failure) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    failure = RunSeed(seed, bug).failure;
    if (!failure.empty()) return seed;
  }
  return 0;
}

TEST(RandomJobTest, FindsASkippedFsyncWithin500Seeds) {
  std::string failure;
  const uint64_t seed = SeedThatFinds(PlantedBug::kSkippedFsync, failure);
  EXPECT_NE(seed, 0U) << "500 seeds did not notice that nothing is synced";
  std::cout << "seed " << seed << ": " << failure << "\n";
}

TEST(RandomJobTest, FindsAnOffsetAcknowledgedEarlyWithin500Seeds) {
  std::string failure;
  const uint64_t seed = SeedThatFinds(PlantedBug::kEarlyAcknowledgement, failure);
  ASSERT_NE(seed, 0U) << "500 seeds did not notice that offsets are acknowledged early";
  EXPECT_NE(failure.find("is acknowledged"), std::string::npos) << failure;
  std::cout << "seed " << seed << ": " << failure << "\n";
}

// Each is found by what it does, or by what that leads to.
class CanaryTest : public testing::TestWithParam<std::pair<PlantedBug, const char*>> {};

TEST_P(CanaryTest, IsFoundWithin500Seeds) {
  std::string failure;
  const uint64_t seed = SeedThatFinds(GetParam().first, failure);
  ASSERT_NE(seed, 0U) << "500 seeds did not notice it";
  std::cout << "seed " << seed << ": " << failure << "\n";
}

INSTANTIATE_TEST_SUITE_P(RandomJob, CanaryTest,
                         testing::Values(std::pair(PlantedBug::kKafkaMarkerIgnored, "KafkaMarkerIgnored"),
                                         std::pair(PlantedBug::kPostgresMarkerIgnored, "PostgresMarkerIgnored"),
                                         std::pair(PlantedBug::kKafkaReleasedEarly, "KafkaReleasedEarly"),
                                         std::pair(PlantedBug::kPostgresReleasedEarly, "PostgresReleasedEarly"),
                                         std::pair(PlantedBug::kKafkaNotFenced, "KafkaNotFenced"),
                                         std::pair(PlantedBug::kPostgresNotFenced, "PostgresNotFenced"),
                                         std::pair(PlantedBug::kPostgresUnproved, "PostgresUnproved")),
                         [](const auto& one) { return std::string(one.param.second); });

}  // namespace
}  // namespace weir::simulation
