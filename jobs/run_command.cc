// `weir run`: a job from its definition to its last checkpoint, started again when it fails.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fault_site.h"
#include "base/log.h"
#include "base/process.h"
#include "jobs/definition_command.h"
#include "jobs/job_attempt.h"
#include "jobs/operation.h"
#include "jobs/restart_strategy.h"
#include "jobs/restart_wait.h"

namespace weir::jobs {
namespace {

checkpoint::RestoreRequest RequestOf(const RunArguments& arguments) {
  using From = checkpoint::RestoreRequest::From;
  checkpoint::RestoreRequest request;
  request.from = arguments.restore == "latest" ? From::kLatest
                 : arguments.restore == "none" ? From::kNone
                                               : From::kPath;
  if (request.from == From::kPath) request.path = arguments.claim ? AbsolutePath(arguments.restore) : arguments.restore;
  request.claim = arguments.claim;
  request.rewind = arguments.rewind;
  request.assume = arguments.assume;
  request.drop_output.insert(arguments.drop_output.begin(), arguments.drop_output.end());
  request.allow_non_restored_state = arguments.allow_non_restored_state;
  request.map_operators = arguments.map_operators;
  return request;
}

// What a restart in the same process asks for: the newest checkpoint, once there is one of the line that was chosen.
checkpoint::RestoreRequest RestartRequestOf(checkpoint::RestoreRequest request) {
  request.from = checkpoint::RestoreRequest::From::kLatest;
  request.path.clear();
  request.rewind.reset();
  request.claim = false;
  return request;
}

// Runs a job until it has ended for good, attempt after attempt.
class JobRunner {
 public:
  JobRunner(const JobDefinition& definition, checkpoint::RestoreRequest restore, AttemptPorts ports)
      : definition_(definition),
        restore_(std::move(restore)),
        ports_(ports),
        strategy_(definition.restart, *ports.random) {}

  ExitCode Run() {
    while (true) {
      const MonotonicTime began = ports_.clock->Now();
      const AttemptEnd end = RunAttempt(definition_, restore_, strategy_.restarts(), ports_);
      if (end.state != JobState::kFailed) return Ended(end);
      if (end.had_to_stop) return FailedStopping(end);
      if (!CanRestart(end.cause, end.had_begun)) return Failed(end);
      const std::optional<Duration> delay = strategy_.OnFailure(began, ports_.clock->Now());
      if (strategy_.first_of_row()) first_failure_ = end.cause;
      if (!delay.has_value()) return definition_.restart.kind == RestartKind::kNone ? Failed(end) : GaveUp(end);
      ports_.observer->Restarting(strategy_.restarts(), *delay);
      if (end.had_begun) restore_ = RestartRequestOf(std::move(restore_));
      LogWarning(What(end) + end.cause.ToString() + "; " + strategy_.Granted(*delay));
      if (StopsWithin(*delay, definition_, *ports_.connections, Waiting())) {
        return StoppedWaiting();
      }
    }
  }

 private:
  StopWaiting Waiting() const {
    return {.stop_comes = [events = ports_.events](
                              Duration timeout) { return events->WaitFor(timeout) == RunEvents::Event::kStop; },
            .wake = [events = ports_.events] { events->Wake(); }};
  }
  std::string Name() const { return "job \"" + definition_.name + "\""; }
  std::string What(const AttemptEnd& end) const {
    return end.had_started ? Name() + " failed: " : Name() + " was not started: ";
  }

  ExitCode Ended(const AttemptEnd& end) const {
    if (end.state == JobState::kStoppedUnapplied) {
      LogWarning(Name() + " stopped: " + end.cause.message());
      return ExitCode::kStoppedUnapplied;
    }
    const bool finished = end.state == JobState::kFinished;
    LogInfo(Name() + (finished ? " finished" : " stopped at checkpoint " + std::to_string(end.applied)));
    return ExitCode::kOk;
  }

  ExitCode Failed(const AttemptEnd& end) const {
    LogError(What(end) + end.cause.ToString());
    return ExitCodeOf(end.cause, end.had_started);
  }

  // Who asked for the end gets it: the failure may be what the stop was for.
  ExitCode FailedStopping(const AttemptEnd& end) const {
    LogError(Name() + " failed while it was stopping: " + end.cause.ToString() +
             "; the next start goes on from the newest checkpoint");
    return ExitCodeOf(end.cause, end.had_started);
  }

