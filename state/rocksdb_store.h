// A LocalStore in a RocksDB, the one of production. This pair is the only place that knows RocksDB. Thread-safe as
// RocksDB is.
//
// Everything comes in as sorted runs: a run is written as one SST file and ingested, which costs a fifth of writes
// through the memtable. There is no write-ahead log: a store that is not closed in order is worth nothing, and never
// read again. All stores of a factory share one block cache, in which index and filter blocks lie too (both
// partitioned, so that it bounds what the stores take), and one write-buffer budget that counts as a part of it.
//
// Compaction is universal: runs of like size are merged, so that a large old run is not rewritten for the sake of small
// new ones; that keeps what a checkpoint writes near to what changed.
#pragma once

#include <memory>

#include "state/local_store.h"
#include "state/state_budget.h"

namespace weir::state {

// One a process. The budget is read once; stores may outlive the factory.
std::unique_ptr<LocalStoreFactory> NewRocksDbStoreFactory(const StateBudget& budget);

}  // namespace weir::state
