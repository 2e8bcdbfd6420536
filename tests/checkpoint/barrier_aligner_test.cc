#include "checkpoint/barrier_aligner.h"

#include <gtest/gtest.h>

namespace weir::checkpoint {
namespace {

CheckpointBarrier Barrier(uint64_t number) { return {.id = {.number = number, .id = {.high = 1, .low = number}}}; }

TEST(BarrierAlignerTest, BlocksAChannelFromItsBarrierUntilAllHaveArrived) {
  BarrierAligner aligner(3);
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_TRUE(aligner.blocked(1));
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(1)).has_value());
  const auto aligned = aligner.OnBarrier(2, Barrier(1));
  ASSERT_TRUE(aligned.has_value());
  EXPECT_EQ(*aligned, Barrier(1));
  for (size_t channel = 0; channel < 3; ++channel) EXPECT_FALSE(aligner.blocked(channel));
}

TEST(BarrierAlignerTest, OneChannelIsAlignedAtOnce) {
  BarrierAligner aligner(1);
  EXPECT_TRUE(aligner.OnBarrier(0, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(1)).has_value());
  EXPECT_TRUE(aligner.OnBarrier(0, Barrier(2)).has_value());
}

TEST(BarrierAlignerTest, AnEndedChannelCountsAsAligned) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnEnd(0).has_value());
  EXPECT_TRUE(aligner.OnBarrier(1, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.OnEnd(1).has_value());
}

TEST(BarrierAlignerTest, TheEndOfTheLastMissingChannelAligns) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(1)).has_value());
  EXPECT_TRUE(aligner.OnEnd(0).has_value());
  EXPECT_FALSE(aligner.blocked(1));
}

TEST(BarrierAlignerTest, ABarrierBehindTheEndBeginsAnAlignmentOnce) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnEnd(0).has_value());
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_TRUE(aligner.OnEnd(1).has_value());
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(1)).has_value());
  EXPECT_TRUE(aligner.OnBarrier(1, Barrier(2)).has_value());
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(2)).has_value());
}

TEST(BarrierAlignerTest, ANewerBarrierTakesThePlaceOfAnAbortedOne) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(2)).has_value());
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_TRUE(aligner.blocked(1));
  const auto aligned = aligner.OnBarrier(0, Barrier(2));
  ASSERT_TRUE(aligned.has_value());
  EXPECT_EQ(aligned->id.number, 2U);
}

TEST(BarrierAlignerTest, AStaleBarrierIsDropped) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(5)).has_value());
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(4)).has_value());
  EXPECT_FALSE(aligner.blocked(1));
  EXPECT_TRUE(aligner.OnBarrier(1, Barrier(5)).has_value());
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(5)).has_value());
  EXPECT_FALSE(aligner.blocked(1));
}

TEST(BarrierAlignerTest, AbortFreesTheChannelsAndDropsLateBarriers) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(1)).has_value());
  aligner.Abort(Barrier(1).id);
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_FALSE(aligner.OnBarrier(1, Barrier(1)).has_value());
  EXPECT_FALSE(aligner.blocked(1));
  aligner.Abort(Barrier(2).id);  // before any of its barriers has come
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(2)).has_value());
  EXPECT_FALSE(aligner.current().has_value());
}

TEST(BarrierAlignerTest, AbortOfAnOlderOneLeavesTheCurrentAlone) {
  BarrierAligner aligner(2);
  EXPECT_FALSE(aligner.OnBarrier(0, Barrier(3)).has_value());
  aligner.Abort(Barrier(2).id);
  EXPECT_TRUE(aligner.blocked(0));
  EXPECT_TRUE(aligner.OnBarrier(1, Barrier(3)).has_value());
}

}  // namespace
}  // namespace weir::checkpoint
