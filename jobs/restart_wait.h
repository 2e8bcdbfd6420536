// The time between the end of a failed attempt and the next one.
#pragma once

#include <functional>

#include "base/clock.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

// How the caller hears of a stop.
struct StopWaiting {
  std::function<bool(Duration timeout)> stop_comes;  // within `timeout`; also comes back, with false, when woken
  std::function<void()> wake;                        // any thread
};

// Waits for `delay`; true as soon as a signal or a client of the control socket asks the job to stop. The storage stays
// locked meanwhile, where it can be had: the job is found under its name, and nobody takes its place. A savepoint is
// refused with the reason. Blocks; the thread that `waiting` is for.
bool StopsWithin(Duration delay, const JobDefinition& job, const Connections& connections, const StopWaiting& waiting);

}  // namespace weir::jobs
