#include "operators/time_queue.h"

#include <gtest/gtest.h>

#include "state/key_groups.h"
#include "state/registered_states.h"
#include "state/state_probe.h"

namespace weir::operators {
namespace {

// A part is never in two subtasks, at any parallelism, also after the groups were doubled or halved within 1024.
TEST(TimeQueueTest, TheBordersOfSubtasksAreBordersOfParts) {
  for (const uint32_t groups : {1U, 3U, 96U, 100U, 128U, 1024U, 1000U, 4096U}) {
    const uint32_t parts = TimeQueue::PartsOf(groups);
    if (groups * 2 <= 1024) {
      EXPECT_EQ(TimeQueue::PartsOf(groups * 2), parts);
    }
    for (uint32_t doubled = groups; doubled <= parts; doubled *= 2) {
      for (const uint32_t parallelism : {1U, 2U, 3U, 7U, 96U}) {
        if (parallelism > doubled) continue;
        for (uint32_t subtask = 0; subtask < parallelism; ++subtask) {
          const state::HashRange range = state::RangeOf(subtask, parallelism, doubled);
          const uint32_t first = state::KeyGroupOf(range.first, parts);
          const uint32_t last = state::KeyGroupOf(range.last, parts);
          EXPECT_EQ(state::RangeOf(first, parts, parts).first, range.first);
          EXPECT_EQ(state::RangeOf(last, parts, parts).last, range.last);
        }
      }
    }
  }
}

TEST(TimeQueueTest, ASnapshotWithOtherPartsIsRefused) {
  const auto open = [](uint32_t before, uint32_t after) {
    OperatorContext context;
    context.uid = "q";
    const auto probe = state::NewStateProbe({});
    context.state = probe.get();
    context.key_groups = before;
    TimeQueue first;
    EXPECT_TRUE(first.Open(context, "rows", "row/v1").ok());
    context.key_groups = after;
    TimeQueue second;
    return second.Open(context, "rows", "row/v1");
  };
  EXPECT_TRUE(open(128, 1024).ok());
  EXPECT_TRUE(open(1024, 256).ok());
  const Status refused = open(1024, 2048);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("parts:1024"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace weir::operators
