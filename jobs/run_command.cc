// `weir run`: a job from its definition to its last checkpoint, started again when it fails.
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "base/fault_site.h"
#include "base/log.h"
#include "base/process.h"
#include "jobs/definition_command.h"
#include "jobs/job_attempt.h"
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
      if (end.had_begun) restore_ = RestartRequestOf(std::move(restore_));
      LogWarning(What(end) + end.cause.ToString() + "; " + strategy_.Granted(*delay));
      if (StopsWithin(*delay, definition_, *ports_.connections, *ports_.signals)) {
        return StoppedWaiting();
      }
    }
  }

 private:
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
  AttemptPorts ports;
  ports.connections = &connections;
  ports.clock = &clock;
  ports.random = random.get();
  ports.signals = &signals;
  ports.threads = arguments.workers == 0 ? ProcessorCount() : arguments.workers;
  ports.quiet = arguments.quiet;
  return JobRunner(parsed->job, RequestOf(arguments), ports).Run();
}

}  // namespace weir::jobs
