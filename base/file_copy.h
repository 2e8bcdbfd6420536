// Copies, links and hashes whole files, a piece at a time. Built from the calls of FileSystem, so that the simulator
// sees each step. Blocks: a Worker's.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_system.h"
#include "base/status.h"

namespace weir {

// Length and Hash64 of a file's bytes.
struct FileDigest {
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;
};
Result<FileDigest> DigestFile(FileSystem& fs, const std::string& path);

// AlreadyExists if `to` is there. Syncs nothing; a failure may leave a part of the file at `to`.
Status CopyFile(FileSystem& fs, const std::string& from, const std::string& to);

// A second name for the same bytes where the device allows one, otherwise a copy. Any other failure of the link is the
// result: a copy would hide a failing disk, and take time and room that nobody has planned for.
Status LinkOrCopyFile(FileSystem& fs, const std::string& from, const std::string& to);

}  // namespace weir
