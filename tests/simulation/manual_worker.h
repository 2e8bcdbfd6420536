// Workers without threads: each job waits in its worker's queue until the test or the seeded schedule runs it, on the
// thread that asks. Jobs of one worker keep their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/worker.h"

namespace weir::simulation {

// Outlives its workers.
class ManualWorkerFactory final : public WorkerFactory {
 public:
  std::unique_ptr<Worker> NewWorker(std::string name) override {
    queues_.push_back({std::move(name), {}});
    return std::make_unique<ManualWorker>(*this, std::prev(queues_.end()));
  }

  // How many jobs could run now: the first of each worker.
  size_t runnable() const {
    size_t count = 0;
    for (const Queue& queue : queues_) count += queue.jobs.empty() ? 0U : 1U;
    return count;
  }

  // Runs the first job of a drawn worker; false if none waits.
  bool RunOne(Random& random) {
    const size_t count = runnable();
    if (count == 0) return false;
    size_t skip = random.Below(count);
    for (Queue& queue : queues_) {
      if (queue.jobs.empty() || skip-- > 0) continue;
      RunFirst(queue);
      return true;
    }
    return false;
  }

  // Runs the first job of the first worker called `name` that has one; false if there is none.
  bool RunOneOf(const std::string& name) {
    const auto queue =
        std::ranges::find_if(queues_, [&](const Queue& one) { return one.name == name && !one.jobs.empty(); });
    if (queue == queues_.end()) return false;
    RunFirst(*queue);
    return true;
  }

  // Until nothing waits, jobs that jobs submit counted.
  void RunAll() {
    for (bool ran = true; ran;) {
      ran = false;
      for (Queue& queue : queues_) {
        if (queue.jobs.empty()) continue;
        RunFirst(queue);
        ran = true;
        break;
      }
    }
  }

  // What the death of the process does: no job that waits will run.
  void DropAll() {
    for (Queue& queue : queues_) queue.jobs.clear();
  }

 private:
  struct Queue {
    std::string name;
    std::deque<std::move_only_function<void()>> jobs;
  };

  class ManualWorker final : public Worker {
   public:
    ManualWorker(ManualWorkerFactory& factory, std::list<Queue>::iterator queue) : factory_(factory), queue_(queue) {}
    ~ManualWorker() override {
      while (!queue_->jobs.empty()) RunFirst(*queue_);
      factory_.queues_.erase(queue_);
    }
    void Submit(std::move_only_function<void()> job) override { queue_->jobs.push_back(std::move(job)); }

   private:
    ManualWorkerFactory& factory_;
    std::list<Queue>::iterator queue_;
  };

  static void RunFirst(Queue& queue) {
    std::move_only_function<void()> job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    job();
  }

  std::list<Queue> queues_;
};

}  // namespace weir::simulation
