// The SubtaskState of production and simulator: entries in memory (state/entry_table.h) over a local store. Task's
// thread; Write of a PendingSnapshot on the snapshot worker.
//
// Which level answers a read: the table, with one probe; what it does not know is read from the store and kept as a
// clean entry, absence too. As long as no entry was given up and nothing was restored the table knows everything, and a
// miss costs no read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "state/local_store.h"
#include "state/state_budget.h"
#include "state/subtask_state.h"

namespace weir::state {

struct SubtaskStateOptions {
  // All outlive the state and its pending snapshots.
  FileSystem* fs = nullptr;
  LocalStoreFactory* stores = nullptr;
  StateBudget* budget = nullptr;
  HashRange range;                         // state/key_groups.h
  std::string local_dir;                   // this subtask's alone; wiped
  std::string job_dir;                     // the job's folder in the storage: shared/ and chk-<N>/ lie in it
  std::string unique_prefix;               // "<attempt>-<vertex>-<subtask>-"
  std::string restore_dir = {};            // what the paths of the restored handles are relative to; empty: job_dir
  bool files_verified = false;             // the restored files were just compared with their handles
  bool share_restored_files = true;        // with another restore_dir: must be false
  std::optional<StateOwners> owners = {};  // whose state is restored; nothing: everyone's
};

// Blocks: wipes local_dir, verifies and links the files. `restored`: nothing for a first start; the subtask's own
// handle at the same parallelism; otherwise the handles of all former subtasks, for the sake of their operator entries.
// kCorruption names a damaged file; FailedPrecondition if two handles describe a state differently.
Result<std::unique_ptr<SubtaskState>> OpenSubtaskState(const SubtaskStateOptions& options,
                                                       std::span<const SubtaskStateHandle> restored);

}  // namespace weir::state
