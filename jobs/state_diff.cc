#include "jobs/state_diff.h"

#include <set>

#include "base/bytes.h"
#include "jobs/state_text.h"
#include "operators/runtime/enumerator_host.h"
#include "operators/runtime/source_head.h"

namespace weir::jobs {
namespace {

void AddEntry(const StateEntry& entry, StateOverview& overview) {
  OperatorSummary& owner = overview.operators[entry.state->uid];
  if (entry.state->kind == "operator") {
    owner.entries[entry.state->name] = entry.value;
    return;
  }
  StateSummary& state = owner.states[entry.state->name];
  ++state.entries;
  state.bytes += entry.key.size() + entry.name_space.size() + entry.value.size();
  std::string identity;
  for (const std::string_view part : {entry.key, entry.name_space, entry.value}) AppendLengthPrefixed(identity, part);
  state.digest += Hash64(identity);
}

Status AddEnumerators(const checkpoint::CheckpointMetadata& metadata, StateOverview& overview) {
  for (const auto& [uid, bytes] : metadata.enumerators) {
    auto snapshot = operators::DecodeEnumeratorSnapshot(bytes);
    if (!snapshot.has_value()) return snapshot.error().WithContext("source \"" + uid + "\"");
    OperatorSummary& source = overview.operators[uid];
    source.entries[std::string(kEnumeratorState)] = std::move(snapshot->enumerator);
    for (auto& [id, position] : snapshot->finished_splits)
      source.entries[std::string(operators::kFinishedPrefix) + id] = std::move(position);
  }
  for (const auto& split : metadata.assigned_splits)
    overview.operators[split.uid].entries[std::string(operators::kSplitPrefix) + split.id] = split.position;
  return Status::Ok();
}

class Comparison {
 public:
  std::vector<std::string> Run(const StateOverview& a, const StateOverview& b) {
    Changed("job", a.job, b.job);
    Changed("key groups", std::to_string(a.key_groups), std::to_string(b.key_groups));
    Each(a.operators, b.operators, "operator ",
         [this](const std::string& name, const auto& one, const auto& other) { CompareOperators(name, one, other); });
    return std::move(lines_);
  }

 private:
  void Changed(const std::string& name, const std::string& a, const std::string& b) {
    if (a != b) lines_.push_back(name + ": " + a + " -> " + b);
  }

  // What is in both goes to `compare`.
  template <class Map, class Compare>
  void Each(const Map& a, const Map& b, const std::string& prefix, const Compare& compare) {
    std::set<std::string> names;
    for (const auto& [name, value] : a) names.insert(name);
    for (const auto& [name, value] : b) names.insert(name);
    for (const std::string& name : names) {
      const auto one = a.find(name);
      const auto other = b.find(name);
      if (one != a.end() && other != b.end()) {
        compare(prefix + name, one->second, other->second);
      } else {
        lines_.push_back(prefix + name + ": only in " + (one == a.end() ? "the second" : "the first"));
      }
    }
  }

  void CompareOperators(const std::string& name, const OperatorSummary& a, const OperatorSummary& b) {
    Changed(name + ": parallelism", std::to_string(a.parallelism), std::to_string(b.parallelism));
    Each(a.entries, b.entries, name + ": ",
         [this](const std::string& entry, const std::string& one, const std::string& other) {
           if (one == other) return;
           std::string line = entry + ": ";
           AppendForeignText(line, one);
           line += " -> ";
           AppendForeignText(line, other);
           lines_.push_back(std::move(line));
         });
    Each(a.states, b.states, name + ": state ",
         [this](const std::string& state, const StateSummary& one, const StateSummary& other) {
           Changed(state, one.type, other.type);
           const bool same_size = one.entries == other.entries && one.bytes == other.bytes;
           if (!same_size) lines_.push_back(state + ": " + SizeOf(one) + " -> " + SizeOf(other));
           if (same_size && one.digest != other.digest) lines_.push_back(state + ": " + SizeOf(one) + ", other values");
         });
  }

  static std::string SizeOf(const StateSummary& state) {
    return std::to_string(state.entries) + " entries of " + std::to_string(state.bytes) + " bytes";
  }

  std::vector<std::string> lines_;
};

}  // namespace

Result<StateOverview> Summarise(const OfflineState& state) {
  const checkpoint::CheckpointMetadata& metadata = state.metadata();
  StateOverview overview{.job = metadata.job, .key_groups = metadata.key_groups, .operators = {}};
  for (const auto& vertex : metadata.vertices) {
    for (const std::string& uid : vertex.uids) overview.operators[uid].parallelism = vertex.parallelism;
    for (const auto& subtask : vertex.subtasks) {
      for (const auto& described : subtask.state.states) {
        overview.operators[described.uid].states[described.name].type = described.kind + " of " + described.codec;
      }
    }
  }
  if (Status status = AddEnumerators(metadata, overview); !status.ok()) return Error(status.WithContext(state.Name()));
  WEIR_RETURN_IF_ERROR(state.VisitEntries([&](const StateEntry& entry) {
    AddEntry(entry, overview);
    return Status::Ok();
  }));
  return overview;
}

std::vector<std::string> Differences(const StateOverview& a, const StateOverview& b) { return Comparison().Run(a, b); }

}  // namespace weir::jobs
