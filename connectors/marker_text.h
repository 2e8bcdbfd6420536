// A marker as the text that a system keeps: which checkpoint's output it has. One JSON object and a line end:
//
//   {"attempt":"<32 hex>","checkpoint":{"id":"<32 hex>","number":7},"checksum":"<16 hex>",
//    "job":"orders","storage":"<32 hex>","version":1}
//
// checksum: of the same object without that member. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "checkpoint/committer.h"

namespace weir::connectors {

std::string MarkerToText(const checkpoint::Marker& marker);
// Corruption: damaged, or of a later version.
Result<checkpoint::Marker> MarkerFromText(std::string_view text);

}  // namespace weir::connectors
