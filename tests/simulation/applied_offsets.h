// What may be acknowledged upstream, found out without asking coordinator or committers what is applied: the offsets of
// durable checkpoints all of whose listed output can be seen: on the simulated disk under its final name, in the
// simulated Kafka and PostgreSQL by their committed markers. Belongs to the world, not to a process: it remembers
// checkpoints that retention has deleted since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/file_system.h"
#include "checkpoint/checkpoint_metadata.h"

namespace weir::simulation {

using PartitionOffsets = std::map<std::string, int64_t>;  // "topic-0" -> the next offset to read

class AppliedOffsets {
 public:
  // `storage`: the folder of the job's checkpoints. `marker`: number in the newest marker of a system that is no
  // folder, 0: none.
  AppliedOffsets(FileSystem& fs, std::string storage, std::function<uint64_t(const std::string& system)> marker)
      : fs_(&fs), storage_(std::move(storage)), marker_(std::move(marker)) {}

  // Checkpoint `number` is durable.
  void NoteDurable(uint64_t number);
  // All that are there are: a start has made sure of it.
  void NoteAllDurable();
  // Checkpoint `number` is durable on the disk of a process that a successor has taken over from. It counts if it lists
  // no output of checkpoints after `taken_over`: that can't be applied, but what writes nothing is.
  void NoteDurableOfZombie(FileSystem& fs, uint64_t number, uint64_t taken_over);
  // A successor has a disk of its own.
  void SetFileSystem(FileSystem& fs) { fs_ = &fs; }
  // Empty, or what is wrong: a partition whose offset no applied checkpoint has reached.
  std::string Check(const PartitionOffsets& acknowledged);

 private:
  bool IsVisible(const checkpoint::CheckpointMetadata& metadata) const;

  FileSystem* fs_;
  const std::string storage_;
  const std::function<uint64_t(const std::string& system)> marker_;
  std::map<std::string, checkpoint::CheckpointMetadata> durable_;  // by folder; not applied when last looked at
  PartitionOffsets applied_;
};

}  // namespace weir::simulation
