// CockroachDB's hybrid logical clock as text: nanoseconds, a point, ten digits of the logical part,
// "1700000000123456789.0000000002". Pure functions, exact.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operators/event_time.h"

namespace weir::connectors {

// Nothing unless `text` is one; the point and the logical part may be missing together.
std::optional<operators::EventTime> ParseHlc(std::string_view text);
void AppendHlc(operators::EventTime time, std::string& out);

}  // namespace weir::connectors
