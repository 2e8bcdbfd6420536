// `weir savepoint` and `weir stop`: what a running job is asked for through its control socket.
#include <iostream>
#include <string>

#include "base/file_system.h"
#include "base/process.h"
#include "jobs/commands.h"
#include "jobs/control_socket.h"
#include "jobs/definition_command.h"

namespace weir::jobs {
namespace {

// After a stop, until the job's process has let go of the storage: the next start may follow at once.
constexpr Duration kProcessEndMax = std::chrono::seconds(30);

}  // namespace

ExitCode SavepointCommand(const SavepointArguments& arguments) {
  const Connections connections;
  const auto parsed = LoadInstance(arguments.definition, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;
  ControlRequest request{.savepoint_folder = {}, .stop = arguments.stop, .drain = arguments.drain};
  if (!arguments.folder.empty()) request.savepoint_folder = AbsolutePath(arguments.folder);
  const std::string job_folder = JoinPath(parsed->job.checkpoint.storage, parsed->job.name);
  const auto answer = AskJob(job_folder, request);
  const std::string name = "job \"" + parsed->job.name + "\"";
  if (!answer.has_value()) {
    const bool absent = answer.error().code() == StatusCode::kNotFound;
    std::cerr << "weir: " << name << (absent ? " is not running here: " : ": ") << answer.error().message() << "\n";
    return ExitCode::kJobFailed;
  }
  if (!request.savepoint_folder.empty()) {
    std::cout << "savepoint of " << name << " at checkpoint " << answer->checkpoint << ": " << request.savepoint_folder
              << "\n";
  }
  if (!request.stop) return ExitCode::kOk;
  if (!WaitForProcess(answer->pid, kProcessEndMax)) {
    std::cerr << "weir: " << name << " has been asked to stop, and its process " << answer->pid << " still runs\n";
    return ExitCode::kJobFailed;
  }
  std::cout << name << " stopped\n";
  return ExitCode::kOk;
}

}  // namespace weir::jobs
