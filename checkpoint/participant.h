// The two small interfaces between the coordinator and the tasks. The coordinator knows no task: it knows three verbs
// it may say (Participant) and listens for one (Acknowledger). All calls post to a mailbox: any thread, never block.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/barrier.h"
#include "checkpoint/committable.h"
#include "state/snapshot.h"

namespace weir::checkpoint {

// What one subtask contributes to a checkpoint.
struct SubtaskSnapshot {
  state::SubtaskStateHandle state;
  std::vector<Committable> committables;  // sealed since the last snapshot that became durable
  std::map<std::string, std::string>
      offsets;            // by uid, JSON for people: `weir state show` prints it, restore ignores it
  bool finished = false;  // has reached the end of its input
};

class Participant {
 public:
  virtual ~Participant() = default;
  // Source tasks only: cut here.
  virtual void TriggerCheckpoint(const CheckpointBarrier& barrier) = 0;
  virtual void NotifyCheckpointApplied(CheckpointId id) = 0;
  virtual void NotifyCheckpointAborted(CheckpointId id) = 0;
  // The checkpoint is durable: its committables are the coordinator's from here on, its frozen state is written.
  virtual void NotifyCheckpointDurable(CheckpointId id) = 0;
};

class Acknowledger {
 public:
  virtual ~Acknowledger() = default;
  // Once for each (subtask, checkpoint). An error aborts the checkpoint alone.
  virtual void Acknowledge(SubtaskId subtask, CheckpointId id, Result<SubtaskSnapshot> snapshot) = 0;
  // The task can't go on: the job restarts or ends, with this as its root cause.
  virtual void TaskFailed(SubtaskId subtask, Status cause) = 0;
  // The task has answered the checkpoint that holds the end of its input and has nothing more to do.
  virtual void TaskFinished(SubtaskId subtask) = 0;
  // A source task has emitted the last row of its input: when all have, the last checkpoint is cut at once.
  virtual void InputEnded(SubtaskId /*subtask*/) {}
};

}  // namespace weir::checkpoint
