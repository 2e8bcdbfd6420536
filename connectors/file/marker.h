// The marker file of a sink folder: which checkpoint's output the folder has. One JSON object, on one line in the file:
//
//   {"attempt":"<32 hex>","checkpoint":{"id":"<32 hex>","number":7},"checksum":"<16 hex>",
//    "job":"orders","storage":"<32 hex>","version":1}
//
// checksum: of the same line without that member. Committer thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/committer.h"

namespace weir::connectors {

std::string MarkerToText(const checkpoint::Marker& marker);
// Corruption: damaged, or of a later version.
Result<checkpoint::Marker> MarkerFromText(std::string_view text);

// Nothing if there is no such file. An error names the file.
Result<std::optional<checkpoint::Marker>> ReadMarkerFile(FileSystem& fs, const std::string& path);

}  // namespace weir::connectors
