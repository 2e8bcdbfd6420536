// A LocalStore in an ordered map, for the simulator's first tier: deterministic, no threads of its own, every file
// written through the FileSystem port. The same contract as the RocksDB one, including files that never change under
// their name. One thread; all entries are in memory.
//
// Files: "<number>.run", the entries of one WriteRun or, after some runs, of everything; and "RUNS", the names of the
// runs in the order in which they apply, one a line.
//
//   run:  { key: varint length, bytes | 0 removed, 1 value: varint length, bytes }*  | XXH3-64 of all before,
//   big-endian
#pragma once

#include <memory>

#include "base/file_system.h"
#include "state/local_store.h"

namespace weir::state {

// `fs` outlives the factory and its stores.
std::unique_ptr<LocalStoreFactory> NewOrderedMapStoreFactory(FileSystem& fs);

}  // namespace weir::state
