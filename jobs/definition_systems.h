// Sinks of a definition that share a committer, because they write to the same external system. Pure; any thread.
#pragma once

#include "jobs/job_definition.h"
#include "operators/options.h"

namespace weir::jobs {

// A problem for each sink whose settings for the system differ from those of the first sink on it. The job's options
// are right.
void CheckSharedSystems(const JobDefinition& job, const operators::Registry& registry, operators::Problems& problems);

}  // namespace weir::jobs
