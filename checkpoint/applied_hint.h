// The file applied/<system>: the newest checkpoint that a system has confirmed. A hint: it saves work and explains, but
// only a marker decides. Its one weight: where a marker is gone, it may show that nothing was missing (R3).
// Blocking; any thread, one writer a system.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/ids.h"
#include "base/status.h"

namespace weir::checkpoint {

// Not fsynced: an older or a broken hint is as good as none.
Status WriteAppliedHint(FileSystem& fs, const std::string& root, const std::string& system, CheckpointId checkpoint);
std::optional<CheckpointId> ReadAppliedHint(FileSystem& fs, const std::string& root, const std::string& system);
// `system` as a file name: letters, digits, '-', '_' and '.' stay, other bytes become %XX.
std::string AppliedHintName(const std::string& system);

}  // namespace weir::checkpoint
