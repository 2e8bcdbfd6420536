// Which of two modes `sequence` is in, by its lag: how far the watermark is behind the clock. At a lag of a window or
// more it is best effort, at a quarter of it or less consistent, in between as it was. Without a watermark it is best
// effort; restored with one, consistent unless the lag says otherwise, so that no restart gives up what was reached.
// Nothing is kept in state. The task's thread.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/clock.h"
#include "operators/event_time.h"
#include "operators/operator.h"

namespace weir::operators {

class LagSwitch {
 public:
  // A window of 0: never best effort.
  explicit LagSwitch(Duration window) : window_(window) {}

  // `watermark`: the restored one; Min: none.
  void Open(const OperatorContext& context, EventTime watermark);
  bool best_effort() const { return best_effort_; }
  // A new watermark; a smaller one than before changes nothing.
  void Raise(EventTime watermark);
  // Looks at the clock.
  void Look();
  // When the lag will have reached the window, at the latest; the clock may be set meanwhile. Nothing: not by time.
  std::optional<MonotonicTime> NextLook() const;

 private:
  Duration Lag() const;

  const Duration window_;
  std::string name_;  // for the log
  const Clock* clock_ = nullptr;
  EventTime watermark_;
  bool best_effort_ = false;
  std::atomic<double>* shown_ = nullptr;
  std::atomic<uint64_t>* switches_ = nullptr;
};

}  // namespace weir::operators
