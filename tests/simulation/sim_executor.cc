#include "tests/simulation/sim_executor.h"

#include <utility>

#include "base/check.h"

namespace weir::simulation {

using operators::Runnable;
using operators::StepResult;

class SimExecutor::SimSlot final : public Slot, public Wakeup {
 public:
  Wakeup& wakeup() override { return *this; }
  void Run(Runnable& runnable) override {
    WEIR_CHECK(runnable_ == nullptr);
    runnable_ = &runnable;
    ready_ = true;
  }
  void Wake() override { ready_ = true; }

  bool alive() const { return runnable_ != nullptr && !finished_; }
  bool runnable() const { return alive() && ready_; }
  const std::optional<MonotonicTime>& deadline() const { return deadline_; }

  void Step() {
    ready_ = false;
    deadline_.reset();
    switch (runnable_->Step()) {
      case StepResult::kProgress: ready_ = true; return;
      case StepResult::kIdle:
      case StepResult::kBlocked: deadline_ = runnable_->NextDeadline(); return;
      case StepResult::kFinished: finished_ = true; return;
    }
  }

 private:
  Runnable* runnable_ = nullptr;
  bool ready_ = false;
  bool finished_ = false;
  std::optional<MonotonicTime> deadline_;
};

SimExecutor::SimExecutor(const Random& random, ManualClock& clock, ManualWorkerFactory& workers,
                         SimExecutorOptions options)
    : random_(random.Split("executor")), clock_(clock), workers_(workers), options_(options) {}

SimExecutor::~SimExecutor() = default;

SimExecutor::Slot& SimExecutor::AddSlot(uint32_t) {
  slots_.push_back(std::make_unique<SimSlot>());
  return *slots_.back();
}

void SimExecutor::Stop() { stopped_ = true; }

bool SimExecutor::RunTask(size_t index) {
  trace_ = trace_ * 0x9e3779b97f4a7c15ULL + index + 1;
  ++steps_;
  slots_[index]->Step();
  return true;
}

SimExecutor::Outcome SimExecutor::RunOne() {
  if (stopped_) return Outcome::kStuck;
  std::vector<size_t> ready;
  std::vector<size_t> alive;
  for (size_t i = 0; i < slots_.size(); ++i) {
    // A timer that is due is as good as a wake-up.
    const auto& deadline = slots_[i]->deadline();
    if (deadline.has_value() && *deadline <= clock_.Now()) slots_[i]->Wake();
    if (slots_[i]->runnable()) ready.push_back(i);
    if (slots_[i]->alive()) alive.push_back(i);
  }
  const size_t jobs = workers_.runnable();
  const size_t choices = ready.size() + jobs;
  if (choices == 0) return JumpToNextTimer();
  if (!alive.empty() && options_.needless_step_one_in > 0 && random_->OneIn(options_.needless_step_one_in)) {
    RunTask(alive[random_->Below(alive.size())]);
    return Outcome::kStepped;
  }
  const size_t choice = random_->Below(choices);
  if (choice < ready.size()) {
    RunTask(ready[choice]);
    return Outcome::kStepped;
  }
  trace_ = trace_ * 0x9e3779b97f4a7c15ULL;
  ++steps_;
  WEIR_CHECK(workers_.RunOne(*random_));
  return Outcome::kStepped;
}

SimExecutor::Outcome SimExecutor::JumpToNextTimer() {
  std::optional<MonotonicTime> next;
  for (const auto& slot : slots_) {
    if (!slot->alive() || !slot->deadline().has_value()) continue;
    if (!next.has_value() || *slot->deadline() < *next) next = slot->deadline();
  }
  if (!next.has_value()) return Outcome::kStuck;
  clock_.AdvanceTo(*next);
  return Outcome::kTimeJumped;
}

bool SimExecutor::RunUntil(const std::function<bool()>& done, Duration budget) {
  const MonotonicTime end = clock_.Now() + budget;
  while (!done()) {
    if (clock_.Now() > end) return false;
    if (RunOne() == Outcome::kStuck) return done();
  }
  return true;
}

}  // namespace weir::simulation
