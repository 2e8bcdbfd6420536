// The disk below the simulated file system: what programs see now, what a power loss leaves, and what lies between.
// Owned and locked by SimFileSystem, which speaks in paths and statuses; nothing else calls it.
//
//   file    durable image + ordered list of unsynced writes and truncations -> what a reader sees
//   folder  durable names + ordered list of unsynced name operations       -> what a reader sees
//
// A name operation is atomic, as on ext4, xfs and btrfs: a rename is seen after a power loss wholly or not at all.
// Operations on one name keep their order; operations on different names may be lost independently.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace weir::simulation {

// What happens to bytes that were written and not synced.
enum class UnsyncedData : uint8_t {
  kDropped,
  kPrefix,    // the first so many operations are there
  kSectors,   // each sector of each write is there or not; what is missing reads as zeros
  kTornLast,  // all but the end of the last write
  kKept,
};

// What happens to names that were made, changed or removed and whose folder was not synced.
enum class UnsyncedNames : uint8_t {
  kDropped,
  kPrefix,
  kSubset,  // any of them, in order per name
  kKept,
};

struct SimNode {
  struct Change {
    bool truncation = false;
    uint64_t offset = 0;  // of a write; the new length of a truncation
    std::string data;
  };

  uint64_t id = 0;
  bool directory = false;
  uint32_t links = 0;

  std::string content;
  std::string durable;
  std::vector<Change> unsynced;

  std::map<std::string, std::shared_ptr<SimNode>> entries;
  std::map<std::string, std::shared_ptr<SimNode>> durable_entries;
};
using SimNodePtr = std::shared_ptr<SimNode>;

// A name in a folder, and what it stands for afterwards: nothing, if it was removed.
struct NameChange {
  SimNodePtr folder;
  std::string name;
  SimNodePtr node;
};

class SimDisk {
 public:
  SimDisk();
  // A deep copy: what is seen, what is durable, and what lies between.
  SimDisk(const SimDisk& other);
  SimDisk& operator=(const SimDisk&) = delete;

  const SimNodePtr& root() const { return root_; }
  SimNodePtr NewNode(bool directory);

  // One atomic name operation.
  void ChangeNames(std::vector<NameChange> changes);
  void Write(SimNode& file, uint64_t offset, std::string_view data);
  void Truncate(SimNode& file, uint64_t length);

  void SyncFile(SimNode& file);
  // An fsync that failed: the pages count as clean, so that the next fsync says ok, and never reach the disk.
  void FailSyncFile(SimNode& file);
  void SyncFolder(const SimNode& folder);
  // The names' fate is open; a second sync says ok and does not make them durable.
  void FailSyncFolder(const SimNode& folder);

  // Unset models are drawn: the one for data anew for each file.
  void PowerLoss(Random& random, std::optional<UnsyncedData> data, std::optional<UnsyncedNames> names);

  uint64_t used_bytes() const { return used_bytes_; }
  size_t unsynced_names() const { return operations_.size(); }
  // Both images of the file, as if the medium had decayed.
  void Overwrite(SimNode& file, std::string content);

 private:
  struct NameOperation {
    std::vector<NameChange> changes;
    bool sync_failed = false;
  };
  std::vector<bool> OperationsOf(const SimNode& folder) const;
  void MakeDurable(const std::vector<bool>& chosen);
  std::vector<bool> DrawNames(Random& random, UnsyncedNames names) const;
  void AddLinks(const SimNodePtr& node, int64_t by);
  // Makes the durable state what is seen, from `folder` down.
  void ShowDurable(SimNode& folder, Random& random, std::optional<UnsyncedData> data);

  uint64_t next_id_ = 1;  // before what is made with it
  SimNodePtr root_;
  uint64_t used_bytes_ = 0;
  std::vector<NameOperation> operations_;
};

}  // namespace weir::simulation
