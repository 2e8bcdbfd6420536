// The marker file of a sink folder (its text: connectors/marker_text.h). Committer thread only.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/committer.h"

namespace weir::connectors {

// Nothing if there is no such file. An error names the file.
Result<std::optional<checkpoint::Marker>> ReadMarkerFile(FileSystem& fs, const std::string& path);

}  // namespace weir::connectors
