#include "jobs/execution_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include "state/key_groups.h"

namespace weir::jobs {
namespace {

bool Overlap(const state::HashRange& a, const state::HashRange& b) { return a.first <= b.last && b.first <= a.last; }

std::vector<state::SubtaskStateHandle> HandlesFor(const std::set<std::string>& uids, const state::HashRange& range,
                                                  const checkpoint::CheckpointMetadata& restored) {
  std::vector<state::SubtaskStateHandle> handles;
  for (const auto& vertex : restored.vertices) {
    const bool shares =
        std::any_of(vertex.uids.begin(), vertex.uids.end(), [&](const std::string& uid) { return uids.contains(uid); });
    if (!shares) continue;
    for (const auto& subtask : vertex.subtasks) {
      if (!subtask.state.files.empty() && Overlap(subtask.state.range, range)) handles.push_back(subtask.state);
    }
  }
  return handles;
}

}  // namespace

Result<ExecutionPlan> MakeExecutionPlan(const JobDefinition& job, const JobGraph& graph,
                                        const checkpoint::CheckpointMetadata* restored) {
  if (restored != nullptr && restored->key_groups != job.key_groups) {
    return Error(Status::FailedPrecondition("the checkpoint was written with " + std::to_string(restored->key_groups) +
                                            " key groups, the definition has " + std::to_string(job.key_groups) +
                                            " (/key-groups): set it to " + std::to_string(restored->key_groups)));
  }
  ExecutionPlan plan;
  plan.key_groups = job.key_groups;
  for (const Vertex& vertex : graph.vertices) {
    std::set<std::string> uids;
    for (size_t node : vertex.nodes) uids.insert(job.nodes[node].id);
    std::vector<SubtaskPlan>& subtasks = plan.vertices.emplace_back();
    for (uint32_t i = 0; i < vertex.parallelism; ++i) {
      SubtaskPlan subtask;
      subtask.id = {vertex.id, i};
      subtask.range = state::RangeOf(i, vertex.parallelism, job.key_groups);
      if (restored != nullptr && vertex.has_state) subtask.restored = HandlesFor(uids, subtask.range, *restored);
      subtasks.push_back(std::move(subtask));
    }
  }
  return plan;
}

checkpoint::JobShape ShapeOf(const JobDefinition& job, const JobGraph& graph) {
  checkpoint::JobShape shape;
  shape.key_groups = job.key_groups;
  for (const Vertex& vertex : graph.vertices) {
    auto& described = shape.vertices.emplace_back();
    described.vertex = vertex.id;
    described.parallelism = vertex.parallelism;
    for (size_t node : vertex.nodes) described.uids.push_back(job.nodes[node].id);
  }
  return shape;
}

}  // namespace weir::jobs
