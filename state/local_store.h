// The sorted byte store under a subtask's tables: entry keys (state/entry_key.h) to values. Two implementations pass
// the same tests: state/rocksdb_store.h, and state/ordered_map_store.h for the simulator. A store is a cache of the
// newest checkpoint plus what was written since; its folder is thrown away at every start (state/restore.h).
//
// Threads: MultiGet and Scan on the task's, WriteRun, DropRange and VisitFiles on the snapshot worker's, at the same
// time. The ordered map takes them on one thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::state {

// An entry on its way into a store. No value: the key is removed.
struct RunEntry {
  std::string_view key;
  std::optional<std::string_view> value;
};

// Hands out the entries of a sorted run, keys rising and no two alike. False at the end; views are valid until the next
// call.
using SortedRun = std::move_only_function<bool(RunEntry& entry)>;

// Rising keys. `valid` is false at the end and after a failure, which `status` tells apart.
class StoreCursor {
 public:
  virtual ~StoreCursor() = default;
  virtual bool valid() const = 0;
  virtual Status status() const = 0;
  virtual std::string_view key() const = 0;    // until Next
  virtual std::string_view value() const = 0;  // until Next
  virtual void Next() = 0;
};

// A file of a store as VisitFiles shows it.
struct StoreFile {
  std::string name;
  std::string path;                    // where its bytes are
  std::optional<std::string> content;  // the bytes themselves, for a small file that may change: `path` is not used
};

class LocalStore {
 public:
  virtual ~LocalStore() = default;

  // Keys rise. `values` gets one element a key; nothing where the store has no such key.
  virtual Status MultiGet(std::span<const std::string_view> keys, std::vector<std::optional<std::string>>& values) = 0;
  // All of it or, on an error, perhaps a part: the caller holds the entries until it returns ok.
  virtual Status WriteRun(SortedRun run) = 0;
  // Removes the keys in [first, behind).
  virtual Status DropRange(std::string_view first, std::string_view behind) = 0;
  // From the first key that is not below `from`. Sees what was written before the call; not outliving the store.
  virtual Result<std::unique_ptr<StoreCursor>> Scan(std::string_view from) = 0;
  // Shows each file that makes up the store now; they stay as they are until the visitor has returned for the last one.
  // A file without `content` never changes under its name and may be linked. Ends at the visitor's first error.
  using FileVisitor = std::move_only_function<Status(const StoreFile& file)>;
  virtual Status VisitFiles(FileVisitor visit) = 0;
};

class LocalStoreFactory {
 public:
  virtual ~LocalStoreFactory() = default;
  enum class Mode : uint8_t { kCreate, kExisting, kReadOnly };
  // `folder` exists; with kCreate it is empty, otherwise it holds the files of a VisitFiles under their names.
  virtual Result<std::unique_ptr<LocalStore>> Open(const std::string& folder, Mode mode) = 0;
};

}  // namespace weir::state
