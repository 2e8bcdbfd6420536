#include "jobs/execution_plan.h"

#include <algorithm>
#include <utility>

#include "state/key_groups.h"

namespace weir::jobs {
namespace {

bool Overlap(const state::HashRange& a, const state::HashRange& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::string StoredUid(const std::string& uid, const state::StateOwners& renamed) {
  const auto found = std::find_if(renamed.begin(), renamed.end(), [&](const auto& pair) { return pair.second == uid; });
  return found == renamed.end() ? uid : found->first;
}

state::StateOwners OwnersIn(const JobDefinition& job, const Vertex& vertex, const state::StateOwners& renamed) {
  state::StateOwners owners;
  for (const size_t node : vertex.stateful_nodes) {
    owners.emplace(StoredUid(job.nodes[node].id, renamed), job.nodes[node].id);
  }
  return owners;
}

std::vector<state::SubtaskStateHandle> HandlesFor(const state::StateOwners& owners, const state::HashRange& range,
                                                  const checkpoint::CheckpointMetadata& restored) {
  std::vector<state::SubtaskStateHandle> handles;
  for (const auto& vertex : restored.vertices) {
    const bool shares = std::any_of(vertex.uids.begin(), vertex.uids.end(),
                                    [&](const std::string& uid) { return owners.contains(uid); });
    if (!shares) continue;
    for (const auto& subtask : vertex.subtasks) {
      if (!subtask.state.files.empty() && Overlap(subtask.state.range, range)) handles.push_back(subtask.state);
    }
  }
  return handles;
}

ExecutionPlan MakeExecutionPlan(const JobDefinition& job, const JobGraph& graph,
                                const checkpoint::CheckpointMetadata* restored, const state::StateOwners& renamed) {
  ExecutionPlan plan;
  plan.key_groups = job.key_groups;
  for (const Vertex& vertex : graph.vertices) {
    std::vector<SubtaskPlan>& subtasks = plan.vertices.emplace_back();
    for (uint32_t i = 0; i < vertex.parallelism; ++i) {
      SubtaskPlan subtask;
      subtask.id = {vertex.id, i};
      subtask.range = state::RangeOf(i, vertex.parallelism, job.key_groups);
      subtask.owners = OwnersIn(job, vertex, renamed);
      if (restored != nullptr && vertex.has_state()) {
        subtask.restored = HandlesFor(subtask.owners, subtask.range, *restored);
      }
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
