#include "jobs/restart_wait.h"

#include <atomic>
#include <memory>
#include <utility>

#include "checkpoint/checkpoint_storage.h"
#include "jobs/control_socket.h"

namespace weir::jobs {

bool StopsWithin(Duration delay, const JobDefinition& job, const Connections& connections, const StopWaiting& waiting) {
  const SystemClock clock;
  const MonotonicTime until = clock.Now() + delay;
  std::atomic<bool> asked = false;
  const auto workers = NewThreadWorkerFactory();
  const std::string folder = JoinPath(job.checkpoint.storage, job.name);
  const auto lock = checkpoint::LockJobFolder(connections.file_system(), folder);
  std::unique_ptr<LocalSocketServer> control;
  if (lock.has_value()) {
    auto server = ServeControl(folder, *workers, [&](const ControlRequest& request) -> Result<uint64_t> {
      if (!request.savepoint_folder.empty() || !request.stop) {
        return Error(Status::Unavailable("the job has failed and waits for a restart"));
      }
      asked = true;
      waiting.wake();
      return 0;
    });
    if (server.has_value()) control = std::move(*server);
  }
  for (Duration left = delay; left > Duration::zero() && !asked; left = until - clock.Now()) {
    if (waiting.stop_comes(left)) return true;
  }
  return asked;
}

}  // namespace weir::jobs
