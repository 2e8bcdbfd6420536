// CockroachDB's hybrid logical clock as text: nanoseconds, a point, ten digits of the logical part,
// "1700000000123456789.0000000002". Pure functions, exact.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operators/event_time.h"

namespace weir::connectors {

// Nothing unless `text` is one: decimal digits without a sign or a leading zero, one point, and a logical part of ten
// digits. A logical part of zero may be spelled with any number of zeros ("1.0"), because any other way to fill up or
// to cut off ten digits would change its value.
std::optional<operators::EventTime> ParseHlc(std::string_view text);
void AppendHlc(operators::EventTime time, std::string& out);

}  // namespace weir::connectors
