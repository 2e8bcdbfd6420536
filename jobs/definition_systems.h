// The external systems that a definition's sinks write to; sinks on one of them share a committer. Pure; any thread.
#pragma once

#include <set>
#include <string>

#include "jobs/job_definition.h"
#include "operators/options.h"

namespace weir::jobs {

// A problem for each sink whose settings for the system differ from those of the first sink on it. The job's options
// are right.
void CheckSharedSystems(const JobDefinition& job, const operators::Registry& registry, operators::Problems& problems);

// The external systems with a marker that the job's sinks write to.
std::set<std::string> SystemsOf(const JobDefinition& job, const operators::Registry& registry);

}  // namespace weir::jobs
