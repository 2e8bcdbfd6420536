// All that helps to understand a running job, as one JSON object: what it is, what it was told, where it stands. Reads
// the newest checkpoint's `_metadata`; waits for the disk alone. Any thread.
#pragma once

#include <string>

#include "base/file_system.h"
#include "jobs/job_metrics.h"
#include "jobs/job_observer.h"
#include "operators/raw_value.h"

namespace weir::jobs {

struct DiagnosticsInputs {
  const JobReading* reading = nullptr;
  const ProcessReading* process = nullptr;
  const operators::RawValue* definition = nullptr;  // as it may be shown (definition_shown.h)
  FileSystem* file_system = nullptr;
  std::string storage_root;  // the job's folder of the storage
};

std::string DiagnosticsJson(const DiagnosticsInputs& inputs);

}  // namespace weir::jobs
