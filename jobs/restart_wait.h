// The time between the end of a failed attempt and the next one.
#pragma once

#include "base/clock.h"
#include "base/process.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

// Waits for `delay`; true as soon as a signal or a client of the control socket asks the job to stop. The storage stays
// locked meanwhile, where it can be had: the job is found under its name, and nobody takes its place. A savepoint is
// refused with the reason. Blocks; the main thread.
bool StopsWithin(Duration delay, const JobDefinition& job, const Connections& connections, SignalWaiter& signals);

}  // namespace weir::jobs
