// Where a reader of lines goes on in a file, and how the file is known again when its name has changed. A plain value.
//
//   {"device":66306,"fingerprint":{"at":120,"hash":11488471830491},"finished":false,"inode":1312,"line":3,
//    "offset":120,"path":"/in/a.log","size":180,"watermark":"1700000000123456789.0000000002"}
//
// "watermark" only once there is one. Older checkpoints have "finished", "line" and "offset" alone: there the split's
// id is the path.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "operators/event_time.h"
#include "operators/source.h"

namespace weir::connectors {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};
inline FileIdentity IdentityOf(const FileInfo& info) { return {.device = info.device, .inode = info.inode}; }

// How many bytes before a place in a file tell that it is the same file still.
inline constexpr uint64_t kFingerprintBytes = 1024;

struct FilePosition {
  std::string path;  // UTF-8; the name that it was first found under: a row is the same at every reading
  std::optional<FileIdentity> identity = {};
  uint64_t offset = 0;      // bytes behind the last line that was read
  uint64_t line = 0;        // lines read
  bool finished = false;    // the end was reached and nobody waits for more
  uint64_t size_bytes = 0;  // the greatest that was seen
  // Hash64 of the up to kFingerprintBytes before byte `fingerprint_at`, which has been read. At 0: nothing is known.
  uint64_t fingerprint_at = 0;
  uint64_t fingerprint = 0;
  operators::EventTime watermark = operators::EventTime::Min();  // the newest; Min: none

  operators::SourceSplit ToSplit(std::string id) const;
  // Corruption names the split.
  static Result<FilePosition> FromSplit(const operators::SourceSplit& split);
};

}  // namespace weir::connectors
