// Times as gauges show them. Pure; any thread.
#pragma once

#include <cstdint>

namespace weir::connectors {

// Seconds since 1970 of nanoseconds.
inline double GaugeSeconds(int64_t wall_ns) { return static_cast<double>(wall_ns) / 1e9; }

}  // namespace weir::connectors
