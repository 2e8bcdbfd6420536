// Parking without losing a wake-up: a waker sets the slot's `ready` and then looks at the lane's `parked`; a lane sets
// `parked` and then looks at every `ready`. Both are sequentially consistent, so that at least one of the two sees the
// other; a waker that sees a parked lane takes the lane's mutex and signals.
#include "operators/runtime/executor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace weir::operators {
namespace {

class Lane;

class LaneSlot final : public Executor::Slot, public Wakeup {
 public:
  explicit LaneSlot(Lane& lane) : lane_(lane) {}

  Wakeup& wakeup() override { return *this; }
  void Run(Runnable& runnable) override;
  void Wake() override;

 private:
  friend class Lane;
  Lane& lane_;
  std::atomic<bool> ready_ = false;
  std::atomic<Runnable*> runnable_ = nullptr;
  // Lane's thread only.
  bool finished_ = false;
  std::optional<MonotonicTime> deadline_;
};

class Lane {
 public:
  explicit Lane(const Clock& clock) : clock_(clock) {}

  LaneSlot& AddSlot() {
    auto slot = std::make_unique<LaneSlot>(*this);
    LaneSlot& added = *slot;
    std::lock_guard lock(mutex_);
    slots_.push_back(std::move(slot));
    slots_changed_.store(true);
    return added;
  }

  void Signal() {
    if (!parked_.load()) return;
    std::lock_guard lock(mutex_);
    changed_.notify_one();
  }

  void Stop() {
    stopping_.store(true);
    std::lock_guard lock(mutex_);
    changed_.notify_one();
  }

  void Loop() {
    while (!stopping_.load()) {
      if (slots_changed_.load()) TakeSlots();
      if (!Pass()) Park();
    }
  }

 private:
  void TakeSlots() {
    std::lock_guard lock(mutex_);
    slots_changed_.store(false);
    running_.clear();
    for (const auto& slot : slots_) {
      if (!slot->finished_) running_.push_back(slot.get());
    }
  }

  // Steps each ready slot once; false if none was.
  bool Pass() {
    bool stepped = false;
    const bool timed = next_deadline_.has_value() && *next_deadline_ <= clock_.Now();
    const MonotonicTime now = timed ? clock_.Now() : MonotonicTime{};
    for (LaneSlot* slot : running_) {
      const bool due = timed && slot->deadline_.has_value() && *slot->deadline_ <= now;
      if (!due && !slot->ready_.load()) continue;
      if (stopping_.load()) return true;
      // In this order: a wake-up, or Run, that comes in between is seen in the next pass.
      slot->ready_.store(false);
      Runnable* runnable = slot->runnable_.load();
      if (slot->finished_ || runnable == nullptr) continue;
      stepped = true;
      StepOne(*slot, *runnable);
    }
    next_deadline_.reset();
    for (LaneSlot* slot : running_) {
      if (!slot->deadline_.has_value()) continue;
      if (!next_deadline_.has_value() || *slot->deadline_ < *next_deadline_) next_deadline_ = slot->deadline_;
    }
    return stepped;
  }

  static void StepOne(LaneSlot& slot, Runnable& runnable) {
    slot.deadline_.reset();
    switch (runnable.Step()) {
      case StepResult::kProgress: slot.ready_.store(true); return;
      case StepResult::kIdle:
      case StepResult::kBlocked: slot.deadline_ = runnable.NextDeadline(); return;
      case StepResult::kFinished: slot.finished_ = true; return;
    }
  }

  bool AnyReady() const {
    if (stopping_.load() || slots_changed_.load()) return true;
    for (const LaneSlot* slot : running_) {
      if (slot->ready_.load()) return true;
    }
    return false;
  }

  void Park() {
    std::unique_lock lock(mutex_);
    parked_.store(true);
    while (!AnyReady()) {
      if (!next_deadline_.has_value()) {
        changed_.wait(lock);
        continue;
      }
      const Duration left = *next_deadline_ - clock_.Now();
      if (left <= Duration::zero()) break;
      changed_.wait_for(lock, left);
    }
    parked_.store(false);
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<LaneSlot>> slots_;  // guarded by mutex_
  std::atomic<bool> slots_changed_ = false;
  std::atomic<bool> parked_ = false;
  std::atomic<bool> stopping_ = false;
  // Lane's thread only.
  std::vector<LaneSlot*> running_;
  std::optional<MonotonicTime> next_deadline_;
};

void LaneSlot::Run(Runnable& runnable) {
  Runnable* none = nullptr;
  WEIR_CHECK(runnable_.compare_exchange_strong(none, &runnable));
  Wake();
}

void LaneSlot::Wake() {
  ready_.store(true);
  lane_.Signal();
}

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(WorkerFactory& workers, const Clock& clock, ThreadExecutorOptions options) {
    WEIR_CHECK_GT(options.threads, 0U);
    for (uint32_t i = 0; i <= options.threads; ++i) lanes_.push_back(std::make_unique<Lane>(clock));
    for (uint32_t i = 0; i <= options.threads; ++i) {
      const bool control = i == options.threads;
      threads_.push_back(workers.NewWorker(control ? "weir-control" : "weir-lane-" + std::to_string(i)));
      threads_.back()->Submit([lane = lanes_[i].get()] { lane->Loop(); });
    }
  }

  ~ThreadExecutor() override { Stop(); }

  Slot& AddSlot(uint32_t lane) override {
    const size_t tasks = lanes_.size() - 1;
    return (lane == kControlLane ? *lanes_.back() : *lanes_[lane % tasks]).AddSlot();
  }

  void Stop() override {
    for (const auto& lane : lanes_) lane->Stop();
    threads_.clear();  // waits for each loop's end
  }

 private:
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Worker>> threads_;
};

}  // namespace

std::unique_ptr<Executor> NewThreadExecutor(WorkerFactory& workers, const Clock& clock, ThreadExecutorOptions options) {
  return std::make_unique<ThreadExecutor>(workers, clock, options);
}

}  // namespace weir::operators
