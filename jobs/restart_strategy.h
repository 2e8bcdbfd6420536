// Whether and when a job that has failed starts again: Flink's restart strategies. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"

namespace weir::jobs {

enum class RestartKind : uint8_t { kNone, kFixedDelay, kExponentialDelay, kFailureRate };

std::string_view RestartKindName(RestartKind kind);

// The section `restart` of a definition.
struct RestartSettings {
  RestartKind kind = RestartKind::kExponentialDelay;
  Duration delay = std::chrono::seconds(1);         // before a restart; exponential-delay: before the first one
  uint32_t attempts_max = 100;                      // fixed-delay, exponential-delay: restarts in a row
  Duration delay_max = std::chrono::minutes(1);     // exponential-delay
  Duration reset_after = std::chrono::minutes(10);  // exponential-delay: an attempt that lived so long ends the row
  uint32_t failures_max = 3;                        // failure-rate: as many within the interval are restarted
  Duration failures_interval = std::chrono::minutes(1);  // failure-rate
};

// Could the same job fare better if it were started again? Not where a person has to act first (a record that the
// policy refuses, credentials, an offset that is gone, a marker that nobody knows) nor where another process has taken
// over. What is missing or damaged (a topic, a folder, a file) ends a job that had not begun yet; under a running one
// it may come back, or was a local copy. `had_begun`: the job had a checkpoint to go on from and its tasks ran.
bool CanRestart(const Status& cause, bool had_begun);

class RestartStrategy {
 public:
  // `random` spreads the delays of jobs that fail together; it outlives the strategy.
  RestartStrategy(RestartSettings settings, Random& random) : settings_(settings), random_(random) {}

  // An attempt began at `began` and failed at `now`: how long to wait before the next one. Nothing: give up.
  std::optional<Duration> OnFailure(MonotonicTime began, MonotonicTime now);
  // Restarts that OnFailure has granted so far.
  uint64_t restarts() const { return restarts_; }
  // The failure of the last OnFailure is the first of a row: what follows may be its echo.
  bool first_of_row() const { return row_ == 1; }
  // What the last OnFailure decided, for people: "restart 2 in 1500 ms" with the delay that it granted, or
  // "gave up after 3 restarts (fixed-delay: attempts-max is 3)".
  std::string Granted(Duration delay) const;
  std::string GaveUp() const;

 private:
  std::string Bound() const;
  std::optional<Duration> Decide(MonotonicTime began, MonotonicTime now);
  Duration ExponentialDelay();

  const RestartSettings settings_;
  Random& random_;
  uint64_t restarts_ = 0;
  size_t row_ = 0;                      // failures in a row
  std::deque<MonotonicTime> failures_;  // within the interval
};

}  // namespace weir::jobs
