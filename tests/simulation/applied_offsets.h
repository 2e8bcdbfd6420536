// What may be acknowledged upstream, found out without asking coordinator or committers what is applied: the offsets of
// durable checkpoints all of whose listed output can be seen on the simulated disk under its final name. Belongs to the
// world, not to a process: it remembers checkpoints that retention has deleted since.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/file_system.h"
#include "checkpoint/checkpoint_metadata.h"

namespace weir::simulation {

using PartitionOffsets = std::map<std::string, int64_t>;  // "topic-0" -> the next offset to read

class AppliedOffsets {
 public:
  // `storage`: the folder of the job's checkpoints.
  AppliedOffsets(FileSystem& fs, std::string storage) : fs_(fs), storage_(std::move(storage)) {}

  // Checkpoint `number` is durable.
  void NoteDurable(uint64_t number);
  // All that are there are: a start has made sure of it.
  void NoteAllDurable();
  // Empty, or what is wrong: a partition whose offset no applied checkpoint has reached.
  std::string Check(const PartitionOffsets& acknowledged);

 private:
  FileSystem& fs_;
  const std::string storage_;
  std::map<std::string, checkpoint::CheckpointMetadata> durable_;  // by folder; not applied when last looked at
  PartitionOffsets applied_;
};

}  // namespace weir::simulation
