#include "jobs/job_attempt.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/process.h"
#include "checkpoint/savepoint.h"
#include "jobs/control_socket.h"
#include "jobs/status_line.h"
#include "state/rocksdb_store.h"

namespace weir::jobs {
namespace {

// The time that a SIGTERM leaves for the last checkpoint to be applied; a supervisor kills soon after.
constexpr Duration kStopTimeoutMax = std::chrono::seconds(4);

// What a client of the control socket asks for; waits until it is done. The job always answers, at its end at the
// latest.
Result<uint64_t> TakeSavepoint(Job& job, FileSystem& fs, const ControlRequest& request) {
  WEIR_RETURN_IF_ERROR(checkpoint::PrepareSavepointFolder(fs, job.storage_root(), request.savepoint_folder));
  const auto promise = std::make_shared<std::promise<Result<CheckpointId>>>();
  std::future<Result<CheckpointId>> exported = promise->get_future();
  job.RequestSavepoint({.folder = request.savepoint_folder,
                        .done = [promise](Result<CheckpointId> result) { promise->set_value(std::move(result)); }});
  if (request.stop) job.RequestStop(job.definition().stop_timeout, request.drain);
  const Result<CheckpointId> result = exported.get();
  if (!result.has_value()) {
    LogWarning("a savepoint that was asked for failed: " + result.error().ToString());
    if (!request.stop) return Error(result.error());
    return Error(Status(result.error().code(), result.error().message() + "; the job stops all the same"));
  }
  LogInfo("savepoint at checkpoint " + std::to_string(result->number) + ": " + request.savepoint_folder);
  return result->number;
}

Result<uint64_t> Obey(Job& job, FileSystem& fs, const std::shared_future<void>& ended, const ControlRequest& request) {
  uint64_t checkpoint = 0;
  if (!request.savepoint_folder.empty()) {
    WEIR_ASSIGN_OR_RETURN(checkpoint, TakeSavepoint(job, fs, request));
  } else {
    job.RequestStop(job.definition().stop_timeout, request.drain);
  }
  if (!request.stop) return checkpoint;
  ended.wait();
  const Status cause = job.cause();
  if (!cause.ok()) return Error(cause);
  return checkpoint;
}

// Without it the job runs all the same: some file systems hold no sockets.
std::unique_ptr<LocalSocketServer> OpenControlSocket(Job& job, FileSystem& fs, std::shared_future<void> ended,
                                                     WorkerFactory& workers) {
  auto server = ServeControl(
      job.storage_root(), workers,
      [&job, &fs, ended = std::move(ended)](const ControlRequest& request) { return Obey(job, fs, ended, request); });
  if (server.has_value()) return std::move(*server);
  LogWarning(server.error().WithContext("weir savepoint and weir stop can't reach this job").ToString());
  return nullptr;
}

// Until the job has ended; a stop signal cuts a last checkpoint. True if there was one.
bool Watch(Job& job, uint64_t restarts, const AttemptPorts& ports) {
  StatusLine status(*ports.clock, StandardErrorIsTerminal(), restarts);
  bool signalled = false;
  while (job.state() <= JobState::kStopping) {
    const RunEvents::Event event = ports.events->WaitFor(std::chrono::seconds(1));
    if (event == RunEvents::Event::kStop) {
      signalled = true;
      status.End();
      LogInfo("stopping after a last checkpoint");
      job.RequestStop(std::min(kStopTimeoutMax, job.definition().stop_timeout));
    } else if (event == RunEvents::Event::kTimeout && !ports.quiet) {
      status.Print(job);
    }
  }
  status.End();
  return signalled;
}

// As the definition says: when the job is over by its own end or by a person's word. Who sends a signal, as a
// supervisor does and a machine that goes down, may want it back.
void DeleteCheckpointsIfOver(Job& job, JobState state, bool signalled) {
  if (!job.definition().checkpoint.delete_on_stop || signalled) return;
  if (state != JobState::kFinished && state != JobState::kStopped) return;
  const std::string name = "job \"" + job.definition().name + "\": its checkpoints ";
  const Status status = job.DeleteCheckpoints();
  if (status.ok()) {
    LogInfo(name + "are deleted, as checkpoint.on-stop says");
  } else {
    LogWarning(status.WithContext(name + "can't be deleted").ToString());
  }
}

}  // namespace

AttemptEnd RunAttempt(const JobDefinition& definition, const checkpoint::RestoreRequest& restore, uint64_t restarts,
                      const AttemptPorts& ports) {
  ports.observer->Starting();
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
  const auto ended = std::make_shared<std::promise<void>>();
  job_ports.on_done = [events = ports.events, ended] {
    ended->set_value();
    events->Wake();
  };
  auto job = Job::Start(definition, {.restore = restore}, std::move(job_ports));
  AttemptEnd end;
  bool signalled = false;
  if (!job.has_value()) {
    end.cause = job.error();
    ports.observer->NotStarted(end.cause);
    executor->Stop();
    return end;
  }
  ports.observer->Attach(**job);
  {
    const std::unique_ptr<LocalSocketServer> control =
        OpenControlSocket(**job, ports.connections->file_system(), ended->get_future().share(), *workers);
    for (const checkpoint::ReportLine& line : (*job)->report()) Log(line.level, line.text);
    signalled = Watch(**job, restarts, ports);
  }
  ports.observer->Detach();
  executor->Stop();
  end.state = (*job)->state();
  if (end.state == JobState::kStopped || end.state == JobState::kFinished) {
    // The executor may have stopped before a source heard that the last checkpoint is applied.
    for (const auto& task : (*job)->tasks()) (void)task->Step();
  }
  end.cause = (*job)->cause();
  end.had_started = true;
  end.had_to_stop = (*job)->stop_requested();
  const checkpoint::CheckpointStats stats = (*job)->checkpoint_stats();
  end.had_begun = stats.last_number > 0;
  end.applied = stats.applied_number;
  DeleteCheckpointsIfOver(**job, end.state, signalled);
  job->reset();
  return end;
}

}  // namespace weir::jobs
