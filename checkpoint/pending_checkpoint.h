// A checkpoint that is being taken: who has acknowledged, who is missing. Pure; the coordinator is the shell around it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/barrier.h"
#include "checkpoint/participant.h"

namespace weir::checkpoint {

class PendingCheckpoint {
 public:
  enum class State : uint8_t { kCollecting, kComplete, kAborted };

  // Complete at once if `subtasks` is empty.
  PendingCheckpoint(const CheckpointBarrier& barrier, const std::set<SubtaskId>& subtasks, MonotonicTime triggered);

  enum class Verdict : uint8_t {
    kAccepted,
    kCompleted,  // accepted, and it was the last one
    kAborted,    // the snapshot is an error: the checkpoint is given up, `cause()` says why
    kIgnored,    // of another checkpoint, of one that is no longer collecting, or said twice
  };
  Verdict Acknowledge(SubtaskId subtask, CheckpointId id, Result<SubtaskSnapshot> snapshot);
  // Aborts if it is collecting still and `timeout` has passed since it was triggered.
  bool AbortIfExpired(MonotonicTime now, Duration timeout);
  // No effect unless it is collecting.
  void Abort(Status cause);

  const CheckpointBarrier& barrier() const { return barrier_; }
  CheckpointId id() const { return barrier_.id; }
  State state() const { return state_; }
  MonotonicTime triggered() const { return triggered_; }
  const Status& cause() const { return cause_; }
  const std::set<SubtaskId>& missing() const { return missing_; }
  const std::map<SubtaskId, SubtaskSnapshot>& snapshots() const { return snapshots_; }
  // True if complete and every subtask has reached the end of its input: the job has no more to do.
  bool AllFinished() const;

 private:
  const CheckpointBarrier barrier_;
  const MonotonicTime triggered_;
  State state_ = State::kCollecting;
  Status cause_;
  std::set<SubtaskId> missing_;
  std::map<SubtaskId, SubtaskSnapshot> snapshots_;
};

}  // namespace weir::checkpoint
