// What drives steps. An Executor calls Step of every runnable that has been woken, one call at a time for each
// runnable, always from the same lane; a lane with nothing to do parks. In production a lane is a thread
// (ThreadExecutor below), in the simulator all lanes are one thread with a seeded choice
// (tests/simulation/sim_executor.h). Nothing here knows what a step does.
//
//   ThreadExecutor executor(*worker_factory, clock, {.threads = 2});
//   Executor::Slot& slot = executor.AddSlot(0);        // lane of subtask 0; its wakeup goes into channels and clients
//   Task task(... .wakeup = &slot.wakeup() ...);
//   slot.Run(task);                                    // from now on it is stepped
//   ...
//   executor.Stop();                                   // when it returns no step runs and none will
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/wakeup.h"
#include "base/worker.h"

namespace weir::operators {

enum class StepResult : uint8_t {
  kProgress,  // call again
  kIdle,      // nothing to do until woken or until NextDeadline
  kBlocked,   // something downstream must make room, which will wake it
  kFinished,  // never call again
};

class Runnable {
 public:
  virtual ~Runnable() = default;
  // A bounded slice of work; never waits.
  virtual StepResult Step() = 0;
  // When Step must be called though nobody wakes it. Asked on the lane's thread, after a Step that was idle or blocked.
  virtual std::optional<MonotonicTime> NextDeadline() const { return std::nullopt; }
};

class Executor {
 public:
  // The place of one runnable. Its wakeup exists before the runnable does and is valid as long as the executor.
  class Slot {
   public:
    virtual ~Slot() = default;
    virtual Wakeup& wakeup() = 0;
    // Any thread, once. `runnable` outlives Stop.
    virtual void Run(Runnable& runnable) = 0;
  };
  static constexpr uint32_t kControlLane = UINT32_MAX;  // coordinator, enumerators: a lane of their own

  virtual ~Executor() = default;
  // Any thread. The runnable will be stepped on lane `lane` mod the number of lanes: a job's tasks are spread over
  // them by vertex and subtask (jobs/job_builder.cc).
  virtual Slot& AddSlot(uint32_t lane) = 0;
  // Any thread but a lane's. Returns when no step runs; none will.
  virtual void Stop() = 0;
};

struct ThreadExecutorOptions {
  uint32_t threads = 1;  // besides the control lane's
};

// Worker threads "weir-lane-<i>" and "weir-control".
std::unique_ptr<Executor> NewThreadExecutor(WorkerFactory& workers, const Clock& clock, ThreadExecutorOptions options);

}  // namespace weir::operators
