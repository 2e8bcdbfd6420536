// An fsync that failed is never believed later: the pages may be gone though the next one says ok.
#include <gtest/gtest.h>

#include "state/key_groups.h"
#include "state/ordered_map_store.h"
#include "state/table_state.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::state {
namespace {

// Found by the simulator, seed 106646.
TEST(FailedSyncTest, NoLaterSnapshotOfTheStoreIsBelieved) {
  simulation::SimFileSystem fs(1);
  const auto stores = NewOrderedMapStoreFactory(fs);
  StateBudget budget(1 << 20);
  SubtaskStateOptions options;
  options.fs = &fs;
  options.stores = stores.get();
  options.budget = &budget;
  options.local_dir = "/local";
  options.job_dir = "/job";
  options.unique_prefix = "a-0-0-";
  auto state = OpenSubtaskState(options, {});
  ASSERT_TRUE(state.has_value()) << state.error().ToString();
  const auto id = (*state)->Register({.uid = "count", .name = "n", .kind = "value", .codec = "int64"});
  ASSERT_TRUE(id.has_value());
  ASSERT_TRUE((*state)->Put(*id, {.hash = HashKey("k"), .key = "k", .name_space = {}}, "1").ok());

  fs.Arm({.kind = simulation::OperationKind::kSync, .path_part = "/job/shared/"});
  auto pending = (*state)->Freeze(CheckpointId{1, {}});
  const auto first = pending->Write();
  ASSERT_FALSE(first.has_value());
  (*state)->SnapshotWritten(first.error());
  (*state)->CheckpointAborted(CheckpointId{1, {}});

  pending = (*state)->Freeze(CheckpointId{2, {}});
  const auto second = pending->Write();
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find("failed sync"), std::string::npos) << second.error().ToString();
  (*state)->SnapshotWritten(second.error());
}

}  // namespace
}  // namespace weir::state
