// Finds the file of a position again: by its name, or by its identity under another name of the same folder. Blocks: a
// Worker's.
#pragma once

#include <memory>

#include "base/file_system.h"
#include "base/status.h"
#include "connectors/file/position.h"

namespace weir::connectors {

struct FoundFile {
  std::unique_ptr<ReadableFile> file;
  FileInfo info;
};

// NotFound: no file of the folder is the one that was read. kFailedPrecondition, naming file, position and size: it is
// there and was cut off or written anew.
Result<FoundFile> FindFile(FileSystem& fs, const FilePosition& position);

// The same for a restored position, whose `identity`, `size_bytes` and fingerprint are then those of the file that was
// found. Another file of the old name counts, too, if it holds the same bytes before the position: it was copied back
// or moved here with its folder. Gone, and read to its end: finished, said at warning. Gone with bytes that were not
// read: kFailedPrecondition.
Status Resolve(FileSystem& fs, FilePosition& position);

// What to say of a file that was read to byte `read` and does not hold it any more.
Status CutOff(const FilePosition& position, const FileInfo& info, uint64_t read);

// What a position becomes whose file is gone: as in Resolve.
Status GiveUp(FilePosition& position);

}  // namespace weir::connectors
