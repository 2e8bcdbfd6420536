#include "operators/runtime/channel.h"

#include <gtest/gtest.h>

#include "tests/operators/runtime/test_pieces.h"

namespace weir::operators {
namespace {

class CountingWakeup final : public Wakeup {
 public:
  void Wake() override { ++count; }
  int count = 0;
};

Element RowsElement(int64_t rows) {
  Rows list;
  for (int64_t i = 0; i < rows; ++i) list.emplace_back("k", i);
  return KeySeqBatch(list);
}

struct ChannelTest : ::testing::Test {
  CountingWakeup producer;
  CountingWakeup consumer;
};

TEST_F(ChannelTest, GivesElementsInTheirOrder) {
  Channel channel({}, producer, consumer);
  Element first = RowsElement(2);
  Element second = checkpoint::CheckpointBarrier{{7, {}}};
  Element third = EndOfInput{};
  ASSERT_TRUE(channel.TryPush(first));
  ASSERT_TRUE(channel.TryPush(second));
  ASSERT_TRUE(channel.TryPush(third));
  EXPECT_EQ(channel.rows(), 2U);
  EXPECT_EQ(std::get<Batch>(*channel.TryPop()).rows(), 2U);
  EXPECT_EQ(std::get<checkpoint::CheckpointBarrier>(*channel.TryPop()).id.number, 7U);
  EXPECT_TRUE(std::holds_alternative<EndOfInput>(*channel.TryPop()));
  EXPECT_FALSE(channel.TryPop().has_value());
  EXPECT_EQ(channel.bytes(), 0U);
}

TEST_F(ChannelTest, WakesTheConsumerOnlyWhenItWasEmpty) {
  Channel channel({}, producer, consumer);
  for (int i = 0; i < 3; ++i) {
    Element element = RowsElement(1);
    ASSERT_TRUE(channel.TryPush(element));
  }
  EXPECT_EQ(consumer.count, 1);
}

TEST_F(ChannelTest, RefusesAFullBatchAndKeepsItWithTheProducer) {
  Channel channel({.rows_max = 10}, producer, consumer);
  Element first = RowsElement(8);
  Element second = RowsElement(3);
  ASSERT_TRUE(channel.TryPush(first));
  ASSERT_FALSE(channel.TryPush(second));
  EXPECT_EQ(std::get<Batch>(second).rows(), 3U);
  EXPECT_EQ(producer.count, 0);
  channel.TryPop();
  EXPECT_EQ(producer.count, 1);
  EXPECT_TRUE(channel.TryPush(second));
  channel.TryPop();
  EXPECT_EQ(producer.count, 1) << "nobody waits any more";
}

TEST_F(ChannelTest, TakesOneBatchOfAnySize) {
  Channel channel({.rows_max = 1, .bytes_max = 1}, producer, consumer);
  Element big = RowsElement(1000);
  EXPECT_TRUE(channel.TryPush(big));
  Element next = RowsElement(1);
  EXPECT_FALSE(channel.TryPush(next));
}

TEST_F(ChannelTest, BoundsBytes) {
  Channel channel({.rows_max = 1'000'000, .bytes_max = 64 * 1024}, producer, consumer);
  int taken = 0;
  for (; taken < 1000; ++taken) {
    Element element = RowsElement(100);
    if (!channel.TryPush(element)) break;
  }
  EXPECT_LT(taken, 100);
  EXPECT_LE(channel.bytes(), 64U * 1024);
}

TEST_F(ChannelTest, ControlElementsPassAFullChannel) {
  Channel channel({.rows_max = 1}, producer, consumer);
  Element rows = RowsElement(1);
  ASSERT_TRUE(channel.TryPush(rows));
  Element barrier = checkpoint::CheckpointBarrier{{1, {}}};
  Element end = EndOfInput{};
  EXPECT_TRUE(channel.TryPush(barrier));
  EXPECT_TRUE(channel.TryPush(end));
}

TEST_F(ChannelTest, B44_AWatermarkWaitsUntilTheOneBeforeItWasTaken) {
  Channel channel({}, producer, consumer);
  Element first = Watermark{{1, 0}};
  Element second = Watermark{{2, 0}};
  Element rows = RowsElement(1);
  Element third = Watermark{{3, 0}};
  ASSERT_TRUE(channel.TryPush(first));
  ASSERT_FALSE(channel.TryPush(second));
  EXPECT_EQ(std::get<Watermark>(*channel.TryPop()).time.wall_ns, 1);
  EXPECT_EQ(producer.count, 1);
  ASSERT_TRUE(channel.TryPush(second));
  ASSERT_TRUE(channel.TryPush(rows));
  ASSERT_TRUE(channel.TryPush(third)) << "rows are between the two";
  EXPECT_EQ(std::get<Watermark>(*channel.TryPop()).time.wall_ns, 2);
}

}  // namespace
}  // namespace weir::operators
