// How one thread tells another that there is something to do. Whoever drives steps (operators/runtime/executor.h)
// implements it by unparking; in the simulator it marks the step runnable.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace weir {

class Wakeup {
 public:
  virtual ~Wakeup() = default;
  // Any thread, never blocks, may be called too often. The woken step finds out by itself what there is to do.
  virtual void Wake() = 0;
};

class NoWakeup final : public Wakeup {
 public:
  void Wake() override {}
};

}  // namespace weir
