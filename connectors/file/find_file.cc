#include "connectors/file/find_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"

namespace weir::connectors {
namespace {

// A folder that is being rotated may be seen with a file under neither its old nor its new name.
constexpr int kScans = 3;

std::string At(const FilePosition& position) {
  return "byte " + std::to_string(position.offset) + " (line " + std::to_string(position.line) + ")";
}

Result<FoundFile> Open(FileSystem& fs, const std::string& path) {
  FoundFile found;
  WEIR_ASSIGN_OR_RETURN(found.file, fs.OpenForRead(path));
  WEIR_ASSIGN_OR_RETURN(found.info, found.file->Stat());
  return found;
}

Result<uint64_t> FingerprintAt(ReadableFile& file, uint64_t at) {
  const uint64_t bytes = std::min(at, kFingerprintBytes);
  WEIR_ASSIGN_OR_RETURN(const std::string text, file.Read(at - bytes, bytes));
  return Hash64(text);
}

// Does the file hold what was read of it?
Result<bool> HoldsWhatWasRead(const FoundFile& found, const FilePosition& position) {
  if (found.info.size_bytes < position.offset) return false;
  if (position.fingerprint_at == 0) return true;
  WEIR_ASSIGN_OR_RETURN(const uint64_t fingerprint, FingerprintAt(*found.file, position.fingerprint_at));
  return fingerprint == position.fingerprint;
}

bool IsSameFile(const FoundFile& found, const FilePosition& position) {
  // The number of a device may change when the machine is started again.
  return !position.identity.has_value() || position.identity->inode == found.info.inode;
}

// Under another name of its folder.
Result<FoundFile> FindRenamed(FileSystem& fs, const FilePosition& position) {
  const std::string folder = ParentDirectory(position.path);
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    const Result<FileInfo> info = fs.Stat(path);
    if (!info.has_value() || info->directory || info->inode != position.identity->inode) continue;
    Result<FoundFile> found = Open(fs, path);
    if (!found.has_value()) {
      if (found.error().code() == StatusCode::kNotFound) continue;
      return found;
    }
    if (!IsSameFile(*found, position)) continue;
    WEIR_ASSIGN_OR_RETURN(const bool same, HoldsWhatWasRead(*found, position));
    if (same) return found;
  }
  return Error(Status::NotFound("no file in " + folder + " is the one that was " + position.path));
}

// A copy of it under its old name.
Result<FoundFile> FindCopy(FileSystem& fs, const FilePosition& position) {
  WEIR_ASSIGN_OR_RETURN(FoundFile found, Open(fs, position.path));
  WEIR_ASSIGN_OR_RETURN(const bool same, HoldsWhatWasRead(found, position));
  if (same && position.fingerprint_at > 0) return found;
  return Error(Status::NotFound("file " + position.path + " is another one"));
}

}  // namespace

Result<FoundFile> FindFile(FileSystem& fs, const FilePosition& position) {
  Result<FoundFile> found = Error(Status::NotFound(position.path));
  for (int scan = 0; scan < kScans; ++scan) {
    found = Open(fs, position.path);
    if (found.has_value() && IsSameFile(*found, position)) {
      WEIR_ASSIGN_OR_RETURN(const bool same, HoldsWhatWasRead(*found, position));
      if (!same) return Error(CutOff(position, found->info, position.offset));
      return found;
    }
    if (!found.has_value() && found.error().code() != StatusCode::kNotFound) return found;
    if (!position.identity.has_value()) return found;
    found = FindRenamed(fs, position);
    if (found.has_value() || found.error().code() != StatusCode::kNotFound) return found;
  }
  return found;
}

Status Resolve(FileSystem& fs, FilePosition& position) {
  Result<FoundFile> found = FindFile(fs, position);
  if (!found.has_value() && found.error().code() == StatusCode::kNotFound) found = FindCopy(fs, position);
  if (!found.has_value()) {
    return found.error().code() == StatusCode::kNotFound ? GiveUp(position) : found.error();
  }
  position.identity = IdentityOf(found->info);
  position.size_bytes = std::max(position.size_bytes, found->info.size_bytes);
  if (position.fingerprint_at == 0 && position.offset > 0) {
    WEIR_ASSIGN_OR_RETURN(position.fingerprint, FingerprintAt(*found->file, position.offset));
    position.fingerprint_at = position.offset;
  }
  return Status::Ok();
}

Status CutOff(const FilePosition& position, const FileInfo& info, uint64_t read) {
  std::string message = "file " + position.path + " has " + std::to_string(info.size_bytes) +
                        " bytes, it was read to byte " + std::to_string(read) + " and line " +
                        std::to_string(position.line) + " ends at byte " + std::to_string(position.offset);
  message +=
      info.size_bytes < read ? ": it was cut off" : ": it holds other bytes before that now, it was written anew";
  message +=
      "; files must only be appended to (rotate them by renaming, not by copying and cutting off): put back "
      "what it held, or begin anew with --restore none";
  return Status::FailedPrecondition(std::move(message));
}

Status GiveUp(FilePosition& position) {
  // An older checkpoint doesn't say how much there was.
  if (position.identity.has_value() && position.offset >= position.size_bytes) {
    LogWarning("file " + position.path + " is gone; it had been read to " + At(position) +
               ", all that was seen of it, and counts as finished");
    position.finished = true;
    return Status::Ok();
  }
  std::string message = "file " + position.path + " is gone and was read to " + At(position) + " only";
  if (position.identity.has_value()) message += ", of " + std::to_string(position.size_bytes) + " bytes seen";
  message += "; put it back, under any name in folder " + ParentDirectory(position.path) +
             ", or begin anew with --restore none";
  return Status::FailedPrecondition(std::move(message));
}

}  // namespace weir::connectors
