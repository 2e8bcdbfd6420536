// What this process has cost so far, and how a benchmark gives up. One thread.
#pragma once

#include <sys/resource.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace weir::bench {

// User and system.
inline double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Since an arbitrary start.
inline double WallSeconds() { return static_cast<double>(SystemClock().Now().ns) / 1e9; }

inline long PeakResidentMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// An error is printed and ends the program.
template <class T>
T Must(Result<T> result) {
  if (result.has_value()) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  std::exit(1);
}
inline void Must(const Status& status) {
  if (!status.ok()) Must<int>(Error(status));
}

}  // namespace weir::bench
