#include "jobs/restore_fit.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "jobs/execution_plan.h"
#include "operators/metrics.h"
#include "operators/runtime/enumerator_host.h"
#include "state/state_probe.h"

namespace weir::jobs {
namespace {

using checkpoint::CheckpointMetadata;
using state::StateOwners;

// State is taken by ranges of hashes (state/restore.h), so that no number of groups rewrites any. Only nested groups
// are let through all the same: a mistyped number is no wish, and a group stays a whole number of the other's groups.
Status CheckKeyGroups(const JobDefinition& job, const CheckpointMetadata& checkpoint) {
  const auto [few, many] = std::minmax(checkpoint.key_groups, job.key_groups);
  if (few != 0 && many % few == 0 && std::has_single_bit(many / few)) return Status::Ok();
  const std::string stored = std::to_string(checkpoint.key_groups);
  return Status::FailedPrecondition("the checkpoint was written with " + stored + " key groups, the definition has " +
                                    std::to_string(job.key_groups) + " (/key-groups): expected " + stored +
                                    ", doubled or halved any number of times");
}

Status CheckSource(const RestoreTarget& target, const NodeDefinition& node, const std::string& saved) {
  WEIR_ASSIGN_OR_RETURN(const auto snapshot, operators::DecodeEnumeratorSnapshot(saved));
  WEIR_ASSIGN_OR_RETURN(const auto source, target.registry->FindSource(node.type)->create(node.options));
  return source->CheckRestored(snapshot.enumerator);
}

// Opens the operator on a state that holds nothing but the types.
Status CheckOperator(const RestoreTarget& target, const Vertex& vertex, const NodeDefinition& node,
                     state::SubtaskState& probe) {
  WEIR_ASSIGN_OR_RETURN(const auto instance, target.registry->FindOperator(node.type)->create(node.options));
  operators::SubtaskMetrics metrics;
  operators::OperatorContext context;
  context.uid = node.id;
  context.parallelism = vertex.parallelism;
  context.key_groups = target.job->key_groups;
  context.state = &probe;
  context.clock = target.clock;
  context.metrics = &metrics;
  return instance->Open(context);
}

void AddMisfit(std::string uid, Status status, std::vector<Misfit>& misfits) {
  if (!status.ok()) misfits.push_back({std::move(uid), std::move(status)});
}

void CheckVertex(const RestoreTarget& target, const Vertex& vertex, const CheckpointMetadata& checkpoint,
                 const StateOwners& renamed, std::vector<Misfit>& misfits) {
  const StateOwners owners = OwnersIn(*target.job, vertex, renamed);
  auto states = state::RegisteredStates::OfSnapshots(HandlesFor(owners, {}, checkpoint), owners);
  if (!states.has_value()) return AddMisfit(target.job->nodes[vertex.nodes.front()].id, states.error(), misfits);
  const std::unique_ptr<state::SubtaskState> probe = state::NewStateProbe(std::move(*states));
  for (const size_t place : vertex.stateful_nodes) {
    const NodeDefinition& node = target.job->nodes[place];
    const auto saved = checkpoint.enumerators.find(StoredUid(node.id, renamed));
    if (node.kind == NodeKind::kSource) {
      if (saved != checkpoint.enumerators.end()) AddMisfit(node.id, CheckSource(target, node, saved->second), misfits);
    } else if (node.kind == NodeKind::kOperator) {
      AddMisfit(node.id, CheckOperator(target, vertex, node, *probe), misfits);
    }
  }
}

// What the checkpoint has of one uid.
struct Stored {
  uint32_t parallelism = 0;
  std::set<std::string> states;
};

std::map<std::string, Stored> StoredOperators(const CheckpointMetadata& checkpoint) {
  std::map<std::string, Stored> stored;
  for (const auto& [uid, state] : checkpoint.enumerators) stored.try_emplace(uid);
  for (const auto& vertex : checkpoint.vertices) {
    for (const std::string& uid : vertex.uids) stored[uid].parallelism = vertex.parallelism;
    for (const auto& subtask : vertex.subtasks) {
      for (const auto& state : subtask.state.states) stored[state.uid].states.insert(state.name);
    }
  }
  return stored;
}

void Describe(const Stored& stored, OperatorFate& fate) {
  fate.parallelism_before = stored.parallelism;
  fate.states.assign(stored.states.begin(), stored.states.end());
}

}  // namespace

std::vector<Misfit> FindMisfits(const RestoreTarget& target, const CheckpointMetadata& checkpoint,
                                const StateOwners& renamed) {
  std::vector<Misfit> misfits;
  AddMisfit({}, CheckKeyGroups(*target.job, checkpoint), misfits);
  for (const Vertex& vertex : target.graph->vertices) CheckVertex(target, vertex, checkpoint, renamed, misfits);
  return misfits;
}

Status CheckFits(const RestoreTarget& target, const CheckpointMetadata& checkpoint, const StateOwners& renamed) {
  const std::vector<Misfit> misfits = FindMisfits(target, checkpoint, renamed);
  if (misfits.empty()) return Status::Ok();
  std::string text;
  for (const Misfit& misfit : misfits) {
    if (!text.empty()) text += "; ";
    if (!misfit.uid.empty()) {
      const auto& nodes = target.job->nodes;
      const auto node =
          std::find_if(nodes.begin(), nodes.end(), [&](const NodeDefinition& each) { return each.id == misfit.uid; });
      text += node->kind == NodeKind::kSource ? "source '" : "operator '";
      text += misfit.uid + "' and checkpoint " + std::to_string(checkpoint.id.number) + ": ";
    }
    text += misfit.cause.message();
  }
  return {misfits.front().cause.code(), std::move(text)};
}

std::vector<OperatorFate> FatesOf(const RestoreTarget& target, const CheckpointMetadata& checkpoint,
                                  const checkpoint::OperatorMatch& match) {
  std::vector<OperatorFate> fates;
  if (checkpoint.vertices.empty() && match.dropped.empty()) return fates;
  const std::map<std::string, Stored> stored = StoredOperators(checkpoint);
  std::map<std::string, OperatorFate> by_uid;
  for (const Vertex& vertex : target.graph->vertices) {
    for (const size_t place : vertex.stateful_nodes) {
      const NodeDefinition& node = target.job->nodes[place];
      OperatorFate& fate = by_uid[node.id];
      fate.uid = node.id;
      fate.parallelism = vertex.parallelism;
      fate.stored_uid = StoredUid(node.id, match.renamed);
      const auto found = stored.find(fate.stored_uid);
      if (found == stored.end()) {
        fate.kind = OperatorFate::Kind::kNew;
      } else {
        Describe(found->second, fate);
      }
    }
  }
  for (const NodeDefinition& node : target.job->nodes) {
    if (const auto fate = by_uid.find(node.id); fate != by_uid.end()) fates.push_back(std::move(fate->second));
  }
  for (const std::string& uid : match.dropped) {
    OperatorFate& fate = fates.emplace_back();
    fate.kind = OperatorFate::Kind::kDropped;
    fate.uid = fate.stored_uid = uid;
    if (const auto found = stored.find(uid); found != stored.end()) Describe(found->second, fate);
  }
  return fates;
}

std::string KeyGroupsChange(const JobDefinition& job, const CheckpointMetadata& checkpoint) {
  if (job.key_groups == checkpoint.key_groups) return {};
  return "key groups " + std::to_string(checkpoint.key_groups) + " -> " + std::to_string(job.key_groups) +
         ": each subtask takes its part of the state, nothing is rewritten for it";
}

std::string ToString(const OperatorFate& fate) {
  std::string text = "operator '" + fate.uid + "'";
  if (fate.kind == OperatorFate::Kind::kNew) return text + " is new: it begins without state";
  text += fate.kind == OperatorFate::Kind::kRestored ? ": state restored" : ": state left behind";
  if (fate.stored_uid != fate.uid) text += " from '" + fate.stored_uid + "'";
  std::string states;
  for (const std::string& state : fate.states) states += (states.empty() ? "" : ", ") + state;
  if (!states.empty()) text += " (" + states + ")";
  if (fate.kind == OperatorFate::Kind::kDropped) return text;
  text += ", parallelism ";
  if (fate.parallelism_before != 0 && fate.parallelism_before != fate.parallelism) {
    text += std::to_string(fate.parallelism_before) + " -> ";
  }
  return text + std::to_string(fate.parallelism);
}

}  // namespace weir::jobs
