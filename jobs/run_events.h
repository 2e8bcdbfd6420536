// What the thread that runs a job waits for: a stop, or that something has happened to the job. The main thread has the
// signals and passes a stop on, so that it can end the process in time whatever the job's thread is doing.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace weir::jobs {

class RunEvents {
 public:
  enum class Event : uint8_t { kTimeout, kStop, kWoken };

  // The job's thread. Each event is reported once; a stop first.
  Event WaitFor(Duration timeout);
  // Any thread.
  void Stop();
  void Wake();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;   // guarded by mutex_
  bool woken_ = false;  // guarded by mutex_
};

}  // namespace weir::jobs
