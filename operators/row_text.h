// A row as JSON text: for dead letters and messages. Not the data path's writer (connectors/format/). Pure; any thread.
#pragma once

#include <string>

#include "operators/batch.h"

namespace weir::operators {

// Strings escaped, bytes as "\\x0a1b", dates and times as PostgreSQL prints them, numbers and JSON as they were
// written; NaN and infinite numbers as strings. Absent is null here.
void AppendValueAsJson(std::string& out, const Value& value);
// An object of the columns that are not absent.
void AppendRowAsJson(std::string& out, const Batch& batch, size_t row);

}  // namespace weir::operators
