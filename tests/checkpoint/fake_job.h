// One process of a small job over a simulated disk: a source that counts 1, 2, 3, ..., one state file a checkpoint, and
// a sink for each FakeSystem. The coordinator, the storage and the restore in it are the real ones. Nothing runs by
// itself: a test moves the clock, the task, the workers and the coordinator.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "checkpoint/checkpoint_coordinator.h"
#include "checkpoint/checkpoint_storage.h"
#include "checkpoint/restore.h"
#include "tests/checkpoint/fake_system.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::checkpoint {

// A disk and what outlives the processes on it.
struct Machine {
  explicit Machine(uint64_t seed) : fs(seed), random(seed) {}
  simulation::SimFileSystem fs;
  SeededRandom random;
  simulation::ManualClock clock;
};

// A fault site that was reached killed the process if `dead` is set; the disk then answers nothing more.
struct ProcessLife {
  Machine* machine = nullptr;
  bool dead = false;
  void Kill();
  bool Dead() const { return dead || machine->fs.crashed(); }
};

class FakeJob final : public Participant, public CoordinatedState {
 public:
  static constexpr const char* kStorage = "/storage";
  static constexpr const char* kJob = "count";

  FakeJob(Machine& machine, std::vector<FakeSystem*> systems, std::string job = kJob);
  // As a crash: what waits in the workers never happens.
  ~FakeJob() override;

  // A start up to the running coordinator.
  Status Start(const RestoreRequest& request = {});
  // The coordinator and committers end, the storage stays locked; Start may follow.
  void EndAttempt();

  // The source reads so many more.
  void Emit(uint64_t rows) { offset_ += rows; }
  // The task takes one command; false if there is none.
  bool StepTask();
  bool RunOneWorkerJob() { return workers_.RunOne(machine_.random); }
  bool StepCoordinator() { return coordinator_->Step(); }
  // All of the above until nothing happens.
  void Settle();
  // A checkpoint now, and everything that follows from it. The number of the newest durable one.
  uint64_t Checkpoint();

  CheckpointCoordinator& coordinator() { return *coordinator_; }
  bool running() const { return coordinator_ != nullptr; }
  CheckpointStorage& storage() { return *storage_; }
  const RestoredJob& restored() const { return restored_; }
  ProcessLife& life() { return life_; }
  uint64_t offset() const { return offset_; }
  const std::vector<uint64_t>& applied() const { return applied_; }
  const std::vector<uint64_t>& aborted() const { return aborted_; }

  bool ready() const override { return true; }
  Result<std::map<std::string, std::string>> Snapshot(CheckpointId id) override;
  void TriggerCheckpoint(const CheckpointBarrier& barrier) override;
  void NotifyCheckpointApplied(CheckpointId id) override;
  void NotifyCheckpointAborted(CheckpointId id) override;
  void NotifyCheckpointDurable(CheckpointId id) override;

  CoordinatorOptions options;
  uint32_t fail_snapshots = 0;      // so many snapshots are acknowledged with an error
  uint64_t unsealed_bytes = 0;  // what the coordinator hears of the running interval
  bool withhold_snapshots = false;  // the task does not answer barriers
  bool at_end = false;              // the source has reached its end
  std::set<std::string> uids = {"source"};
  std::map<uint64_t, uint64_t> offset_of;  // by checkpoint number

 private:
  StartContext ContextOf();
  Status RestoreTask();
  Result<SubtaskSnapshot> Cut(const CheckpointBarrier& barrier);

  Machine& machine_;
  const std::vector<FakeSystem*> systems_;
  const std::string job_;
  ProcessLife life_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  std::unique_ptr<CheckpointStorage> storage_;
  RestoredJob restored_;
  std::vector<System> committers_;

  struct Command {
    enum class Kind : uint8_t { kTrigger, kDurable } kind;
    CheckpointBarrier barrier;
  };
  std::deque<Command> commands_;
  uint64_t offset_ = 0;
  uint64_t sealed_to_ = 0;
  struct Sealed {
    uint64_t number;
    std::string system;
    uint64_t first, last;
  };
  std::vector<Sealed> sealed_;           // their checkpoint is not durable yet
  std::vector<state::StateFile> files_;  // of the newest durable snapshot
  std::map<uint64_t, std::vector<state::StateFile>> files_of_;
  std::vector<uint64_t> applied_;
  std::vector<uint64_t> aborted_;
  std::unique_ptr<CheckpointCoordinator> coordinator_;  // last
};

// `from`'s storage folder as a copy on `to`, durable.
void CopyStorage(simulation::SimFileSystem& from, simulation::SimFileSystem& to, const std::string& folder);

}  // namespace weir::checkpoint
