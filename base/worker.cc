#include "base/worker.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"

namespace weir {
namespace {

constexpr size_t kThreadNameLength = 15;  // Linux keeps no more

class ThreadWorker final : public Worker {
 public:
  explicit ThreadWorker(std::string name) : name_(std::move(name)), thread_([this] { Run(); }) {}

  ~ThreadWorker() override {
    WEIR_CHECK(std::this_thread::get_id() != thread_.get_id());
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void Submit(std::move_only_function<void()> job) override {
    {
      std::lock_guard lock(mutex_);
      WEIR_CHECK(!ending_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), name_.substr(0, kThreadNameLength).c_str());
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      {
        std::move_only_function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        // What the job holds goes before the lock is taken again: its destructors may submit.
      }
      lock.lock();
    }
  }

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::move_only_function<void()>> jobs_;  // guarded by mutex_
  bool ending_ = false;                               // guarded by mutex_
  std::thread thread_;                                // last: it uses all of the above
};

class ThreadWorkerFactory final : public WorkerFactory {
 public:
  std::unique_ptr<Worker> NewWorker(std::string name) override {
    return std::make_unique<ThreadWorker>(std::move(name));
  }
};

}  // namespace

std::unique_ptr<WorkerFactory> NewThreadWorkerFactory() { return std::make_unique<ThreadWorkerFactory>(); }

}  // namespace weir
