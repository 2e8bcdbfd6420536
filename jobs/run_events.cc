#include "jobs/run_events.h"

#include <utility>

namespace weir::jobs {

RunEvents::Event RunEvents::WaitFor(Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return stop_ || woken_; });
  if (std::exchange(stop_, false)) return Event::kStop;
  return std::exchange(woken_, false) ? Event::kWoken : Event::kTimeout;
}

void RunEvents::Stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

void RunEvents::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

}  // namespace weir::jobs
