#include "state/key_groups.h"

#include <gtest/gtest.h>

namespace weir::state {
namespace {

TEST(KeyGroupsTest, GivesTheWorkedExampleOfItsHeader) {
  EXPECT_EQ(KeyGroupOf(0x40000000u, 128), 32u);
  EXPECT_EQ(RangeOf(0, 2, 128), (HashRange{.first = 0, .last = 0x7fffffffu}));
  EXPECT_EQ(RangeOf(1, 2, 128), (HashRange{.first = 0x80000000u, .last = UINT32_MAX}));
  EXPECT_EQ(SubtaskOfKeyGroup(42, 3, 128), 0u);
  EXPECT_EQ(SubtaskOfKeyGroup(43, 3, 128), 1u);
  EXPECT_EQ(SubtaskOfKeyGroup(85, 3, 128), 1u);
  EXPECT_EQ(SubtaskOfKeyGroup(86, 3, 128), 2u);
}

TEST(KeyGroupsTest, RangesPartitionTheHashesAndAgreeWithSubtaskOf) {
  for (const uint32_t groups : {1u, 2u, 7u, 100u, 128u, 1000u, 32768u}) {
    for (uint32_t parallelism = 1; parallelism <= std::min(groups, 9u); ++parallelism) {
      uint64_t next = 0;
      for (uint32_t subtask = 0; subtask < parallelism; ++subtask) {
        const HashRange range = RangeOf(subtask, parallelism, groups);
        ASSERT_EQ(range.first, next) << groups << " " << parallelism << " " << subtask;
        ASSERT_EQ(SubtaskOf(range.first, parallelism, groups), subtask);
        ASSERT_EQ(SubtaskOf(range.last, parallelism, groups), subtask);
        next = uint64_t{range.last} + 1;
      }
      ASSERT_EQ(next, uint64_t{1} << 32);
    }
  }
}

TEST(KeyGroupsTest, DoublingTheGroupsSplitsEachInTwo) {
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t hash = HashKey("key " + std::to_string(i));
    EXPECT_EQ(KeyGroupOf(hash, 256) / 2, KeyGroupOf(hash, 128));
  }
}

TEST(KeyGroupsTest, TheHashIsPartOfTheFileFormat) {
  EXPECT_EQ(HashKey(""), 0x2d068005u);
  EXPECT_NE(HashKey("a"), HashKey("b"));
}

}  // namespace
}  // namespace weir::state