  // The root cause first: what came after it may be its echo.
  ExitCode GaveUp(const AttemptEnd& end) const {
    std::string text = Name() + " failed: " + first_failure_.ToString();
    if (end.cause.ToString() != first_failure_.ToString()) text += "; the last failure: " + end.cause.ToString();
    LogError(text + "; " + strategy_.GaveUp());
    return ExitCode::kGaveUp;
  }

  ExitCode StoppedWaiting() const {
    LogWarning(Name() + " stopped while it waited for a restart: the next start goes on from the newest checkpoint");
    return ExitCode::kJobFailed;
  }

  const JobDefinition& definition_;
  checkpoint::RestoreRequest restore_;
  const AttemptPorts ports_;
  RestartStrategy strategy_;
  Status first_failure_;  // of the row
};

// A supervisor that gets no answer to its SIGTERM kills, often after 10 s. Half a second of it is for what is being
// taken down behind the last checkpoint's own limit (job_attempt.cc).
constexpr Duration kStopMax = std::chrono::milliseconds(4500);

std::string CutShort(const JobReading& reading) {
  std::string text = "job \"" + reading.job + "\" is ";
  text += RunStateName(reading.state);
  if (!reading.last_failure.empty()) text += " (" + reading.last_failure + ")";
  return text +
         " and a call that does not return holds up the end: the process ends without it; the next start goes on "
         "from the newest checkpoint";
}

// Runs the job on a thread of its own; the caller's, the main one, has the signals. A call into a client's library or
// to a disk that hangs can't be ended from outside: when a stop takes too long, the process ends where it is, as by a
// crash. Nothing is lost by that: what is durable is in the storage, and the next start goes on from it.
ExitCode RunWithin(JobRunner& runner, const AttemptPorts& ports, WorkerFactory& workers, SignalWaiter& signals) {
  std::atomic<bool> ended = false;
  ExitCode code = ExitCode::kOk;
  const std::unique_ptr<Worker> thread = workers.NewWorker("weir-job");
  thread->Submit([&] {
    code = runner.Run();
    ended = true;
    signals.Wake();
  });
  std::optional<MonotonicTime> stop_until;
  while (!ended) {
    const MonotonicTime now = ports.clock->Now();
    if (stop_until.has_value() && now >= *stop_until) {
      const JobReading reading = ports.observer->Read();
      const bool over = reading.state == RunState::kFinished || reading.state == RunState::kStopped;
      LogWarning(CutShort(reading));
      std::_Exit(static_cast<int>(over ? ExitCode::kOk : ExitCode::kStoppedUnapplied));
    }
    const Duration patience = stop_until.has_value() ? *stop_until - now : std::chrono::hours(1);
    if (signals.WaitFor(patience) != SignalWaiter::Event::kStop) continue;
    ports.events->Stop();
    if (!stop_until.has_value()) stop_until = ports.clock->Now() + kStopMax;
  }
  return code;
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
  auto parsed = LoadInstance(arguments.definition, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;

  const SystemClock clock;
  const auto random = NewSystemRandom();
  AttemptPorts ports;
  ports.connections = &connections;
  ports.clock = &clock;
  ports.random = random.get();
  RunEvents events;
  ports.events = &events;
  JobObserver observer(parsed->job, clock);
  ports.observer = &observer;
  ports.threads = arguments.workers == 0 ? ProcessorCount() : arguments.workers;
  ports.quiet = arguments.quiet;
  const auto workers = NewThreadWorkerFactory();
  std::unique_ptr<HttpServer> server;
  if (const std::optional<HttpAddress> address =
          arguments.metrics.has_value() ? arguments.metrics : parsed->job.metrics;
      address.has_value()) {
    auto started = ServeOperation(*address, {.observer = &observer,
                                             .definition = &parsed->shown,
                                             .file_system = &connections.file_system(),
                                             .storage_root = JoinPath(parsed->job.checkpoint.storage, parsed->job.name),
                                             .version = WEIR_VERSION,
                                             .workers = workers.get(),
                                             .clock = &clock});
    if (!started.has_value()) {
      LogError("the job was not started: metrics: " + started.error().message());
      return ExitCode::kStartRefused;
    }
    server = std::move(*started);
  }
  JobRunner runner(parsed->job, RequestOf(arguments), ports);
  return RunWithin(runner, ports, *workers, signals);
}

}  // namespace weir::jobs
