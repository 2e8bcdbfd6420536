#include "jobs/state_edit.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/json_escape.h"
#include "checkpoint/savepoint.h"
#include "jobs/position_edit.h"
#include "jobs/state_text.h"
#include "operators/runtime/enumerator_host.h"
#include "operators/runtime/source_head.h"

namespace weir::jobs {
namespace {

using operators::kFinishedPrefix;
using operators::kSplitPrefix;
using OperatorEntry = state::SubtaskState::OperatorEntry;

constexpr size_t kNamesMax = 20;  // in a message

std::string ListOf(const std::set<std::string>& names) {
  if (names.empty()) return "none";
  std::string list;
  size_t listed = 0;
  for (const std::string& name : names) {
    if (++listed > kNamesMax) return list + ", ...";
    list += list.empty() ? "" : ", ";
    list += name;
  }
  return list;
}

state::StateOwners OwnersOf(const checkpoint::VertexMetadata& vertex) {
  state::StateOwners owners;
  for (const std::string& uid : vertex.uids) owners.emplace(uid, uid);
  return owners;
}

// The id in "split:<id>" or "finished:<id>".
std::optional<std::string> SplitOf(const std::string& name) {
  for (const std::string_view prefix : {kSplitPrefix, kFinishedPrefix}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return std::nullopt;
}

// The offsets for people, as the reader would show them.
std::string OffsetsJson(const std::vector<OperatorEntry>& entries) {
  std::string json = "{";
  for (const OperatorEntry& entry : entries) {
    const std::optional<std::string> split = SplitOf(entry.name);
    if (!split.has_value()) continue;
    if (json.size() > 1) json += ',';
    AppendJsonString(json, *split);
    json += ':';
    json += entry.value.empty() ? "null" : entry.value;
  }
  return json + "}";
}

}  // namespace

StateEdit::StateEdit(OfflineState& input, const Clock& clock, std::string folder)
    : input_(input), clock_(clock), folder_(std::move(folder)), result_(input.metadata()) {}

Status StateEdit::CheckFolder() const {
  const auto names = input_.ports().fs->List(folder_);
  if (!names.has_value() && names.error().code() == StatusCode::kNotFound) return Status::Ok();
  if (!names.has_value()) return names.error();
  if (names->empty()) return Status::Ok();
  return Status::AlreadyExists("a savepoint needs a folder of its own: there is something in " + folder_);
}

Status CheckKnownOperator(const checkpoint::CheckpointMetadata& metadata, const std::string& name,
                          const std::string& uid) {
  std::set<std::string> known;
  for (const auto& vertex : metadata.vertices) known.insert(vertex.uids.begin(), vertex.uids.end());
  for (std::string& each : metadata.StatefulUids()) known.insert(std::move(each));
  if (known.contains(uid)) return Status::Ok();
  return Status::InvalidArgument(name + " has no operator \"" + uid + "\"; it has " + ListOf(known));
}

Status CheckKnownState(const checkpoint::CheckpointMetadata& metadata, const std::string& name,
                       const std::string& state) {
  if (state == kEnumeratorState || state.starts_with(kSplitPrefix) || state.starts_with(kFinishedPrefix)) return {};
  std::set<std::string> known;
  for (const auto& vertex : metadata.vertices) {
    for (const auto& subtask : vertex.subtasks) {
      for (const auto& described : subtask.state.states) known.insert(described.name);
    }
  }
  if (known.contains(state)) return {};
  return Status::InvalidArgument(name + " has no state \"" + state + "\"; its operators have " + ListOf(known));
}

Status StateEdit::SetOffset(const Offset& offset) {
  WEIR_RETURN_IF_ERROR(CheckFolder());
  const auto enumerator = result_.enumerators.find(offset.source);
  if (enumerator == result_.enumerators.end()) {
    std::set<std::string> sources;
    for (const auto& [uid, state] : result_.enumerators) sources.insert(uid);
    return Status::InvalidArgument(input_.Name() + " has no source \"" + offset.source + "\"; it has " +
                                   ListOf(sources));
  }
  const std::string where = input_.Name() + ", source \"" + offset.source + "\"";
  auto snapshot = operators::DecodeEnumeratorSnapshot(enumerator->second);
  if (!snapshot.has_value()) return snapshot.error().WithContext(where);
  bool found = false;
  std::set<std::string> splits;
  for (auto& split : result_.assigned_splits) {
    if (split.uid != offset.source) continue;
    splits.insert(split.id);
    if (split.id != offset.split) continue;
    Result<std::string> position = ChangePosition(split.position, offset.change);
    if (!position.has_value()) return position.error().WithContext(where + ", split \"" + split.id + "\"");
    split.position = std::move(*position);
    found = true;
  }
  for (auto& vertex : result_.vertices) {
    if (std::find(vertex.uids.begin(), vertex.uids.end(), offset.source) == vertex.uids.end()) continue;
    for (auto& subtask : vertex.subtasks) {
      if (subtask.state.files.empty()) continue;
      Result<bool> here = SetInReader(offset, subtask, OwnersOf(vertex), splits);
      if (!here.has_value()) return here.error().WithContext(where);
      found = found || *here;
    }
  }
  if (!found) {
    return Status::InvalidArgument(where + ": there is no split \"" + offset.split + "\"; it has " + ListOf(splits));
  }
  // It is to be read again.
  snapshot->finished_splits.erase(offset.split);
  enumerator->second = operators::EncodeEnumeratorSnapshot(*snapshot);
  return Write();
}

Result<bool> StateEdit::SetInReader(const Offset& offset, checkpoint::SubtaskMetadata& subtask,
                                    const state::StateOwners& owners, std::set<std::string>& splits) {
  bool found = false;
  std::string offsets;
  const auto change = [&](state::SubtaskState& state) -> Status {
    WEIR_ASSIGN_OR_RETURN(std::vector<OperatorEntry> entries, state.OperatorEntries(offset.source));
    for (OperatorEntry& entry : entries) {
      const std::optional<std::string> split = SplitOf(entry.name);
      if (split.has_value()) splits.insert(*split);
      if (split != offset.split) continue;
      Result<std::string> position = ChangePosition(entry.value, offset.change);
      if (!position.has_value()) return position.error().WithContext("split \"" + *split + "\"");
      WEIR_RETURN_IF_ERROR(state.DeleteOperatorEntry(offset.source, entry.name));
      entry = {.name = std::string(kSplitPrefix) + *split, .value = std::move(*position)};
      WEIR_RETURN_IF_ERROR(state.PutOperatorEntry(offset.source, entry.name, entry.value));
      found = true;
    }
    offsets = OffsetsJson(entries);
    return Status::Ok();
  };
  WEIR_ASSIGN_OR_RETURN(state::SubtaskStateHandle rewritten, input_.Rewrite(subtask.state, owners, change));
  if (!found) return false;
  subtask.state = std::move(rewritten);
  subtask.offsets[offset.source] = std::move(offsets);
  subtask.finished = false;
  return true;
}

Status StateEdit::DropOperator(const std::string& uid) {
  WEIR_RETURN_IF_ERROR(CheckFolder());
  WEIR_RETURN_IF_ERROR(CheckKnownOperator(result_, input_.Name(), uid));
  return ChangeOwner(uid, std::nullopt);
}

Status StateEdit::RenameOperator(const std::string& from, const std::string& to) {
  WEIR_RETURN_IF_ERROR(CheckFolder());
  WEIR_RETURN_IF_ERROR(CheckKnownOperator(result_, input_.Name(), from));
  if (to.empty() || CheckKnownOperator(result_, input_.Name(), to).ok()) {
    return Status::InvalidArgument(input_.Name() + ": operator \"" + from + "\" can't be called \"" + to +
                                   (to.empty() ? "\": expected a name" : "\": there is one of that name"));
  }
  return ChangeOwner(from, to);
}

Status StateEdit::ChangeOwner(const std::string& uid, const std::optional<std::string>& now) {
  for (auto& vertex : result_.vertices) {
    const auto place = std::find(vertex.uids.begin(), vertex.uids.end(), uid);
    if (place == vertex.uids.end()) continue;
    state::StateOwners owners = OwnersOf(vertex);
    owners.erase(uid);
    if (now.has_value()) owners.emplace(uid, *now);
    for (auto& subtask : vertex.subtasks) WEIR_RETURN_IF_ERROR(ChangeOwnerIn(subtask, owners));
    if (now.has_value()) {
      *place = *now;
    } else {
      vertex.uids.erase(place);
    }
  }
  std::erase_if(result_.vertices, [](const auto& vertex) { return vertex.uids.empty(); });
  if (auto enumerator = result_.enumerators.extract(uid); !enumerator.empty() && now.has_value()) {
    enumerator.key() = *now;
    result_.enumerators.insert(std::move(enumerator));
  }
  std::erase_if(result_.assigned_splits, [&](const auto& split) { return split.uid == uid && !now.has_value(); });
  for (auto& split : result_.assigned_splits) {
    if (split.uid == uid) split.uid = *now;
  }
  return Write();
}

Status StateEdit::ChangeOwnerIn(checkpoint::SubtaskMetadata& subtask, const state::StateOwners& owners) {
  std::map<std::string, std::string> offsets;
  for (auto& [uid, json] : subtask.offsets) {
    if (const auto owner = owners.find(uid); owner != owners.end()) offsets.emplace(owner->second, std::move(json));
  }
  subtask.offsets = std::move(offsets);
  if (subtask.state.files.empty()) return Status::Ok();
  // What was handed over to a new owner is kept by being put again.
  const auto keep = [&](state::SubtaskState& state) -> Status {
    for (const auto& [stored, uid] : owners) {
      WEIR_ASSIGN_OR_RETURN(const std::vector<OperatorEntry> entries, state.OperatorEntries(uid));
      for (const auto& entry : entries) WEIR_RETURN_IF_ERROR(state.PutOperatorEntry(uid, entry.name, entry.value));
    }
    return Status::Ok();
  };
  Result<state::SubtaskStateHandle> rewritten = input_.Rewrite(subtask.state, owners, keep);
  if (!rewritten.has_value()) return rewritten.error().WithContext(input_.Name());
  subtask.state = std::move(*rewritten);
  return Status::Ok();
}

Status StateEdit::Write() {
  FileSystem& fs = *input_.ports().fs;
  const CheckpointId parent = result_.id;
  result_.format_version = checkpoint::kMetadataFormatVersion;
  result_.ancestors = checkpoint::AncestorsOfChild(result_);
  result_.restored_from.push_back(parent);
  result_.id.id = input_.ports().random->NextId();
  result_.created_wall_ns = clock_.WallNs();
  const bool was_there = Exists(fs, folder_);
  const Status status = checkpoint::WriteSavepoint(fs, result_, input_.root(), folder_);
  if (!status.ok() && !was_there) (void)fs.RemoveTree(folder_);
  return status;
}

}  // namespace weir::jobs
