// Jobs whose input an outside system divides among processes (SourceType::divided_outside): each process runs the same
// definition as an instance with a name and, by it, with a storage of its own. What a partition left behind in an
// instance's checkpoint would be lost when the partition goes to another, so such a job keeps nothing there. Pure; any
// thread.
#pragma once

#include <string>

#include "base/status.h"
#include "jobs/job_definition.h"
#include "operators/options.h"

namespace weir::jobs {

// A problem for each node that keeps something in checkpoints beside a source that is divided outside. The job's
// options are right.
void CheckDividedOutside(const JobDefinition& job, const operators::Registry& registry, operators::Problems& problems);

// Makes `job` the instance of that name; empty: none was given. Its name becomes "<job>@<instance>", which names its
// folder in the storage. InvalidArgument: the job needs an instance, or knows none, or this is no name.
Status NameInstance(JobDefinition& job, const operators::Registry& registry, const std::string& instance);

}  // namespace weir::jobs
