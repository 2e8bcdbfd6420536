// The one type of time in the stream: wall nanoseconds and a logical part, so that a changefeed's resolved timestamp is
// a watermark as it stands ("1700000000123456789.0000000002").
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace weir::operators {

struct EventTime {
  int64_t wall_ns = std::numeric_limits<int64_t>::min();  // since 1970-01-01T00:00:00Z
  int32_t logical = 0;

  friend auto operator<=>(const EventTime&, const EventTime&) = default;

  static constexpr EventTime Min() { return {}; }  // also: no event time
  static constexpr EventTime Max() {
    return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int32_t>::max()};
  }
  // The neighbours in this order; Min and Max have none but themselves.
  constexpr EventTime Next() const {
    if (logical < std::numeric_limits<int32_t>::max()) return {wall_ns, logical + 1};
    return wall_ns < std::numeric_limits<int64_t>::max() ? EventTime{wall_ns + 1, 0} : *this;
  }
  constexpr EventTime Previous() const {
    if (logical > 0) return {wall_ns, logical - 1};
    return wall_ns > std::numeric_limits<int64_t>::min() ? EventTime{wall_ns - 1, std::numeric_limits<int32_t>::max()}
                                                         : *this;
  }
};

// No row with a time at or below `time` will follow. The end of the input is Max().
struct Watermark {
  EventTime time;
  friend auto operator<=>(const Watermark&, const Watermark&) = default;
};

}  // namespace weir::operators
