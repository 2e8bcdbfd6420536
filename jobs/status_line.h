// What a running job says of itself: one line that is rewritten on a terminal, a plain log line from time to time
// elsewhere. The main thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "jobs/job.h"

namespace weir::jobs {

class StatusLine {
 public:
  // `restarts`: of the job in this process so far.
  StatusLine(const Clock& clock, bool terminal, uint64_t restarts)
      : clock_(clock), terminal_(terminal), restarts_(restarts), last_(clock.Now()) {}

  // Each second.
  void Print(const Job& job);
  // Leaves the line, so that what comes next begins on one of its own.
  void End();

 private:
  std::string Text(const Job& job, Duration since);

  const Clock& clock_;
  const bool terminal_;
  const uint64_t restarts_;
  MonotonicTime last_;
  Job::Rates before_;
  bool open_ = false;
};

// "1,234,567".
std::string GroupDigits(uint64_t number);

}  // namespace weir::jobs
