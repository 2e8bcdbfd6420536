// `weir run --supervise`: keeps a `weir run` alive that dies without a word (a crash, the kernel's memory killer). What
// fails inside the child is the child's to restart; an exit code of its own is final and becomes ours.
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/process.h"
#include "jobs/commands.h"
#include "jobs/definition_command.h"
#include "jobs/restart_strategy.h"
#include "jobs/restart_wait.h"

namespace weir::jobs {
namespace {

constexpr Duration kLookInterval = std::chrono::milliseconds(100);
constexpr int kSignalled = 128;

class Supervisor {
 public:
  Supervisor(const JobDefinition& definition, const Connections& connections, std::vector<std::string> command,
             Random& random, SignalWaiter& signals)
      : definition_(definition),
        connections_(connections),
        name_("job \"" + definition.name + "\""),
        command_(std::move(command)),
        signals_(signals),
        strategy_(definition.restart, random) {}

  ExitCode Run() {
    while (true) {
      const MonotonicTime began = clock_.Now();
      const auto child = ChildProcess::Start(command_);
      if (!child.has_value()) {
        LogError(name_ + " was not started: " + child.error().ToString());
        return ExitCode::kJobFailed;
      }
      const int code = Watch(**child);
      if (code < kSignalled) return static_cast<ExitCode>(code);
      const std::string death = name_ + ": its process was ended by signal " + std::to_string(code - kSignalled);
      const std::optional<Duration> delay = strategy_.OnFailure(began, clock_.Now());
      if (stopping_ || !delay.has_value()) return Dead(death);
      LogWarning(death + "; " + strategy_.Granted(*delay));
      const StopWaiting waiting{
          .stop_comes = [this](Duration timeout) { return signals_.WaitFor(timeout) == SignalWaiter::Event::kStop; },
          .wake = [this] { signals_.Wake(); }};
      if (StopsWithin(*delay, definition_, connections_, waiting)) {
        LogWarning(name_ + " stopped while it waited for a restart");
        return ExitCode::kJobFailed;
      }
    }
  }

 private:
  // Until the child has ended; hands a stop on to it.
  int Watch(ChildProcess& child) {
    while (true) {
      if (const std::optional<int> code = child.WaitFor(Duration::zero())) return *code;
      if (signals_.WaitFor(kLookInterval) != SignalWaiter::Event::kStop) continue;
      stopping_ = true;
      child.Signal(SIGTERM);
    }
  }

  ExitCode Dead(const std::string& death) const {
    if (stopping_) {
      LogError(death + " while it was stopping");
      return ExitCode::kJobFailed;
    }
    LogError(death + "; " + strategy_.GaveUp());
    return ExitCode::kGaveUp;
  }

  const JobDefinition& definition_;
  const Connections& connections_;
  const std::string name_;
  const std::vector<std::string> command_;
  const SystemClock clock_;
  SignalWaiter& signals_;
  RestartStrategy strategy_;
  bool stopping_ = false;
};

}  // namespace

ExitCode SuperviseCommand(const SuperviseArguments& arguments, SignalWaiter& signals) {
  const Connections connections;
  auto parsed = LoadInstance(arguments.definition, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;
  const auto random = NewSystemRandom();
  return Supervisor(parsed->job, connections, arguments.command, *random, signals).Run();
}

}  // namespace weir::jobs
