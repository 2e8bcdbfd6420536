// `weir run`: a job from its definition to its last checkpoint.
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/fault_site.h"
#include "base/log.h"
#include "base/process.h"
#include "jobs/definition_command.h"
#include "jobs/job.h"
#include "jobs/status_line.h"
#include "state/rocksdb_store.h"

namespace weir::jobs {
namespace {

// The time that a SIGTERM leaves for the last checkpoint to be applied; a supervisor kills soon after.
constexpr Duration kStopTimeoutMax = std::chrono::seconds(4);

checkpoint::RestoreRequest RequestOf(const RunArguments& arguments) {
  using From = checkpoint::RestoreRequest::From;
  checkpoint::RestoreRequest request;
  request.from = arguments.restore == "latest" ? From::kLatest
                 : arguments.restore == "none" ? From::kNone
                                               : From::kPath;
  if (request.from == From::kPath) request.path = arguments.restore;
  request.rewind = arguments.rewind;
  request.assume = arguments.assume;
  request.drop_output.insert(arguments.drop_output.begin(), arguments.drop_output.end());
  request.allow_non_restored_state = arguments.allow_non_restored_state;
  return request;
}

ExitCode Finish(const Job& job) {
  const std::string& name = job.definition().name;
  switch (job.state()) {
    case JobState::kFinished: LogInfo("job \"" + name + "\" finished"); return ExitCode::kOk;
    case JobState::kStopped:
      LogInfo("job \"" + name + "\" stopped at checkpoint " + std::to_string(job.checkpoint_stats().applied_number));
      return ExitCode::kOk;
    case JobState::kStoppedUnapplied:
      LogWarning("job \"" + name + "\" stopped: " + job.cause().message());
      return ExitCode::kStoppedUnapplied;
    default: break;
  }
  LogError("job \"" + name + "\" failed: " + job.cause().ToString());
  return ExitCodeOf(job.cause(), true);
}

// Until the job has ended; a stop signal cuts a last checkpoint.
void Watch(Job& job, SignalWaiter& signals, const Clock& clock, bool quiet) {
  StatusLine status(clock, StandardErrorIsTerminal());
  while (job.state() <= JobState::kStopping) {
    const SignalWaiter::Event event = signals.WaitFor(std::chrono::seconds(1));
    if (event == SignalWaiter::Event::kStop) {
      status.End();
      LogInfo("stopping after a last checkpoint");
      job.RequestStop(std::min(kStopTimeoutMax, job.definition().stop_timeout));
    } else if (event == SignalWaiter::Event::kTimeout && !quiet) {
      status.Print(job);
    }
  }
  status.End();
}

}  // namespace

ExitCode ExitCodeOf(const Status& status, bool had_started) {
  if (status.ok()) return ExitCode::kOk;
  if (status.code() == StatusCode::kFenced) return ExitCode::kTakenOver;
  return had_started ? ExitCode::kJobFailed : ExitCode::kStartRefused;
}

ExitCode RunCommand(const RunArguments& arguments, SignalWaiter& signals) {
  if (const auto fault = EnvironmentVariable("WEIR_FAULT"); fault.has_value()) {
    if (const std::string problem = ArmFaultSitesFrom(*fault); !problem.empty()) {
      std::cerr << "weir: WEIR_FAULT: " << problem << "\n";
      return ExitCode::kBadUsage;
    }
  }
  const Connections connections;
  auto parsed = LoadDefinition(arguments.definition, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;

  const SystemClock clock;
  const auto random = NewSystemRandom();
  const auto workers = NewThreadWorkerFactory();
  state::StateBudget budget(parsed->job.state_bytes_max);
  const auto stores = state::NewRocksDbStoreFactory(budget);
  const uint32_t threads = arguments.workers == 0 ? ProcessorCount() : arguments.workers;
  const auto executor = operators::NewThreadExecutor(*workers, clock, {.threads = threads});

  JobPorts ports;
  ports.clock = &clock;
  ports.file_system = &connections.file_system();
  ports.random = random.get();
  ports.workers = workers.get();
  ports.executor = executor.get();
  ports.registry = &connections.registry();
  ports.stores = stores.get();
  ports.budget = &budget;
  ports.on_done = [&signals] { signals.Wake(); };
  auto job = Job::Start(std::move(parsed->job), {.restore = RequestOf(arguments)}, std::move(ports));
  if (!job.has_value()) {
    LogError("the job was not started: " + job.error().ToString());
    executor->Stop();
    return ExitCodeOf(job.error(), false);
  }
  for (const checkpoint::ReportLine& line : (*job)->report()) Log(line.level, line.text);
  Watch(**job, signals, clock, arguments.quiet);
  executor->Stop();
  const ExitCode code = Finish(**job);
  job->reset();
  return code;
}

}  // namespace weir::jobs
