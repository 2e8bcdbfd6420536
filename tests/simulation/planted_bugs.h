// Mistakes that the simulator must find, planted around the real code and not in it. Made by JobWorld for one life of
// the process; used on the thread of the schedule.
#pragma once

#include <cstdint>
#include <memory>

#include "base/file_system.h"
#include "operators/registry.h"

namespace weir::simulation {

enum class PlantedBug : uint8_t {
  kNone,
  kSkippedFsync,          // nothing that is synced reaches the disk before the kernel likes
  kEarlyAcknowledgement,  // sources acknowledge upstream what a durable checkpoint holds and not what an applied one
                          // does
};

// Sync and SyncDirectory say ok and do nothing; the rest is `fs`, which outlives it.
std::unique_ptr<FileSystem> MakeForgetful(FileSystem& fs);

// The same types; the readers of the sources take a checkpoint for applied when the next one begins.
operators::Registry WithEarlyAcknowledgement(const operators::Registry& registry);

}  // namespace weir::simulation
