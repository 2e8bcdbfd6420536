// Builds the local store of a subtask from nothing or from the handles of a checkpoint. Called at a start, before the
// task runs; blocks. The local folder is wiped each time: what a crash left there is never read (case H26).
//
//   same range, one handle     its files are linked and opened
//   a part of one handle       the same, then the ranges of others are dropped (scaling up)
//   parts of several handles   the one that gives most is the base; the others' ranges are read and ingested in order
//
// State that is left behind (StateOwners) is removed from the store, in one pass over it; operator entries that change
// their owner are handed over.
//
// Every file's length and checksum are compared before it is used, unless the caller has just done so; kCorruption
// names the file that differs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "state/local_store.h"
#include "state/snapshot.h"
#include "state/snapshot_writer.h"

namespace weir::state {

struct RestoreOptions {
  FileSystem* fs = nullptr;
  LocalStoreFactory* stores = nullptr;
  HashRange range;
  std::string local_dir;
  std::string source_dir;                  // paths in the handles are relative to it
  bool files_verified = false;             // the caller has compared all files with their handles
  bool share_restored_files = true;        // the next snapshots may name the restored files; false: they share no file
  std::optional<StateOwners> owners = {};  // nothing: everything stays whose it is
};

// An entry of operator state from a handle that is not this subtask's own former one.
struct HandedOverEntry {
  std::string uid;
  std::string name;
  std::string value;
};

struct RestoredStore {
  std::unique_ptr<LocalStore> store;
  SharedFiles shared;
  std::vector<HandedOverEntry> handed_over;
  bool empty = true;  // nothing was restored: the store has no entry
};

// The uid that has now what lay under `uid`; nothing: nobody.
std::optional<std::string> OwnerOf(const std::optional<StateOwners>& owners, const std::string& uid);

Result<RestoredStore> RestoreStore(const RestoreOptions& options, std::span<const SubtaskStateHandle> handles);

}  // namespace weir::state
