#include "tests/simulation/applied_offsets.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

#include "checkpoint/checkpoint_storage.h"
#include "operators/runtime/enumerator_host.h"

namespace weir::simulation {
namespace {

using checkpoint::CheckpointMetadata;

void Note(const std::string& split, const nlohmann::json& position, PartitionOffsets& offsets) {
  int64_t& offset = offsets[split];
  offset = std::max(offset, position.value("offset", int64_t{0}));
}

PartitionOffsets OffsetsIn(const CheckpointMetadata& metadata) {
  PartitionOffsets offsets;
  for (const checkpoint::AssignedSplit& split : metadata.assigned_splits) {
    Note(split.id, nlohmann::json::parse(split.position), offsets);
  }
  for (const auto& [uid, bytes] : metadata.enumerators) {
    const auto snapshot = operators::DecodeEnumeratorSnapshot(bytes);
    if (!snapshot.has_value()) continue;
    for (const auto& [id, position] : snapshot->finished_splits) Note(id, nlohmann::json::parse(position), offsets);
  }
  for (const checkpoint::VertexMetadata& vertex : metadata.vertices) {
    for (const checkpoint::SubtaskMetadata& subtask : vertex.subtasks) {
      for (const auto& [uid, text] : subtask.offsets) {
        const nlohmann::json positions = nlohmann::json::parse(text);
        for (const auto& [id, position] : positions.items()) Note(id, position, offsets);
      }
    }
  }
  return offsets;
}

// All output is there for everybody to see.
bool IsVisible(FileSystem& fs, const CheckpointMetadata& metadata) {
  for (const checkpoint::SystemProgress& system : metadata.systems) {
    const std::string folder = system.identity.substr(system.identity.find(':') + 1);
    for (const checkpoint::CheckpointOutput& output : system.later) {
      for (const checkpoint::Committable& part : output.committables) {
        const auto name = nlohmann::json::parse(part.payload).at("name").get<std::string>();
        if (!fs.Stat(JoinPath(folder, name)).has_value()) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::string CheckAcknowledged(FileSystem& fs, const std::string& storage, const PartitionOffsets& acknowledged) {
  PartitionOffsets applied;
  const auto names = fs.List(storage);
  if (!names.has_value()) return {};  // the disk is down: the check after the restart sees it
  for (const std::string& name : *names) {
    if (!name.starts_with("chk-")) continue;
    const auto metadata = checkpoint::ReadCheckpointFolder(fs, JoinPath(storage, name));
    if (!metadata.has_value() || !IsVisible(fs, *metadata)) continue;
    for (const auto& [split, offset] : OffsetsIn(*metadata)) applied[split] = std::max(applied[split], offset);
  }
  for (const auto& [split, offset] : acknowledged) {
    const auto found = applied.find(split);
    const int64_t reached = found == applied.end() ? 0 : found->second;
    if (offset > reached) {
      return split + ": offset " + std::to_string(offset) + " is acknowledged, applied checkpoints have reached " +
             std::to_string(reached);
    }
  }
  return {};
}

}  // namespace weir::simulation
