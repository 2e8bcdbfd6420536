// What the file `_metadata` says about one checkpoint, and its bytes. Plain values and pure functions, any thread.
//
//   offset  bytes
//        0      8  magic "WEIRCKPT"
//        8      4  format version, big-endian: 1
//       12      8  length n of the message, big-endian
//       20      n  protobuf message weir.checkpoint.proto.Metadata (metadata.proto)
//     20+n      8  XXH3-64 of everything before, big-endian
//
// Nothing may follow. A reader refuses a version above its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/committable.h"
#include "state/snapshot.h"

namespace weir::checkpoint {

constexpr uint32_t kMetadataFormatVersion = 1;

// One subtask's part.
struct SubtaskMetadata {
  uint32_t index = 0;
  state::SubtaskStateHandle state;
  std::map<std::string, std::string> offsets;  // by uid, JSON for people; a restore ignores it
  bool finished = false;                       // had reached the end of its input
  friend bool operator==(const SubtaskMetadata&, const SubtaskMetadata&) = default;
};

// One vertex of the job graph as it ran.
struct VertexMetadata {
  uint32_t vertex = 0;
  std::vector<std::string> uids;  // of the operators in its chain, in order
  uint32_t parallelism = 1;
  std::vector<SubtaskMetadata> subtasks;  // none in a checkpoint without state (a first one)
  friend bool operator==(const VertexMetadata&, const VertexMetadata&) = default;
};

// Output of one checkpoint for one system; never without committables.
struct CheckpointOutput {
  CheckpointId checkpoint;
  std::vector<Committable> committables;
  friend bool operator==(const CheckpointOutput&, const CheckpointOutput&) = default;
};

// How far one external system was known to be, and what it lacks up to this checkpoint. The marker found there must
// name `base` or one of `later`; a checkpoint without output for the system writes no marker and so is not listed.
struct SystemProgress {
  std::string identity;                 // of the system, Committable::system
  std::optional<CheckpointId> base;     // the marker's checkpoint last known there; nothing: none yet
  std::vector<CheckpointOutput> later;  // in order of numbers
  friend bool operator==(const SystemProgress&, const SystemProgress&) = default;

  // The checkpoint in the marker once all of it is applied.
  std::optional<CheckpointId> Target() const;
  uint64_t Rows() const;  // of `later`
};

// A split that its enumerator has assigned and that no reader holds yet: in a first checkpoint only.
struct AssignedSplit {
  std::string uid;  // of the source
  std::string id;
  std::string position;
  friend bool operator==(const AssignedSplit&, const AssignedSplit&) = default;
};

// A savepoint that belongs to this line since a restore with --claim (checkpoint/claim.h).
struct ClaimedSavepoint {
  std::string folder;
  CheckpointId id;       // that it holds
  bool deleted = false;  // behind the checkpoint before; the folder's name stays known: a command line may be repeated
  friend bool operator==(const ClaimedSavepoint&, const ClaimedSavepoint&) = default;
};

struct CheckpointMetadata {
  uint32_t format_version = kMetadataFormatVersion;
  std::string job;
  UniqueId storage;
  UniqueId attempt;
  CheckpointId id;
  // Checkpoints that a restore by choice began this line with, or that were edited by hand into the next, oldest first.
  std::vector<CheckpointId> restored_from;
  std::vector<CheckpointId> ancestors;  // the newest of the line before this one, oldest first, kAncestorsMax at most
  uint32_t key_groups = 0;
  std::vector<VertexMetadata> vertices;
  std::map<std::string, std::string> enumerators;  // by source uid, what SplitEnumerator::SnapshotState returned
  std::vector<AssignedSplit> assigned_splits;
  std::vector<SystemProgress> systems;  // sorted by identity
  int64_t created_wall_ns = 0;
  bool savepoint = false;
  std::optional<ClaimedSavepoint> claimed;  // never in a savepoint
  friend bool operator==(const CheckpointMetadata&, const CheckpointMetadata&) = default;

  const SystemProgress* System(std::string_view identity) const;
  // True if this is checkpoint `id` or its line came from it, as far as the line is recorded.
  bool IsOrDescendsFrom(UniqueId id) const;
  // Every file of the state, each path once, sorted by path.
  std::vector<state::StateFile> StateFiles() const;
  // Names in output/ of the segments that wait for their systems.
  std::set<std::string> Segments() const;
  // uids of operators with state and of sources, sorted, each once.
  std::vector<std::string> StatefulUids() const;
  uint64_t StateBytes() const;
  // The state's files lie elsewhere now: from each path of StateFiles() to the new one.
  void MoveStateFiles(const std::map<std::string, std::string>& to);
};

constexpr size_t kAncestorsMax = 64;
// `parent`'s line with `parent` at its end.
std::vector<CheckpointId> AncestorsOfChild(const CheckpointMetadata& parent);

std::string EncodeMetadata(const CheckpointMetadata& metadata);
// kCorruption naming `file_name` if the bytes are cut, foreign, changed or of a newer version.
Result<CheckpointMetadata> DecodeMetadata(std::string_view bytes, const std::string& file_name);

}  // namespace weir::checkpoint
