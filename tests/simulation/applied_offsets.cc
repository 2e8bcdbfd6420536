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

}  // namespace

// All output is there for everybody to see.
bool AppliedOffsets::IsVisible(const CheckpointMetadata& metadata) const {
  for (const checkpoint::SystemProgress& system : metadata.systems) {
    const bool in_folder = system.identity.starts_with("file:");
    const uint64_t marker = in_folder ? 0 : marker_(system.identity);
    const std::string folder = system.identity.substr(system.identity.find(':') + 1);
    for (const checkpoint::CheckpointOutput& output : system.later) {
      if (!in_folder && marker < output.checkpoint.number) return false;
      for (const checkpoint::Committable& part : output.committables) {
        if (!in_folder) continue;
        const auto name = nlohmann::json::parse(part.payload).at("name").get<std::string>();
        if (!fs_->Stat(JoinPath(folder, name)).has_value()) return false;
      }
    }
  }
  return true;
}

void AppliedOffsets::NoteDurable(uint64_t number) {
  const std::string name = "chk-" + std::to_string(number);
  auto metadata = checkpoint::ReadCheckpointFolder(*fs_, JoinPath(storage_, name));
  if (metadata.has_value()) durable_.insert_or_assign(name, std::move(*metadata));
}

void AppliedOffsets::NoteDurableOfZombie(FileSystem& fs, uint64_t number, uint64_t taken_over) {
  const std::string name = "chk-" + std::to_string(number);
  auto metadata = checkpoint::ReadCheckpointFolder(fs, JoinPath(storage_, name));
  if (!metadata.has_value()) return;
  for (const checkpoint::SystemProgress& system : metadata->systems) {
    if (!system.later.empty() && system.later.back().checkpoint.number > taken_over) return;
  }
  durable_.insert_or_assign("zombie-" + name, std::move(*metadata));
}

void AppliedOffsets::NoteAllDurable() {
  const auto names = fs_->List(storage_);
  if (!names.has_value()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with("chk-") || name.ends_with(".damaged")) continue;
    auto metadata = checkpoint::ReadCheckpointFolder(*fs_, JoinPath(storage_, name));
    if (metadata.has_value()) durable_.insert_or_assign(name, std::move(*metadata));
  }
}

std::string AppliedOffsets::Check(const PartitionOffsets& acknowledged) {
  std::erase_if(durable_, [this](const auto& one) {
    if (!IsVisible(one.second)) return false;
    for (const auto& [split, offset] : OffsetsIn(one.second)) applied_[split] = std::max(applied_[split], offset);
    return true;
  });
  for (const auto& [split, offset] : acknowledged) {
    const auto found = applied_.find(split);
    const int64_t reached = found == applied_.end() ? 0 : found->second;
    if (offset > reached) {
      return split + ": offset " + std::to_string(offset) + " is acknowledged, applied checkpoints have reached " +
             std::to_string(reached);
    }
  }
  return {};
}

}  // namespace weir::simulation
