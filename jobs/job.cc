#include "jobs/job.h"

#include <utility>

#include "jobs/job_builder.h"

namespace weir::jobs {

Result<std::unique_ptr<Job>> Job::Start(JobDefinition definition, JobOptions options, JobPorts ports) {
  std::unique_ptr<Job> job(new Job());
  job->definition_ = std::move(definition);
  job->ports_ = std::move(ports);
  JobBuilder builder(*job, std::move(options));
  WEIR_RETURN_IF_ERROR(builder.Build());
  return job;
}

Job::~Job() = default;

Status Job::DeleteCheckpoints() {
  snapshots_.reset();
  control_.reset();  // waits for the workers that still look after old checkpoints
  return storage_->DeleteAll();
}

Job::Rates Job::rates() const {
  Rates rates;
  for (const auto& task : tasks_) {
    const operators::SubtaskMetrics& metrics = task->metrics();
    const Vertex& vertex = graph_.vertices[task->id().vertex];
    if (task->is_source()) {
      rates.rows_in += metrics.rows_in.load(std::memory_order_relaxed);
      const int64_t lag = metrics.lag_records.load(std::memory_order_relaxed);
      if (lag >= 0) rates.lag_records = (rates.lag_records < 0 ? 0 : rates.lag_records) + lag;
    }
    if (sinks_[vertex.nodes.back()] != nullptr) rates.rows_out += metrics.rows_out.load(std::memory_order_relaxed);
    rates.bad_records += metrics.bad_records.load(std::memory_order_relaxed);
  }
  return rates;
}

}  // namespace weir::jobs
