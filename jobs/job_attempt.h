// One attempt of a job in this process, with everything that it alone uses: threads, memory budget, local state. A
// restart is a new one: nothing of a failed attempt is left for the next but what lies in the storage.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "checkpoint/restore.h"
#include "jobs/definition_command.h"
#include "jobs/job.h"
#include "jobs/job_observer.h"
#include "jobs/run_events.h"

namespace weir::jobs {

struct AttemptPorts {
  const Connections* connections = nullptr;
  const Clock* clock = nullptr;
  Random* random = nullptr;
  RunEvents* events = nullptr;
  JobObserver* observer = nullptr;
  uint32_t threads = 1;  // that run tasks
  bool quiet = false;    // no status lines
};

struct AttemptEnd {
  JobState state = JobState::kFailed;
  Status cause;              // of kFailed and kStoppedUnapplied
  bool had_started = false;  // the checkpoint was restored and the tasks were made
  bool had_begun = false;    // there is a checkpoint of this attempt's line: the next one goes on from the newest
  bool had_to_stop = false;  // a stop was asked for, whatever came of it
  uint64_t applied = 0;      // number of the newest checkpoint that every system has
};

// From the lock on the storage to the end. Blocks; the job's thread.
AttemptEnd RunAttempt(const JobDefinition& definition, const checkpoint::RestoreRequest& restore, uint64_t restarts,
                      const AttemptPorts& ports);

}  // namespace weir::jobs
