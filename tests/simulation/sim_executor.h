// The executor of the simulator: one thread, no lanes. Each call of RunOne takes one seeded choice among the runnable
// steps and the jobs that wait in workers; when there is neither, virtual time jumps to the next timer. The same seed
// takes the same course.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "operators/runtime/executor.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"

namespace weir::simulation {

struct SimExecutorOptions {
  // One step in so many is one that nobody asked for: a wake-up may always come for nothing. 0: none.
  uint64_t needless_step_one_in = 64;
};

class SimExecutor final : public operators::Executor {
 public:
  // `random`, `clock` and `workers` outlive the executor.
  SimExecutor(const Random& random, ManualClock& clock, ManualWorkerFactory& workers, SimExecutorOptions options = {});
  ~SimExecutor() override;

  Slot& AddSlot(uint32_t lane) override;
  void Stop() override;

  enum class Outcome : uint8_t {
    kStepped,     // a step or a job ran
    kTimeJumped,  // to the next timer; its step is runnable now
    kStuck,       // nothing can run and nobody waits for a time: only the world outside can go on
  };
  Outcome RunOne();
  // Until `done` says so. False if it got stuck, or `budget` of virtual time passed first.
  bool RunUntil(const std::function<bool()>& done, Duration budget);

  uint64_t steps() const { return steps_; }
  // Depends on every choice made so far: equal for two runs that took the same course.
  uint64_t trace() const { return trace_; }

 private:
  class SimSlot;

  bool RunTask(size_t index);
  Outcome JumpToNextTimer();

  std::unique_ptr<Random> random_;
  ManualClock& clock_;
  ManualWorkerFactory& workers_;
  const SimExecutorOptions options_;
  std::vector<std::unique_ptr<SimSlot>> slots_;
  bool stopped_ = false;
  uint64_t steps_ = 0;
  uint64_t trace_ = 0;
};

}  // namespace weir::simulation
