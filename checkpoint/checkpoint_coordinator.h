// Takes checkpoints of a running job and brings their output to the external systems: durable, then applied. Why a
// checkpoint starts, when it is complete and who is told is decided here; what is pure is in pending_checkpoint.h and
// restore_decision.h. Step() runs on the job's control thread and never blocks: publishing has a worker of its own,
// each system has another, results come back through mailboxes. The Acknowledger's calls may come from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mailbox.h"
#include "base/random.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/checkpoint_storage.h"
#include "checkpoint/participant.h"
#include "checkpoint/pending_checkpoint.h"
#include "checkpoint/restore.h"
#include "checkpoint/savepoint.h"
#include "checkpoint/system_applier.h"

namespace weir::checkpoint {

// The enumerators as the coordinator sees them. Control thread.
class CoordinatedState {
 public:
  virtual ~CoordinatedState() = default;
  // False: no checkpoint can be taken yet.
  virtual bool ready() const = 0;
  // Every enumerator's state by source uid. What it has assigned before is in its task's mailbox before the trigger.
  virtual Result<std::map<std::string, std::string>> Snapshot(CheckpointId id) = 0;
};

struct CoordinatorOptions {
  Duration interval = std::chrono::seconds(10);      // from trigger to trigger
  Duration min_pause = std::chrono::nanoseconds(0);  // from the end of one to the trigger of the next
  Duration timeout = std::chrono::minutes(10);       // from trigger to the last acknowledgement
  uint32_t tolerated_failures = 10;                  // consecutive; one more fails the job
  uint32_t retain = 3;                               // durable checkpoints
  uint64_t unconfirmed_bytes_max = 1ULL << 30;       // sealed output that waits for its systems
  uint32_t unconfirmed_checkpoints_max = 1000;       // the same in checkpoints with output
  ApplierOptions applier;
};

// The running job as `_metadata` describes it.
struct JobShape {
  uint32_t key_groups = 0;
  struct Vertex {
    uint32_t vertex = 0;
    std::vector<std::string> uids;
    uint32_t parallelism = 1;
  };
  std::vector<Vertex> vertices;
};

struct CoordinatorPorts {
  const Clock* clock = nullptr;
  Random* random = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;  // of the control thread
  CheckpointStorage* storage = nullptr;
  CoordinatedState* coordinated = nullptr;
  std::function<uint64_t()> unsealed_bytes = {};  // output since the last barrier, of all sinks; empty: unknown
};

struct CoordinatedTask {
  SubtaskId subtask;
  Participant* participant = nullptr;
  bool source = false;
};

// One external system of the job, as the checkpoints know it.
struct SystemStats {
  std::optional<uint64_t> marker;  // number of the checkpoint that it is known to have; nothing: none yet
  UnconfirmedOutput waiting;
};

// For the status line and metrics.
struct CheckpointStats {
  uint64_t last_number = 0;                 // newest durable one
  uint64_t applied_number = 0;              // newest that every system has
  Duration last_duration{};                 // trigger to durable
  uint64_t last_bytes_new = 0;              // of state, written for the newest
  uint64_t last_bytes = 0;                  // of state, all of its files
  std::optional<Duration> age;              // since the newest was durable; nothing before the first of this attempt
  std::optional<MonotonicTime> durable_at;  // the same as a point in time
  std::optional<MonotonicTime> applied_at;  // when the newest became applied; nothing before the first of this attempt
  uint64_t completed = 0, failed = 0;
  uint32_t consecutive_failures = 0;
  std::optional<uint64_t> pending_number;
  Duration pending_since{};
  std::string last_failure;
  std::vector<SystemStats> systems;
};

class CheckpointCoordinator final : public Acknowledger {
 public:
  enum class Outcome : uint8_t {
    kRunning,
    kFinished,  // the checkpoint that holds the end of all input is applied
    kStopped,   // the checkpoint of a stop is applied
    kFailed,    // `failure()`; kFenced: taken over by another process, no restart; else restart
  };

  // `job.checkpoint` is there. Takes the committers over.
  CheckpointCoordinator(CoordinatorOptions options, CoordinatorPorts ports, JobShape shape, const RestoredJob& job,
                        std::vector<System> systems);
  // Waits for the workers: a blocking committer call in flight runs to its end.
  ~CheckpointCoordinator() override;

  // Once, before the first Step. The participants outlive the coordinator.
  void Start(std::vector<CoordinatedTask> tasks);
  // True if something was done. Call again at NextDeadline() at the latest, or when woken.
  bool Step();
  MonotonicTime NextDeadline() const;

  // A checkpoint as soon as none is pending, repeated until one is durable. kStop, kDrain: the last one; a later call
  // may raise kGoOn to those.
  void TriggerNow(AfterBarrier then);

