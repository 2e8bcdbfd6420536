#include "jobs/job_attempt.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "jobs/status_line.h"
#include "state/rocksdb_store.h"

namespace weir::jobs {
namespace {

// The time that a SIGTERM leaves for the last checkpoint to be applied; a supervisor kills soon after.
constexpr Duration kStopTimeoutMax = std::chrono::seconds(4);

// Until the job has ended; a stop signal cuts a last checkpoint.
void Watch(Job& job, uint64_t restarts, const AttemptPorts& ports) {
  StatusLine status(*ports.clock, StandardErrorIsTerminal(), restarts);
  while (job.state() <= JobState::kStopping) {
    const SignalWaiter::Event event = ports.signals->WaitFor(std::chrono::seconds(1));
    if (event == SignalWaiter::Event::kStop) {
      status.End();
      LogInfo("stopping after a last checkpoint");
      job.RequestStop(std::min(kStopTimeoutMax, job.definition().stop_timeout));
    } else if (event == SignalWaiter::Event::kTimeout && !ports.quiet) {
      status.Print(job);
    }
  }
  status.End();
}

}  // namespace

AttemptEnd RunAttempt(const JobDefinition& definition, const checkpoint::RestoreRequest& restore, uint64_t restarts,
                      const AttemptPorts& ports) {
  const auto workers = NewThreadWorkerFactory();
  state::StateBudget budget(definition.state_bytes_max);
  const auto stores = state::NewRocksDbStoreFactory(budget);
  const auto executor = operators::NewThreadExecutor(*workers, *ports.clock, {.threads = ports.threads});
  JobPorts job_ports;
  job_ports.clock = ports.clock;
  job_ports.file_system = &ports.connections->file_system();
  job_ports.random = ports.random;
  job_ports.workers = workers.get();
  job_ports.executor = executor.get();
  job_ports.registry = &ports.connections->registry();
  job_ports.stores = stores.get();
  job_ports.budget = &budget;
  job_ports.on_done = [signals = ports.signals] { signals->Wake(); };
  auto job = Job::Start(definition, {.restore = restore}, std::move(job_ports));
  AttemptEnd end;
  if (!job.has_value()) {
    end.cause = job.error();
    executor->Stop();
    return end;
  }
  for (const checkpoint::ReportLine& line : (*job)->report()) Log(line.level, line.text);
  Watch(**job, restarts, ports);
  executor->Stop();
  end.state = (*job)->state();
  end.cause = (*job)->cause();
  end.had_started = true;
  const checkpoint::CheckpointStats stats = (*job)->checkpoint_stats();
  end.had_begun = stats.last_number > 0;
  end.applied = stats.applied_number;
  job->reset();
  return end;
}

}  // namespace weir::jobs
