#include "operators/runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace weir::operators {
namespace {

class LambdaStep final : public Runnable {
 public:
  explicit LambdaStep(std::function<StepResult()> step) : step_(std::move(step)) {}
  StepResult Step() override { return step_(); }
  std::optional<MonotonicTime> NextDeadline() const override { return deadline; }
  std::optional<MonotonicTime> deadline;

 private:
  std::function<StepResult()> step_;
};

class Gate {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

struct ThreadExecutorTest : ::testing::Test {
  SystemClock clock;
  std::unique_ptr<WorkerFactory> workers = NewThreadWorkerFactory();
};

TEST_F(ThreadExecutorTest, StepsUntilIdleAndAgainWhenWoken) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = 2});
  Executor::Slot& slot = executor->AddSlot(0);
  std::atomic<int> steps = 0;
  Gate ten;
  Gate more;
  LambdaStep step([&] {
    const int now = ++steps;
    if (now == 10) ten.Open();
    if (now == 11) more.Open();
    return now < 10 ? StepResult::kProgress : StepResult::kIdle;
  });
  slot.Run(step);
  ten.Wait();
  slot.wakeup().Wake();
  more.Wait();
  executor->Stop();
  EXPECT_EQ(steps, 11);
}

TEST_F(ThreadExecutorTest, AWakeBeforeRunIsNotNeeded) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {});
  Executor::Slot& slot = executor->AddSlot(0);
  slot.wakeup().Wake();
  Gate ran;
  LambdaStep step([&] {
    ran.Open();
    return StepResult::kIdle;
  });
  slot.Run(step);
  ran.Wait();
  executor->Stop();
}

TEST_F(ThreadExecutorTest, ADeadlineStepsWithoutAWake) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {});
  Executor::Slot& slot = executor->AddSlot(Executor::kControlLane);
  std::atomic<int> steps = 0;
  Gate third;
  LambdaStep step([&] {
    step.deadline = clock.Now() + std::chrono::milliseconds(2);
    if (++steps == 3) third.Open();
    return StepResult::kIdle;
  });
  slot.Run(step);
  third.Wait();
  executor->Stop();
}

TEST_F(ThreadExecutorTest, AFinishedStepIsNeverCalledAgain) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {});
  Executor::Slot& one = executor->AddSlot(0);
  Executor::Slot& two = executor->AddSlot(0);
  std::atomic<int> steps = 0;
  Gate finished;
  LambdaStep ends([&] {
    ++steps;
    finished.Open();
    return StepResult::kFinished;
  });
  one.Run(ends);
  finished.Wait();
  one.wakeup().Wake();
  Gate after;
  LambdaStep other([&] {
    after.Open();
    return StepResult::kIdle;
  });
  two.Run(other);
  after.Wait();
  executor->Stop();
  EXPECT_EQ(steps, 1);
}

// Two steps on two lanes hand a token to and fro: one lost wake-up would hang the test.
TEST_F(ThreadExecutorTest, NoWakeIsLost) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = 2});
  Executor::Slot& one = executor->AddSlot(0);
  Executor::Slot& two = executor->AddSlot(1);
  constexpr int kRounds = 20'000;
  std::atomic<int> token = 0;
  Gate done;
  const auto take = [&](int mine, Wakeup& other) {
    const int now = token.load();
    if (now >= kRounds) {
      done.Open();
      other.Wake();
      return StepResult::kIdle;
    }
    if (now % 2 != mine) return StepResult::kIdle;
    token.store(now + 1);
    other.Wake();
    return StepResult::kIdle;
  };
  LambdaStep first([&] { return take(0, two.wakeup()); });
  LambdaStep second([&] { return take(1, one.wakeup()); });
  one.Run(first);
  two.Run(second);
  done.Wait();
  executor->Stop();
  EXPECT_EQ(token, kRounds);
}

TEST_F(ThreadExecutorTest, StopEndsEndlessSteps) {
  std::unique_ptr<Executor> executor = NewThreadExecutor(*workers, clock, {.threads = 2});
  std::atomic<uint64_t> steps = 0;
  LambdaStep endless([&] {
    ++steps;
    return StepResult::kProgress;
  });
  executor->AddSlot(1).Run(endless);
  executor->Stop();
  const uint64_t after = steps;
  EXPECT_EQ(steps, after);
}

}  // namespace
}  // namespace weir::operators
