#include "checkpoint/checkpoint_metadata.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "checkpoint/metadata.pb.h"

namespace weir::checkpoint {
namespace {

constexpr std::string_view kMagic = "WEIRCKPT";
constexpr size_t kHeaderBytes = 20;
constexpr size_t kChecksumBytes = 8;

void ToProto(const UniqueId& id, proto::UniqueId& out) {
  out.set_high(id.high);
  out.set_low(id.low);
}

UniqueId FromProto(const proto::UniqueId& in) { return {.high = in.high(), .low = in.low()}; }

void ToProto(const CheckpointId& id, proto::CheckpointId& out) {
  out.set_number(id.number);
  ToProto(id.id, *out.mutable_id());
}

CheckpointId FromProto(const proto::CheckpointId& in) { return {.number = in.number(), .id = FromProto(in.id())}; }

void ToProto(const SubtaskMetadata& subtask, proto::Subtask& out) {
  out.set_index(subtask.index);
  out.set_hash_first(subtask.state.range.first);
  out.set_hash_last(subtask.state.range.last);
  for (const state::StateFile& file : subtask.state.files) {
    proto::StateFile& to = *out.add_files();
    to.set_name(file.name);
    to.set_path(file.path);
    to.set_size_bytes(file.size_bytes);
    to.set_checksum(file.checksum);
  }
  for (const state::StateDescription& description : subtask.state.states) {
    proto::StateDescription& to = *out.add_states();
    to.set_uid(description.uid);
    to.set_name(description.name);
    to.set_kind(description.kind);
    to.set_codec(description.codec);
    to.set_id(description.id);
  }
  out.set_entries_new(subtask.state.entries_new);
  out.set_bytes_new(subtask.state.bytes_new);
  for (const auto& [uid, json] : subtask.offsets) {
    proto::Offsets& to = *out.add_offsets();
    to.set_uid(uid);
    to.set_json(json);
  }
  out.set_finished(subtask.finished);
}

SubtaskMetadata FromProto(const proto::Subtask& in) {
  SubtaskMetadata subtask;
  subtask.index = in.index();
  subtask.state.range = {.first = in.hash_first(), .last = in.hash_last()};
  for (const proto::StateFile& file : in.files()) {
    subtask.state.files.push_back(
        {.name = file.name(), .path = file.path(), .size_bytes = file.size_bytes(), .checksum = file.checksum()});
  }
  for (const proto::StateDescription& from : in.states()) {
    subtask.state.states.push_back(
        {.uid = from.uid(), .name = from.name(), .kind = from.kind(), .codec = from.codec(), .id = from.id()});
  }
  subtask.state.entries_new = in.entries_new();
  subtask.state.bytes_new = in.bytes_new();
  for (const proto::Offsets& offsets : in.offsets()) subtask.offsets[offsets.uid()] = offsets.json();
  subtask.finished = in.finished();
  return subtask;
}

void ToProto(const SystemProgress& system, proto::System& out) {
  out.set_identity(system.identity);
  if (system.base.has_value()) ToProto(*system.base, *out.mutable_base());
  for (const CheckpointOutput& output : system.later) {
    proto::CheckpointOutput& to = *out.add_later();
    ToProto(output.checkpoint, *to.mutable_checkpoint());
    for (const Committable& committable : output.committables) {
      proto::Committable& one = *to.add_committables();
      one.set_uid(committable.uid);
      one.set_payload(committable.payload);
      one.set_size_bytes(committable.size_bytes);
      one.set_rows(committable.rows);
      one.set_segment(committable.segment);
      one.set_checksum(committable.checksum);
    }
  }
}

SystemProgress FromProto(const proto::System& in) {
  SystemProgress system;
  system.identity = in.identity();
  if (in.has_base()) system.base = FromProto(in.base());
  for (const proto::CheckpointOutput& from : in.later()) {
    CheckpointOutput output{.checkpoint = FromProto(from.checkpoint()), .committables = {}};
    for (const proto::Committable& one : from.committables()) {
      output.committables.push_back({.system = in.identity(),
                                     .uid = one.uid(),
                                     .payload = one.payload(),
                                     .size_bytes = one.size_bytes(),
                                     .rows = one.rows(),
                                     .segment = one.segment(),
                                     .checksum = one.checksum()});
    }
    system.later.push_back(std::move(output));
  }
  return system;
}

proto::Metadata ToProto(const CheckpointMetadata& metadata) {
  proto::Metadata out;
  out.set_job(metadata.job);
  ToProto(metadata.storage, *out.mutable_storage());
  ToProto(metadata.attempt, *out.mutable_attempt());
  ToProto(metadata.id, *out.mutable_id());
  for (const CheckpointId& id : metadata.restored_from) ToProto(id, *out.add_restored_from());
  for (const CheckpointId& id : metadata.ancestors) ToProto(id, *out.add_ancestors());
  out.set_key_groups(metadata.key_groups);
  for (const VertexMetadata& vertex : metadata.vertices) {
    proto::Vertex& to = *out.add_vertices();
    to.set_vertex(vertex.vertex);
    for (const std::string& uid : vertex.uids) to.add_uids(uid);
    to.set_parallelism(vertex.parallelism);
    for (const SubtaskMetadata& subtask : vertex.subtasks) ToProto(subtask, *to.add_subtasks());
  }
  for (const auto& [uid, state] : metadata.enumerators) {
    proto::Enumerator& to = *out.add_enumerators();
    to.set_uid(uid);
    to.set_state(state);
  }
  for (const AssignedSplit& split : metadata.assigned_splits) {
    proto::AssignedSplit& to = *out.add_assigned_splits();
    to.set_uid(split.uid);
    to.set_id(split.id);
    to.set_position(split.position);
  }
  for (const SystemProgress& system : metadata.systems) ToProto(system, *out.add_systems());
  out.set_created_wall_ns(metadata.created_wall_ns);
  out.set_savepoint(metadata.savepoint);
  if (metadata.claimed.has_value()) {
    proto::ClaimedSavepoint& to = *out.mutable_claimed();
    to.set_folder(metadata.claimed->folder);
    ToProto(metadata.claimed->id, *to.mutable_id());
    to.set_deleted(metadata.claimed->deleted);
  }
  return out;
}

CheckpointMetadata FromProto(const proto::Metadata& in) {
  CheckpointMetadata metadata;
  metadata.job = in.job();
  metadata.storage = FromProto(in.storage());
  metadata.attempt = FromProto(in.attempt());
  metadata.id = FromProto(in.id());
  for (const proto::CheckpointId& id : in.restored_from()) metadata.restored_from.push_back(FromProto(id));
  for (const proto::CheckpointId& id : in.ancestors()) metadata.ancestors.push_back(FromProto(id));
  metadata.key_groups = in.key_groups();
  for (const proto::Vertex& from : in.vertices()) {
    VertexMetadata vertex;
    vertex.vertex = from.vertex();
    vertex.uids.assign(from.uids().begin(), from.uids().end());
    vertex.parallelism = from.parallelism();
    for (const proto::Subtask& subtask : from.subtasks()) vertex.subtasks.push_back(FromProto(subtask));
    metadata.vertices.push_back(std::move(vertex));
  }
  for (const proto::Enumerator& enumerator : in.enumerators()) {
    metadata.enumerators[enumerator.uid()] = enumerator.state();
  }
  for (const proto::AssignedSplit& split : in.assigned_splits()) {
    metadata.assigned_splits.push_back({.uid = split.uid(), .id = split.id(), .position = split.position()});
  }
  for (const proto::System& system : in.systems()) metadata.systems.push_back(FromProto(system));
  metadata.created_wall_ns = in.created_wall_ns();
  metadata.savepoint = in.savepoint();
  if (in.has_claimed()) {
    metadata.claimed = {
        .folder = in.claimed().folder(), .id = FromProto(in.claimed().id()), .deleted = in.claimed().deleted()};
  }
  return metadata;
}

Status Damaged(const std::string& file_name, std::string_view what) {
  std::string message = file_name;
  message += ": ";
  message += what;
  return Status::Corruption(std::move(message));
}

// What a well-formed message may still get wrong.
Status CheckContent(const CheckpointMetadata& metadata, const std::string& file_name) {
  if (metadata.id.number == 0 || metadata.id.id.empty()) return Damaged(file_name, "names no checkpoint");
  for (const SystemProgress& system : metadata.systems) {
    uint64_t before = 0;
    for (const CheckpointOutput& output : system.later) {
      if (output.checkpoint.number <= before || output.checkpoint.number > metadata.id.number) {
        return Damaged(file_name, "outputs of system " + system.identity + " are not in order of checkpoints");
      }
      before = output.checkpoint.number;
    }
  }
  return Status::Ok();
}

}  // namespace

std::optional<CheckpointId> SystemProgress::Target() const {
  return later.empty() ? base : std::optional<CheckpointId>(later.back().checkpoint);
}

const SystemProgress* CheckpointMetadata::System(std::string_view identity) const {
  const auto found = std::find_if(systems.begin(), systems.end(),
                                  [identity](const SystemProgress& system) { return system.identity == identity; });
  return found == systems.end() ? nullptr : &*found;
}

uint64_t SystemProgress::Rows() const {
  uint64_t rows = 0;
  for (const CheckpointOutput& output : later) {
    for (const Committable& committable : output.committables) rows += committable.rows;
  }
  return rows;
}

bool CheckpointMetadata::IsOrDescendsFrom(UniqueId other) const {
  const auto is_other = [other](const CheckpointId& checkpoint) { return checkpoint.id == other; };
  return id.id == other || std::any_of(restored_from.begin(), restored_from.end(), is_other) ||
         std::any_of(ancestors.begin(), ancestors.end(), is_other);
}

std::vector<state::StateFile> CheckpointMetadata::StateFiles() const {
  std::map<std::string, const state::StateFile*> by_path;
  for (const VertexMetadata& vertex : vertices) {
    for (const SubtaskMetadata& subtask : vertex.subtasks) {
      for (const state::StateFile& file : subtask.state.files) by_path.emplace(file.path, &file);
    }
  }
  std::vector<state::StateFile> files;
  files.reserve(by_path.size());
  for (const auto& [path, file] : by_path) files.push_back(*file);
  return files;
}

std::set<std::string> CheckpointMetadata::Segments() const {
  std::set<std::string> names;
  for (const SystemProgress& system : systems) {
    for (const CheckpointOutput& output : system.later) {
      for (const Committable& committable : output.committables) {
        if (!committable.segment.empty()) names.insert(committable.segment);
      }
    }
  }
  return names;
}

std::vector<std::string> CheckpointMetadata::StatefulUids() const {
  std::set<std::string> uids;
  for (const VertexMetadata& vertex : vertices) {
    for (const SubtaskMetadata& subtask : vertex.subtasks) {
      for (const state::StateDescription& description : subtask.state.states) uids.insert(description.uid);
    }
  }
  for (const auto& [uid, state] : enumerators) uids.insert(uid);
  return {uids.begin(), uids.end()};
}

void CheckpointMetadata::MoveStateFiles(const std::map<std::string, std::string>& to) {
  for (VertexMetadata& vertex : vertices) {
    for (SubtaskMetadata& subtask : vertex.subtasks) {
      for (state::StateFile& file : subtask.state.files) file.path = to.at(file.path);
    }
  }
}

uint64_t CheckpointMetadata::StateBytes() const {
  uint64_t bytes = 0;
  for (const state::StateFile& file : StateFiles()) bytes += file.size_bytes;
  return bytes;
}

std::vector<CheckpointId> AncestorsOfChild(const CheckpointMetadata& parent) {
  std::vector<CheckpointId> ancestors = parent.ancestors;
  ancestors.push_back(parent.id);
  if (ancestors.size() > kAncestorsMax) {
    ancestors.erase(ancestors.begin(), ancestors.end() - static_cast<std::ptrdiff_t>(kAncestorsMax));
  }
  return ancestors;
}

std::string EncodeMetadata(const CheckpointMetadata& metadata) {
  const std::string message = ToProto(metadata).SerializeAsString();
  std::string bytes(kMagic);
  AppendBigEndian32(bytes, metadata.format_version);
  AppendBigEndian64(bytes, message.size());
  bytes += message;
  AppendBigEndian64(bytes, Hash64(bytes));
  return bytes;
}

Result<CheckpointMetadata> DecodeMetadata(std::string_view bytes, const std::string& file_name) {
  if (bytes.empty()) return Error(Damaged(file_name, "is empty"));
  if (bytes.size() < kMagic.size() || bytes.substr(0, kMagic.size()) != kMagic) {
    return Error(Damaged(file_name, "does not begin with WEIRCKPT: not a checkpoint's metadata"));
  }
  if (bytes.size() < kHeaderBytes + kChecksumBytes) return Error(Damaged(file_name, "is cut short in its header"));
  const uint32_t version = ReadBigEndian32(bytes.substr(8));
  const uint64_t length = ReadBigEndian64(bytes.substr(12));
  if (version > kMetadataFormatVersion || version == 0) {
    return Error(Damaged(file_name, "has format version " + std::to_string(version) + ", this program reads up to " +
                                        std::to_string(kMetadataFormatVersion)));
  }
  const uint64_t body = bytes.size() - kHeaderBytes - kChecksumBytes;
  if (length != body) {
    return Error(Damaged(
        file_name, "holds " + std::to_string(body) + " bytes of metadata, its header says " + std::to_string(length)));
  }
  const std::string_view checked = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Hash64(checked) != ReadBigEndian64(bytes.substr(checked.size()))) {
    return Error(Damaged(file_name, "has a wrong checksum: its bytes have changed"));
  }
  proto::Metadata message;
  if (length > INT32_MAX || !message.ParseFromArray(bytes.data() + kHeaderBytes, static_cast<int>(length))) {
    return Error(Damaged(file_name, "is not a metadata message though its checksum fits"));
  }
  CheckpointMetadata metadata = FromProto(message);
  metadata.format_version = version;
  WEIR_RETURN_IF_ERROR(CheckContent(metadata, file_name));
  return metadata;
}

}  // namespace weir::checkpoint
