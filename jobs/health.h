// Is this job well? Decided from a reading alone. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "jobs/job_observer.h"

namespace weir::jobs {

// As many intervals may pass without a checkpoint that every system has.
inline constexpr int kHealthIntervalsMax = 3;
// So long may a source's partition stay without its reader asking for records.
inline constexpr Duration kHealthUnpolledMax = std::chrono::seconds(30);

struct Health {
  std::vector<std::string> causes;  // what is wrong, for people; empty: well
  bool ok() const { return causes.empty(); }
};

// Well: running, with a checkpoint applied within three intervals or begun within them, and every partition polled
// within 30 s (gauge partition_polled_seconds; a source without it is not judged). A job that has finished is well.
Health JudgeHealth(const JobReading& reading);
// {"job":"orders","state":"running","healthy":false,"causes":["..."]}
std::string HealthJson(const JobReading& reading, const Health& health);

}  // namespace weir::jobs
