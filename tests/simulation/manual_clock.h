// A clock that stands still until a test or the simulator moves it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/clock.h"

namespace weir::simulation {

class ManualClock final : public Clock {
 public:
  // Wall time begins at 2024-01-01T00:00:00Z unless told otherwise, monotonic time at 1 s.
  explicit ManualClock(int64_t wall_ns = 1'704'067'200'000'000'000) : wall_ns_(wall_ns) {}

  MonotonicTime Now() const override { return {monotonic_ns_.load()}; }
  int64_t WallNs() const override { return wall_ns_.load(); }

  // Both times go on.
  void Advance(Duration by) {
    WEIR_CHECK_GE(by.count(), int64_t{0});
    monotonic_ns_.fetch_add(by.count());
    wall_ns_.fetch_add(by.count());
  }
  void AdvanceTo(MonotonicTime time) { Advance(time - Now()); }
  // Someone sets the machine's clock: the wall time jumps, back too, the monotonic one does not.
  void JumpWall(Duration by) { wall_ns_.fetch_add(by.count()); }

 private:
  std::atomic<int64_t> monotonic_ns_ = 1'000'000'000;
  std::atomic<int64_t> wall_ns_;
};

}  // namespace weir::simulation