  // The same, and when every system has that checkpoint it is exported. Repeated like any checkpoint until one is
  // durable; a failed export fails the savepoint alone. A stop waits for it.
  void TriggerSavepoint(SavepointRequest request);
  // Savepoints that are not exported yet are given up: the job ends for `cause`.
  void AbandonSavepoints(const Status& cause);

  Outcome outcome() const { return outcome_; }
  const Status& failure() const { return failure_; }
  // True while the sinks must not take rows: the output that waits has reached its bound (S8).
  bool OutputBlocked() const;
  // True when the checkpoint of a stop or of the end of input is durable: what waits now is its application (S9).
  bool LastCheckpointDurable() const { return last_.has_value(); }
  // True when all that was durable is applied: what a stop still waits for are savepoints.
  bool EverythingApplied() const { return unapplied_.empty(); }
  // What waits, by system: named when a stop's time is up.
  std::vector<UnconfirmedOutput> Unconfirmed() const;
  CheckpointStats stats() const;

  void Acknowledge(SubtaskId subtask, CheckpointId id, Result<SubtaskSnapshot> snapshot) override;
  void TaskFailed(SubtaskId subtask, Status cause) override;
  void TaskFinished(SubtaskId subtask) override;
  void InputEnded(SubtaskId subtask) override;

 private:
  struct Acknowledged {
    SubtaskId subtask;
    CheckpointId id;
    Result<SubtaskSnapshot> snapshot;
  };
  struct Failed {
    SubtaskId subtask;
    Status cause;
  };
  struct Ended {
    SubtaskId subtask;
  };
  struct Published {  // or could not be begun
    CheckpointId id;
    PublishOutcome outcome;
  };
  struct Exported {
    CheckpointId id;
    std::string folder;
    Status status;
  };
  using Event = std::variant<Acknowledged, Failed, Ended, Published, Exported>;
  struct Savepoint {
    SavepointRequest request;
    std::optional<CheckpointId> checkpoint;  // triggered for it
  };

  void Handle(Acknowledged event);
  void Handle(Failed event);
  void Handle(Ended event);
  void Handle(Published event);
  void Handle(Exported event);
  bool DueNow(MonotonicTime now) const;
  void Trigger(MonotonicTime now);
  void Publish();
  CheckpointMetadata BuildMetadata() const;
  Status AddOutput(CheckpointMetadata& metadata) const;
  void Durable(MonotonicTime now);
  void AbortPending(Status cause);
  void CountFailure(const Status& cause);
  bool StepAppliers();
  bool TellApplied();
  bool SavepointWaits() const;
  void Export(CheckpointId id);
  bool Full() const;
  // No checkpoint now: its barrier would wait behind the rows that the sinks do not take. A confirmation ends that.
  bool HeldBack() const;
  // The running interval has brought so much output that it is cut at once (S8).
  bool HalfFullUnsealed() const;
  bool InputOver() const;
  void Fail(Status cause);

  // Set once.
  const CoordinatorOptions options_;
  const CoordinatorPorts ports_;
  const JobShape shape_;
  const UniqueId attempt_;
  std::vector<CoordinatedTask> tasks_;
  std::set<SubtaskId> subtasks_;

  Mailbox<Event> events_;  // synchronises itself

  // Control thread only.
  CheckpointMetadata newest_;  // durable; without its subtasks' state
  uint64_t next_number_;
  std::optional<PendingCheckpoint> pending_;
  std::optional<CheckpointMetadata> publishing_;                    // pending_ is complete and on its way to the disk
  std::map<std::string, std::string> enumerators_;                  // snapshot that belongs to pending_
  std::map<std::string, std::vector<Committable>> durable_output_;  // of the newest, by system
  std::deque<CheckpointId> unapplied_;                              // durable, not told to the sources yet
  std::set<SubtaskId> sources_running_;
  bool has_sources_ = false;
  std::optional<AfterBarrier> requested_;
  std::vector<Savepoint> savepoints_;
  std::optional<CheckpointId> last_;  // no checkpoint follows this one
  bool last_is_end_ = false;
  MonotonicTime last_trigger_;
  MonotonicTime last_end_;
  bool last_failed_ = false;
  std::optional<MonotonicTime> last_durable_;
  Outcome outcome_ = Outcome::kRunning;
  Status failure_;
  CheckpointStats stats_;

  // Last, so that they end first.
  std::vector<std::unique_ptr<SystemApplier>> appliers_;
  std::unique_ptr<Worker> publisher_;
  std::unique_ptr<Worker> exporter_;  // from the first savepoint on: a copy must not hold up a checkpoint
};

}  // namespace weir::checkpoint
