// The names under which a job's figures stand in /metrics, with what they mean (docs/operation.md lists them; a test
// compares). Pure; any thread.
#pragma once

#include <string>

#include "jobs/job_observer.h"

namespace weir::jobs {

// The process beside its job.
struct ProcessReading {
  std::string version;
  std::string build;  // "release, g++ 12.2.0"
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  uint64_t open_descriptors = 0;
};

std::string MetricsPage(const JobReading& reading, const ProcessReading& process);

}  // namespace weir::jobs
