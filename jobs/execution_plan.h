// Which subtask runs where in the hash space and which state of the restored checkpoint it takes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_coordinator.h"
#include "checkpoint/checkpoint_metadata.h"
#include "jobs/job_graph.h"
#include "state/snapshot.h"

namespace weir::jobs {

struct SubtaskPlan {
  SubtaskId id;
  state::HashRange range;
  // Handles of former subtasks that held state of this vertex's operators and overlap the range; empty: starts without.
  std::vector<state::SubtaskStateHandle> restored;
  state::StateOwners owners;  // of what is in them: this vertex's operators
};

struct ExecutionPlan {
  uint32_t key_groups = 128;
  std::vector<std::vector<SubtaskPlan>> vertices;  // by vertex, by subtask
};

// Who in `vertex` has which state of a checkpoint; `renamed` as RestoredJob says.
state::StateOwners OwnersIn(const JobDefinition& job, const Vertex& vertex, const state::StateOwners& renamed);
// The uid that the operator `uid` has in a checkpoint.
std::string StoredUid(const std::string& uid, const state::StateOwners& renamed);
// Snapshots of former subtasks that overlap `range` and may hold something of `owners`.
std::vector<state::SubtaskStateHandle> HandlesFor(const state::StateOwners& owners, const state::HashRange& range,
                                                  const checkpoint::CheckpointMetadata& restored);

// `restored` null: a first start. It may have another number of key groups (jobs/restore_fit.h): what a subtask takes
// is a range of hashes.
ExecutionPlan MakeExecutionPlan(const JobDefinition& job, const JobGraph& graph,
                                const checkpoint::CheckpointMetadata* restored, const state::StateOwners& renamed);

// The graph as `_metadata` describes it.
checkpoint::JobShape ShapeOf(const JobDefinition& job, const JobGraph& graph);

}  // namespace weir::jobs
