// Writes the snapshots of one subtask: the changed entries into the local store, the store's files into the job's
// storage. Snapshot worker's thread. Never deletes a file of the storage: that is retention's work, computed from the
// metadata.
//
// In the storage a file of the store that never changes lies in shared/, linked (copied from another device) once,
// under a name that nobody else makes: "<prefix><checkpoint number>-<store's name>". A later snapshot of the same store
// names it again. Small files that change (a manifest) are written into the checkpoint's own folder, chk-<number>/.
//
// Who syncs: before Write returns ok, every file that it made has been fsynced, then shared/ and chk-<number>/, once
// each. The folders above them, and chk-<number>/ again after `_metadata`, are the coordinator's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/ids.h"
#include "state/entry_table.h"
#include "state/local_store.h"
#include "state/snapshot.h"

namespace weir::state {

struct SnapshotTarget {
  FileSystem* fs = nullptr;
  std::string job_dir;        // paths in a handle are relative to it
  std::string unique_prefix;  // "<attempt>-<vertex>-<subtask>-": never used by another start or subtask
};

// By the store's name for a file: where an earlier snapshot put it.
struct SharedFile {
  StateFile file;
  uint64_t checkpoint = 0;  // that put it there; 0: restored
};
using SharedFiles = std::map<std::string, SharedFile>;

class SnapshotWriter {
 public:
  // `shared`: files of `store` that the storage holds already.
  SnapshotWriter(SnapshotTarget target, HashRange range, std::unique_ptr<LocalStore> store, SharedFiles shared);

  LocalStore& store() { return *store_; }

  struct Request {
    std::optional<CheckpointId> checkpoint;  // none: a flush, no files are linked
    const std::vector<Entry*>* changed = nullptr;
    std::vector<StateDescription> states;
    std::vector<uint64_t> aborted;  // checkpoints whose files are gone
  };
  Result<SubtaskStateHandle> Write(const Request& request);

 private:
  struct Draft;
  Status WriteChanged(std::span<Entry* const> changed);
  Status AddFile(const StoreFile& file, Draft& draft);
  Status AddShared(const StoreFile& file, Draft& draft);

  const SnapshotTarget target_;
  const HashRange range_;
  const std::unique_ptr<LocalStore> store_;
  SharedFiles shared_;
  // Not ok once the sync of a linked file has failed: its bytes may be gone though the next sync says ok, so that no
  // later snapshot of this store may be believed. The job fails when its checkpoints do, and starts from an earlier
  // one.
  Status lost_;
};

}  // namespace weir::state
