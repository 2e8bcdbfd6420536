// A checkpoint and the job as it is defined now: whether the one can go on from the other, and what becomes of each
// operator's state. Behind every start, before anything is changed, and behind `weir plan`. Reads no file, takes no
// lock, reaches no system. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/restore_decision.h"
#include "jobs/job_graph.h"

namespace weir::jobs {

// The job as it is defined now; all outlive the calls.
struct RestoreTarget {
  const JobDefinition* job = nullptr;
  const JobGraph* graph = nullptr;
  const operators::Registry* registry = nullptr;
  const Clock* clock = nullptr;
};

// Why the job can't go on from a checkpoint.
struct Misfit {
  std::string uid;  // of an operator; empty: the job as a whole
  Status cause;
};

// All of them: a number of key groups that is not the checkpoint's, doubled or halved some times, a source whose
// options no longer fit (Source::CheckRestored), a state that was stored with another type. `renamed` as OperatorMatch
// says.
std::vector<Misfit> FindMisfits(const RestoreTarget& target, const checkpoint::CheckpointMetadata& checkpoint,
                                const state::StateOwners& renamed);
// The same as one failure.
Status CheckFits(const RestoreTarget& target, const checkpoint::CheckpointMetadata& checkpoint,
                 const state::StateOwners& renamed);

// "key groups 128 -> 256: ..."; empty if the number is the same.
std::string KeyGroupsChange(const JobDefinition& job, const checkpoint::CheckpointMetadata& checkpoint);

// What becomes of one operator's state.
struct OperatorFate {
  enum class Kind : uint8_t {
    kRestored,
    kNew,      // has state, and the checkpoint knows no operator of that name
    kDropped,  // has state in the checkpoint, and no operator with state in the definition has it
  };
  Kind kind = Kind::kRestored;
  std::string uid;                  // in the definition; of a dropped one: in the checkpoint
  std::string stored_uid;           // in the checkpoint
  uint32_t parallelism_before = 0;  // 0: not known
  uint32_t parallelism = 0;
  std::vector<std::string> states;  // of keyed state, by name
};
// "operator 'totals': state restored (groups), parallelism 2 -> 3".
std::string ToString(const OperatorFate& fate);

// Of all operators with state, in the order of the definition; then the dropped ones. None if the checkpoint is the
// empty one of a first start.
std::vector<OperatorFate> FatesOf(const RestoreTarget& target, const checkpoint::CheckpointMetadata& checkpoint,
                                  const checkpoint::OperatorMatch& match);

}  // namespace weir::jobs
