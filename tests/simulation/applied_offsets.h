// What the simulated disk says about offsets that may be acknowledged upstream: an oracle that asks neither the
// coordinator nor the committers. A checkpoint counts as applied if it is durable and all output that it lists can be
// seen under its final name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/file_system.h"

namespace weir::simulation {

using PartitionOffsets = std::map<std::string, int64_t>;  // "topic-0" -> the next offset to read

// `storage`: the folder of the job's checkpoints. Empty, or what is wrong: a partition in `acknowledged` whose offset
// no applied checkpoint there has reached.
std::string CheckAcknowledged(FileSystem& fs, const std::string& storage, const PartitionOffsets& acknowledged);

}  // namespace weir::simulation
