// Time comes in through this port only; tests/tidy refuses any other clock read. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::nanoseconds;
// Since an arbitrary start; never goes back. For intervals and timeouts.
struct MonotonicTime {
  int64_t ns = 0;
  friend auto operator<=>(const MonotonicTime&, const MonotonicTime&) = default;
  friend MonotonicTime operator+(MonotonicTime t, Duration d) { return {t.ns + d.count()}; }
  friend Duration operator-(MonotonicTime a, MonotonicTime b) { return Duration(a.ns - b.ns); }
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  // Nanoseconds since 1970-01-01T00:00:00Z. For people, file names and event times; may jump.
  virtual int64_t WallNs() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  MonotonicTime Now() const override;
  int64_t WallNs() const override;
};

}  // namespace weir
