#include "base/clock.h"

namespace weir {

MonotonicTime SystemClock::Now() const {
  return {std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

int64_t SystemClock::WallNs() const {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace weir
