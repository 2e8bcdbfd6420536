#include "operators/runtime/input_gate.h"

#include <gtest/gtest.h>

#include "tests/operators/runtime/test_pieces.h"

namespace weir::operators {
namespace {

// What the gate gives, as text: "k5" a row (input 0), "1:k5" one of input 1, "w7", "idle", "b3", "end".
struct InputGateTest : ::testing::Test {
  explicit InputGateTest() : a({}, none, none), b({}, none, none) {}

  void Row(Channel& channel, int64_t seq) {
    Element element = KeySeqBatch({{"k", seq}});
    ASSERT_TRUE(channel.TryPush(element));
  }
  void Mark(Channel& channel, int64_t time) { Push(channel, Watermark{{time, 0}}); }
  void Idle(Channel& channel) { Push(channel, Watermark{EventTime::Max()}); }
  void Barrier(Channel& channel, uint64_t number) { Push(channel, checkpoint::CheckpointBarrier{{number, {}}}); }
  void End(Channel& channel) { Push(channel, EndOfInput{}); }
  static void Push(Channel& channel, Element element) { ASSERT_TRUE(channel.TryPush(element)); }

  static std::string All(InputGate& gate) {
    std::string text;
    while (std::optional<GateElement> element = gate.Poll()) {
      if (!text.empty()) text += ' ';
      text += Text(*element);
    }
    return text;
  }
  static std::string Text(const GateElement& element) {
    if (const auto* batch = std::get_if<Batch>(&element.element)) {
      std::string text = element.input == 0 ? "k" : std::to_string(element.input) + ":k";
      return text + std::to_string(batch->at(0, 1).int64_value());
    }
    if (const auto* barrier = std::get_if<checkpoint::CheckpointBarrier>(&element.element)) {
      return "b" + std::to_string(barrier->id.number);
    }
    if (const auto* watermark = std::get_if<Watermark>(&element.element)) {
      if (element.gates_only) return watermark->time == EventTime::Max() ? "idle" : "awake";
      return watermark->time == EventTime::Max() ? "wmax" : "w" + std::to_string(watermark->time.wall_ns);
    }
    return "end";
  }

