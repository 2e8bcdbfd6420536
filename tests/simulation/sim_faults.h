// Which operations of the simulated file system fail, and how. Owned and locked by SimFileSystem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::simulation {

enum class OperationKind : uint8_t {
  // Change the disk: counted by operations().
  kOpenForWrite,
  kAppend,
  kSync,
  kClose,
  kRename,
  kLink,
  kRemove,
  kRemoveTree,
  kCreateDirectories,
  kSyncDirectory,
  kLock,
  // Only look.
  kOpenForRead,
  kRead,
  kStatOpen,
  kList,
  kStat,
  kFreeBytes,
};
std::string_view OperationKindName(OperationKind kind);
bool ChangesDisk(OperationKind kind);

enum class FaultAction : uint8_t {
  kError,       // not done, an input/output error. A sync that fails so has lost the unsynced data (sim_disk.h)
  kErrorAfter,  // done, and yet an error
  kCrashBefore,
  kCrashAfter,
  kCrashTorn,  // an append is cut at a drawn byte, a removed tree at a drawn entry; others are not done
  // Behind those above, of which job_world draws: kError with a full disk's message.
  kNoSpace,
};

struct Fault {
  std::optional<OperationKind> kind = {};  // unset: any that changes the disk
  std::string path_part = {};              // only paths that hold this text; of a rename or link, either path
  uint64_t nth = 1;                        // of the matching operations from now on, counted from 1
  bool forever = false;                    // the later ones too
  FaultAction action = FaultAction::kError;
};

class SimFaults {
 public:
  void Arm(Fault fault);
  void Disarm() { faults_.clear(); }
  // Counts the operation for every armed fault; the first that strikes decides.
  std::optional<FaultAction> Strike(OperationKind kind, const std::string& path, const std::string& other_path);

 private:
  struct Armed {
    Fault fault;
    uint64_t seen = 0;
  };
  std::vector<Armed> faults_;
};

}  // namespace weir::simulation
