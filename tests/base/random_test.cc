#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>

namespace weir {
namespace {

TEST(SeededRandomTest, IsSplitMix64) {
  // The published numbers for seed 1234567.
  SeededRandom random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317U);
  EXPECT_EQ(random.Next(), 3203168211198807973U);
  EXPECT_EQ(random.Next(), 9817491932198370423U);
}

TEST(SeededRandomTest, ASplitDependsOnSeedAndNameAlone) {
  SeededRandom used(7);
  for (int i = 0; i < 100; ++i) used.Next();
  const SeededRandom fresh(7);
  EXPECT_EQ(used.Split("network")->Next(), fresh.Split("network")->Next());
  EXPECT_NE(fresh.Split("network")->Next(), fresh.Split("disk")->Next());
  EXPECT_NE(fresh.Split("network")->Next(), SeededRandom(8).Split("network")->Next());
  EXPECT_NE(fresh.Split("a")->Split("b")->Next(), fresh.Split("b")->Split("a")->Next());
}

TEST(RandomTest, BelowIsUniformWithinItsBound) {
  SeededRandom random(1);
  std::array<int, 3> counts{};
  for (int i = 0; i < 30'000; ++i) ++counts.at(random.Below(3));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0U);
  // A bound for which half of all numbers are drawn again.
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.Below((1ULL << 63) + 1), (1ULL << 63) + 1);
}

TEST(RandomTest, OneInIsAsRareAsItSays) {
  SeededRandom random(1);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += random.OneIn(10) ? 1 : 0;
  EXPECT_NEAR(hits, 1'000, 150);
}

TEST(SystemRandomTest, GivesDifferentIds) {
  const std::unique_ptr<Random> random = NewSystemRandom();
  std::set<std::string> ids;
  for (int i = 0; i < 1'000; ++i) ids.insert(random->NextId().ToString());
  ids.insert(random->Split("x")->NextId().ToString());
  ids.insert(NewSystemRandom()->NextId().ToString());
  EXPECT_EQ(ids.size(), 1'002U);
}

}  // namespace
}  // namespace weir
