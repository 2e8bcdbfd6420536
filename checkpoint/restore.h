// One start of a job, of the process or inside it (R1 to R5): peek, decide, fence, take the newest whole checkpoint,
// read, decide, publish where needed, sign. Blocks: called where blocking is allowed, before any task runs and before
// the committers are given to a coordinator; nobody else may use them or the storage meanwhile. Inside a process the
// old tasks, snapshot workers and committers have ended and are joined before: left-over state files are deleted here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/checkpoint_storage.h"
#include "checkpoint/committer.h"
#include "checkpoint/restore_decision.h"

namespace weir::checkpoint {

// One external system of the job and who commits there.
struct System {
  std::string identity;
  std::unique_ptr<Committer> committer;
};

struct StartContext {
  CheckpointStorage* storage = nullptr;  // locked
  const Clock* clock = nullptr;
  Random* random = nullptr;
  UniqueId attempt;  // of this start; the committers have the same
  std::vector<System>* systems = nullptr;
  std::set<std::string> uids;  // all operators of the definition with state
  uint32_t key_groups = 0;     // of a first start
  uint32_t retain = 3;         // checkpoints
  // Whether the job as it is defined now can go on from a checkpoint; asked before anything is changed. Empty: it can.
  // `renamed`: as OperatorMatch says.
  std::function<Status(const CheckpointMetadata& checkpoint, const state::StateOwners& renamed)> fits;
};

// Where the job goes on.
struct RestoredJob {
  // The checkpoint to restore; its files' paths start at the storage's root. Nothing: PublishFirst is to be called.
  std::optional<CheckpointMetadata> checkpoint;
  bool is_first_start = false;  // nothing was found (and `checkpoint` is empty)
  UniqueId attempt;
  uint64_t next_number = 1;
  std::vector<SystemStart> systems;
  state::StateOwners renamed;  // operators that have another uid in `checkpoint`: uid there -> uid now
  std::vector<ReportLine> report;
};

// On an error nothing was signed or published, unless the message says so; the caller may try again with a new attempt
// and new committers. kFailedPrecondition and kCorruption: a person must decide. kUnavailable: a retry can help.
// kFenced: another process took over meanwhile.
Result<RestoredJob> StartAttempt(const RestoreRequest& request, const StartContext& context);

// The second half of a start without a checkpoint, when every enumerator is ready and before any task has rows:
// publishes the empty checkpoint that fixes where the splits begin, then signs. `enumerators` by source uid;
// `assigned`: splits that an enumerator has handed out already. Afterwards `job.checkpoint` is there.
Status PublishFirst(const StartContext& context, std::map<std::string, std::string> enumerators,
                    std::vector<AssignedSplit> assigned, RestoredJob& job);

}  // namespace weir::checkpoint
