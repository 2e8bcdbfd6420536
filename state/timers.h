// Timers of one operator in one time domain, kept as keyed state: part of every snapshot, restored and rescaled with
// their keys. Task's thread. Knows no clock: the caller says how far time has come.
//
// A timer is the entry (key, namespace = time as big-endian 64 with the sign bit turned | the user's namespace). The
// earliest ones are also in memory, in order: at most `nearest_max`. When they are used up, a pass over the state
// brings the next ones, so memory is bounded however many timers there are.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/status.h"
#include "state/keyed_state.h"
#include "state/subtask_state.h"

namespace weir::state {

enum class TimeDomain : uint8_t { kEventTime, kProcessingTime };

struct DueTimer {
  int64_t time = 0;  // nanoseconds, or whatever unit the caller counts in
  uint32_t hash = 0;
  std::string key;
  std::string name_space;
};

class Timers {
 public:
  static constexpr size_t kNearestMax = 65536;

  // `name` tells several sets of timers of one operator apart.
  static Result<Timers> Open(SubtaskState& state, std::string_view uid, std::string_view name, TimeDomain domain,
                             size_t nearest_max = kNearestMax);

  // Setting a timer that is set changes nothing.
  Status Set(StateKey key, int64_t time, std::string_view name_space);
  // Removing one that is not set changes nothing.
  Status Remove(StateKey key, int64_t time, std::string_view name_space);
  // The earliest timer with time <= `now`, which is set no more; nothing if none is due. At equal times in order of
  // hash, key, namespace.
  Result<std::optional<DueTimer>> PopDue(int64_t now);
  // When the earliest is due; nothing if none is set.
  Result<std::optional<int64_t>> Next();

 private:
  using Order = std::tuple<int64_t, uint32_t, std::string, std::string>;  // time, hash, key, namespace

  Timers(SubtaskState& state, StateId id, size_t nearest_max) : state_(&state), id_(id), nearest_max_(nearest_max) {}
  Status Refill();
  void TrimNearest();

  SubtaskState* state_;
  StateId id_;
  size_t nearest_max_;
  std::set<Order> nearest_;
  bool all_nearest_ = false;  // every timer that is set is in `nearest_`; otherwise those up to its last are
};

}  // namespace weir::state
