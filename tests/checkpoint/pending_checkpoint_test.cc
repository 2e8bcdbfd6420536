#include "checkpoint/pending_checkpoint.h"

#include <gtest/gtest.h>

namespace weir::checkpoint {
namespace {

using Verdict = PendingCheckpoint::Verdict;
using State = PendingCheckpoint::State;

const CheckpointId kId{.number = 7, .id = {.high = 1, .low = 2}};

SubtaskSnapshot Finished() {
  SubtaskSnapshot snapshot;
  snapshot.finished = true;
  return snapshot;
}

PendingCheckpoint TwoSubtasks() { return {CheckpointBarrier{.id = kId}, {{0, 0}, {1, 0}}, MonotonicTime{100}}; }

TEST(PendingCheckpointTest, CompletesWithTheLastAcknowledgement) {
  PendingCheckpoint pending = TwoSubtasks();
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kAccepted);
  EXPECT_EQ(pending.missing().size(), 1U);
  EXPECT_EQ(pending.Acknowledge({1, 0}, kId, SubtaskSnapshot{}), Verdict::kCompleted);
  EXPECT_EQ(pending.state(), State::kComplete);
  EXPECT_EQ(pending.snapshots().size(), 2U);
}

TEST(PendingCheckpointTest, IgnoresStrangersRepeatsAndOtherCheckpoints) {
  PendingCheckpoint pending = TwoSubtasks();
  EXPECT_EQ(pending.Acknowledge({5, 0}, kId, SubtaskSnapshot{}), Verdict::kIgnored);
  EXPECT_EQ(pending.Acknowledge({0, 0}, {.number = 7, .id = {.high = 9, .low = 9}}, SubtaskSnapshot{}),
            Verdict::kIgnored);
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kAccepted);
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kIgnored);
  EXPECT_EQ(pending.state(), State::kCollecting);
}

TEST(PendingCheckpointTest, AnErrorAbortsAndNamesTheSubtask) {
  PendingCheckpoint pending = TwoSubtasks();
  EXPECT_EQ(pending.Acknowledge({1, 0}, kId, Error(Status::IoError("disk full"))), Verdict::kAborted);
  EXPECT_EQ(pending.cause().message(), "subtask 0 of vertex 1: disk full");
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kIgnored);
}

TEST(PendingCheckpointTest, ExpiresAndNamesWhoIsMissing) {
  PendingCheckpoint pending = TwoSubtasks();
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kAccepted);
  EXPECT_FALSE(pending.AbortIfExpired(MonotonicTime{100 + 999'999}, std::chrono::milliseconds(1)));
  EXPECT_TRUE(pending.AbortIfExpired(MonotonicTime{100 + 1'000'000}, std::chrono::milliseconds(1)));
  EXPECT_NE(pending.cause().message().find("subtask 0 of vertex 1"), std::string::npos);
  EXPECT_FALSE(pending.AbortIfExpired(MonotonicTime{900'000'000}, std::chrono::milliseconds(1)));
}

TEST(PendingCheckpointTest, KnowsWhenEverybodyHasFinished) {
  PendingCheckpoint pending = TwoSubtasks();
  EXPECT_EQ(pending.Acknowledge({0, 0}, kId, Finished()), Verdict::kAccepted);
  EXPECT_FALSE(pending.AllFinished());
  EXPECT_EQ(pending.Acknowledge({1, 0}, kId, Finished()), Verdict::kCompleted);
  EXPECT_TRUE(pending.AllFinished());
  PendingCheckpoint mixed = TwoSubtasks();
  EXPECT_EQ(mixed.Acknowledge({0, 0}, kId, SubtaskSnapshot{}), Verdict::kAccepted);
  EXPECT_EQ(mixed.Acknowledge({1, 0}, kId, Finished()), Verdict::kCompleted);
  EXPECT_FALSE(mixed.AllFinished());
}

TEST(PendingCheckpointTest, WithoutSubtasksItIsCompleteAtOnce) {
  const PendingCheckpoint pending({.id = kId}, {}, {});
  EXPECT_EQ(pending.state(), State::kComplete);
  EXPECT_FALSE(pending.AllFinished());
}

}  // namespace
}  // namespace weir::checkpoint
