// Which subtask runs where in the hash space and which state of the restored checkpoint it takes. Pure.
#pragma once

#include <optional>
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
};

struct ExecutionPlan {
  uint32_t key_groups = 128;
  std::vector<std::vector<SubtaskPlan>> vertices;  // by vertex, by subtask
};

// `restored` null: a first start. FailedPrecondition if the checkpoint has another number of key groups than the
// definition.
Result<ExecutionPlan> MakeExecutionPlan(const JobDefinition& job, const JobGraph& graph,
                                        const checkpoint::CheckpointMetadata* restored);

// The graph as `_metadata` describes it.
checkpoint::JobShape ShapeOf(const JobDefinition& job, const JobGraph& graph);

}  // namespace weir::jobs
