// The control lane of one attempt of a job: waits until the enumerators know where their splits begin, publishes a
// first checkpoint where there is none, then drives the coordinator, and ends the attempt when it is finished, stopped
// or failed. An Executor steps it on the control lane; RequestStop and the Acknowledger's calls come from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "checkpoint/checkpoint_coordinator.h"
#include "checkpoint/restore.h"
#include "operators/runtime/enumerator_host.h"
#include "operators/runtime/executor.h"

namespace weir::jobs {

// Stands between an enumerator and a reader's task until the first checkpoint is published: no row may be read before
// the splits' first positions are durable. Control lane only.
class HeldReader final : public operators::ReaderPort {
 public:
  // `wakeup`: of the JobControl, which waits for the first assignment.
  HeldReader(std::string uid, operators::ReaderPort& task, Wakeup& wakeup)
      : uid_(std::move(uid)), task_(task), wakeup_(wakeup) {}

  void AddSplits(std::vector<operators::SourceSplit> splits) override;
  void NoMoreSplits() override;
  void HandleSourceEvent(std::string event) override;
  void AcknowledgeSourceEvents(uint64_t through) override;

  std::vector<checkpoint::AssignedSplit> Assigned() const;
  // Hands over what was held; from now on everything passes at once.
  void Release();

 private:
  void Do(std::function<void()> call);

  std::string uid_;
  operators::ReaderPort& task_;
  Wakeup& wakeup_;
  bool released_ = false;
  std::vector<operators::SourceSplit> splits_;
  std::vector<std::function<void()>> calls_;
};

enum class JobState : uint8_t { kStarting, kRunning, kStopping, kFinished, kStopped, kStoppedUnapplied, kFailed };

struct JobControlOptions {
  checkpoint::CoordinatorOptions coordinator;
  checkpoint::CoordinatorPorts ports;  // `coordinated` is this object
  checkpoint::JobShape shape;
  checkpoint::StartContext start;  // for the first checkpoint; `systems` outlives the object
  checkpoint::RestoredJob restored;
  std::vector<operators::EnumeratorHost*> hosts;
  std::vector<std::string> host_uids;
  std::vector<HeldReader*> readers;
  std::vector<checkpoint::CoordinatedTask> tasks;
  std::function<void()> on_done;  // once, when the state is a final one
  std::function<void(bool blocked)> on_output_blocked;
};

class JobControl final : public operators::Runnable,
                         public checkpoint::Acknowledger,
                         public checkpoint::CoordinatedState {
 public:
  // The tasks and hosts are made after it (they need an Acknowledger) and added by Begin.
  explicit JobControl(Wakeup& wakeup) : wakeup_(wakeup), worker_events_(wakeup) {}
  ~JobControl() override;
  // Before the first Step.
  void Begin(JobControlOptions options);

  // Any thread: cut a last checkpoint and end when it is applied, or at the latest after `timeout`; savepoints that
  // were asked for before are exported all the same. `drain`: sources end their input first, the job is over.
  void RequestStop(Duration timeout, bool drain = false);
  // Any thread: stays true, also if the job fails before its last checkpoint.
  bool stop_requested() const { return stop_timeout_ns_.load() >= 0; }
  // Any thread, at any time; `request.done` is always called.
  void RequestSavepoint(checkpoint::SavepointRequest request);
  // Any thread.
  JobState state() const { return state_.load(); }
  // Once the state is final. ok for kFinished and kStopped.
  Status cause() const;
  checkpoint::CheckpointStats stats() const;  // any thread
  void Fail(Status cause);                    // any thread: from enumerator hosts

  operators::StepResult Step() override;
  std::optional<MonotonicTime> NextDeadline() const override;

  void Acknowledge(SubtaskId subtask, CheckpointId id, Result<checkpoint::SubtaskSnapshot> snapshot) override;
  void TaskFailed(SubtaskId subtask, Status cause) override;
  void TaskFinished(SubtaskId subtask) override;
  void InputEnded(SubtaskId subtask) override;

  bool ready() const override;
  Result<std::map<std::string, std::string>> Snapshot(CheckpointId id) override;

 private:
  using Call = std::move_only_function<void(checkpoint::CheckpointCoordinator&)>;
  void Forward(Call call);
  bool StepStart();
  void StartCoordinator();
  bool StepRunning();
  void CheckStop();
  void TakeSavepointRequests();
  void AbandonSavepoints(const Status& cause);
  void End(JobState state, Status cause);

  Wakeup& wakeup_;
  JobControlOptions options_;  // set once

  std::atomic<JobState> state_{JobState::kStarting};
  std::atomic<bool> drain_{false};            // set before stop_timeout_ns_
  std::atomic<int64_t> stop_timeout_ns_{-1};  // -1: no stop was asked for

  mutable std::mutex mutex_;
  std::vector<Call> early_;                               // guarded by mutex_: came before the coordinator
  bool coordinator_ready_ = false;                        // guarded by mutex_
  Status cause_;                                          // guarded by mutex_
  std::optional<Status> outside_;                         // guarded by mutex_: a failure that is no task's
  std::vector<checkpoint::SavepointRequest> savepoints_;  // guarded by mutex_: for the coordinator
  checkpoint::CheckpointStats stats_;                     // guarded by mutex_

  // Control lane only.
  Mailbox<Status> worker_events_;  // the first checkpoint's publication
  bool publishing_ = false;
  bool output_blocked_ = false;
  std::optional<MonotonicTime> stop_deadline_;
  std::unique_ptr<checkpoint::CheckpointCoordinator> coordinator_;
  std::unique_ptr<Worker> first_publisher_;
};

}  // namespace weir::jobs
