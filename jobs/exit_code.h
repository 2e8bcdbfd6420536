// What the process says to whoever started it. Documented in README.md; scripts and supervisors rely on the numbers.
#pragma once

#include "base/status.h"

namespace weir::jobs {

enum class ExitCode : int {
  kOk = 0,            // finished, or stopped with everything applied
  kJobFailed = 1,     // the job ran and failed; the cause is the last error line on standard error
  kDiffers = 1,       // `weir state diff`: there are differences
  kProblems = 1,      // `weir preflight`: a system lacks what the job needs, or does not answer
  kBadUsage = 2,      // wrong command line, or a definition with problems
  kStartRefused = 3,  // nothing was changed: storage locked, checkpoint damaged or not fitting the definition, marker
                      // unknown, state without owner
  kTakenOver = 4,     // another start of the job has taken over
  kStoppedUnapplied =
      5,        // stopped durable, but a system has not confirmed the last checkpoint: the next start applies it
  kGaveUp = 6,  // the job kept failing, until its restart strategy granted no further restart
  kStateChanges =
      7,  // `weir plan`: the job would start, with an operator that begins without state or state left behind
};

// For a job that ended with `status`.
ExitCode ExitCodeOf(const Status& status, bool had_started);

}  // namespace weir::jobs
