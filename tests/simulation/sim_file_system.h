// A FileSystem in memory that a test can fail, fill up, cut the power of, and start again. The same seed and the same
// calls give the same result. Thread-safe like the real one; faults and crashes are for single-threaded use.
//
// A crash, by PowerLoss, KillProcess or an armed fault, makes every handle and lock of before void. After an armed
// crash each call fails with a status that IsSimulatedCrash knows, until PowerLoss (unsynced bytes and names are
// subject to a drawn model) or KillProcess (the kernel lives on, nothing is lost) starts the machine or process again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/random.h"
#include "tests/simulation/sim_disk.h"
#include "tests/simulation/sim_faults.h"

namespace weir::simulation {

bool IsSimulatedCrash(const Status& status);

class SimFileSystem final : public FileSystem {
 public:
  explicit SimFileSystem(uint64_t seed) : SimFileSystem(seed, SimDisk()) {}
  ~SimFileSystem() override;

  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override;
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status RemoveTree(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  Result<Info> Stat(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  Result<uint64_t> FreeBytes(const std::string& path) override;

  // Faults. Several may be armed; the first that strikes decides.
  void Arm(Fault fault);
  void Disarm();
  // Bytes for all files together; an append beyond it writes what fits and fails as a full disk does.
  void SetCapacity(uint64_t bytes);

  // What lies in the folder `path` counts as another device's: no link leads into it or out of it.
  void SetOtherDevice(const std::string& path);

  // A disk of its own with the same files, durable or not; nothing of it is open or locked, no fault is armed.
  std::unique_ptr<SimFileSystem> Copy(uint64_t seed) const {
    std::lock_guard lock(mutex_);
    return std::unique_ptr<SimFileSystem>(new SimFileSystem(seed, disk_));
  }

  // True from an armed crash until PowerLoss or KillProcess.
  bool crashed() const;
  void PowerLoss(std::optional<UnsyncedData> data = {}, std::optional<UnsyncedNames> names = {});
  void KillProcess();

  // How many operations have changed the disk so far, failed ones counted.
  uint64_t operations() const;
  // Sees each operation, also those that look, before it happens. For traces; must not call back.
  using Observer = std::function<void(OperationKind kind, const std::string& path)>;
  void SetObserver(Observer observer);

  // Decay: `edit` changes the bytes of a file, the durable ones too. NotFound.
  Status Damage(const std::string& path, const std::function<void(std::string& content)>& edit);

 private:
  SimFileSystem(uint64_t seed, const SimDisk& disk) : random_(seed), disk_(disk) {}

  friend class SimWritableFile;
  friend class SimReadableFile;
  friend class SimFileLock;

  struct Place {
    SimNodePtr folder;
    std::string name;
    SimNodePtr node;  // nothing if the name is free
  };
  struct Steps {
    std::function<Status()> whole;
    std::function<void()> torn = {};    // what a crash in the middle leaves
    std::function<void()> failed = {};  // what a failure leaves
  };

  // Takes the lock, counts, asks the faults, and takes the steps that they leave.
  Status Operate(OperationKind kind, const std::string& path, const std::string& other_path, const Steps& steps);
  // The rest with mutex_ held.
  Result<Place> Find(std::string_view action, const std::string& path) const;
  // The same, and something must be there.
  Result<Place> FindExisting(std::string_view action, const std::string& path) const;
  Status AppendTo(SimNode& node, const std::string& path, uint64_t offset, std::string_view data);
  Status DoRename(const std::string& from, const std::string& to);
  Status DoLink(const std::string& from, const std::string& to);
  Status DoRemove(const std::string& path);
  void DoRemoveTree(const std::string& path, bool torn);
  Status DoCreateDirectories(const std::string& path);
  Result<SimNodePtr> DoOpenForWrite(const std::string& path, WriteMode mode);
  void Restart();

  mutable std::mutex mutex_;
  SeededRandom random_;
  SimDisk disk_;
  SimFaults faults_;
  std::set<uint64_t> locked_;  // ids of nodes
  Observer observer_;
  std::string other_device_;  // a folder with its slash; empty: there is none
  uint64_t capacity_bytes_ = uint64_t{1} << 40;
  uint64_t operations_ = 0;
  uint64_t life_ = 0;  // counts the restarts: handles of an earlier one are void
  bool crashed_ = false;
};

}  // namespace weir::simulation