  NoWakeup none;
  Channel a;
  Channel b;
};

TEST_F(InputGateTest, TakesChannelsInTurnAndNamesTheInput) {
  InputGate gate({{&a, 0}, {&b, 1}});
  Row(a, 1);
  Row(a, 2);
  Row(b, 3);
  Row(b, 4);
  EXPECT_EQ(All(gate), "k1 1:k3 k2 1:k4");
}

TEST_F(InputGateTest, BlocksAChannelFromItsBarrierUntilAllHaveArrived) {
  InputGate gate({{&a}, {&b}});
  Row(a, 1);
  Barrier(a, 7);
  Row(a, 2);
  Row(b, 3);
  Row(b, 4);
  EXPECT_EQ(All(gate), "k1 k3 k4");
  Barrier(b, 7);
  Row(b, 5);
  EXPECT_EQ(All(gate), "b7 k2 k5");
}

TEST_F(InputGateTest, ANewerBarrierTakesThePlaceOfOneThatNeverCameEverywhere) {
  InputGate gate({{&a}, {&b}});
  Barrier(a, 1);
  Row(a, 10);
  Barrier(b, 2);
  Row(b, 20);
  EXPECT_EQ(All(gate), "k10");
  Barrier(a, 2);
  EXPECT_EQ(All(gate), "b2 k20");
  Barrier(b, 1);
  EXPECT_EQ(All(gate), "") << "a late barrier of the older checkpoint";
}

TEST_F(InputGateTest, AnAbortFreesTheChannelsAndDropsLateBarriers) {
  InputGate gate({{&a}, {&b}});
  Barrier(a, 1);
  Row(a, 10);
  EXPECT_EQ(All(gate), "");
  gate.Abort({1, {}});
  EXPECT_EQ(All(gate), "k10");
  Barrier(b, 1);
  Row(b, 20);
  EXPECT_EQ(All(gate), "k20");
  Barrier(a, 2);
  Barrier(b, 2);
  EXPECT_EQ(All(gate), "b2");
}

TEST_F(InputGateTest, TheWatermarkIsTheMinimumAndOnlyRises) {
  InputGate gate({{&a}, {&b}});
  Mark(a, 5);
  EXPECT_EQ(All(gate), "");
  Mark(b, 3);
  EXPECT_EQ(All(gate), "w3");
  Mark(b, 4);
  EXPECT_EQ(All(gate), "w4");
  Mark(b, 9);
  EXPECT_EQ(All(gate), "w5");
  Mark(b, 2);
  EXPECT_EQ(All(gate), "");
}

TEST_F(InputGateTest, AnEndedChannelHoldsNoWatermarkAndNoBarrierBack) {
  InputGate gate({{&a}, {&b}});
  Mark(a, 5);
  End(b);
  EXPECT_EQ(All(gate), "w5");
  Barrier(a, 1);
  EXPECT_EQ(All(gate), "b1");
}

TEST_F(InputGateTest, ABarrierThatWaitsForAChannelIsAlignedByItsEnd) {
  InputGate gate({{&a}, {&b}});
  Barrier(a, 1);
  Row(a, 10);
  Mark(a, 11);
  EXPECT_EQ(All(gate), "");
  End(b);
  EXPECT_EQ(All(gate), "b1 k10 w11");
}

TEST_F(InputGateTest, TheEndComesOnceBehindTheGreatestWatermark) {
  InputGate gate({{&a, 0}, {&b, 1}});
  End(a);
  EXPECT_EQ(All(gate), "");
  EXPECT_TRUE(gate.input_ended(0));
  EXPECT_FALSE(gate.input_ended(1));
  EXPECT_FALSE(gate.ended());
  End(b);
  EXPECT_EQ(All(gate), "wmax end");
  EXPECT_TRUE(gate.ended());
}

TEST_F(InputGateTest, BarriersBehindTheEndComeOnceEach) {
  InputGate gate({{&a}, {&b}});
  End(a);
  Barrier(a, 1);
  EXPECT_EQ(All(gate), "") << "the channel that lives decides";
  End(b);
  Barrier(b, 1);
  EXPECT_EQ(All(gate), "wmax end b1");
  Barrier(a, 2);
  Barrier(b, 2);
  EXPECT_EQ(All(gate), "b2");
  Barrier(b, 3);
  EXPECT_EQ(All(gate), "b3");
  Barrier(a, 3);
  EXPECT_EQ(All(gate), "");
}

TEST_F(InputGateTest, ABarrierAlignedByTheLastEndComesBehindIt) {
  InputGate gate({{&a}, {&b}});
  End(a);
  EXPECT_EQ(All(gate), "");
  Barrier(b, 1);
  End(b);
  EXPECT_EQ(All(gate), "b1 wmax end");
}

TEST_F(InputGateTest, NobodyWaitsForAnIdleChannel) {
  InputGate gate({{&a}, {&b}});
  Idle(b);
  EXPECT_EQ(All(gate), "");
  Mark(a, 5);
  EXPECT_EQ(All(gate), "w5");
  Mark(b, 2);
  EXPECT_EQ(All(gate), "") << "b is waited for again, what was said stays";
  Mark(a, 8);
  EXPECT_EQ(All(gate), "");
  Mark(b, 6);
  EXPECT_EQ(All(gate), "w6");
}

TEST_F(InputGateTest, OnlyAllIdleChannelsMakeTheGateIdle) {
  InputGate gate({{&a}, {&b}});
  Mark(a, 5);
  Mark(b, 5);
  EXPECT_EQ(All(gate), "w5");
  Idle(a);
  EXPECT_EQ(All(gate), "");
  Idle(b);
  EXPECT_EQ(All(gate), "idle");
  Mark(a, 4);
  EXPECT_EQ(All(gate), "awake") << "those behind must wait again";
  Mark(a, 7);
  EXPECT_EQ(All(gate), "w7");
}

}  // namespace
}  // namespace weir::operators
