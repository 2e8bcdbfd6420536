// Threads come from here only. A Worker runs what blocks (fsync, a client's blocking call, a snapshot's write) in the
// order it was given; results go back through a Mailbox. In the simulator a Worker's jobs are steps of the seeded
// schedule (tests/simulation), so the same code runs without threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace weir {

class Worker {
 public:
  // Runs what was submitted before, then ends the thread.
  virtual ~Worker() = default;
  // Any thread; never blocks.
  virtual void Submit(std::move_only_function<void()> job) = 0;
};

class WorkerFactory {
 public:
  virtual ~WorkerFactory() = default;
  // `name` is what the system shows for the thread (15 characters are kept).
  virtual std::unique_ptr<Worker> NewWorker(std::string name) = 0;
};

// One thread a worker.
std::unique_ptr<WorkerFactory> NewThreadWorkerFactory();

}  // namespace weir
