// The sink "print": rows as JSON lines on standard output, at least once. For trying a job out.
#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"
#include "operators/registry.h"

namespace weir::connectors {

// Writes whole lines somewhere; task threads, several at once.
using PrintLines = std::function<Status(std::string_view lines)>;

// Empty `print`: standard output.
operators::SinkType PrintSinkType(PrintLines print = {});

}  // namespace weir::connectors
