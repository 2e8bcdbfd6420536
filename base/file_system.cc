#include "base/file_system.h"

#include <algorithm>

#include "base/check.h"

namespace weir {

Result<std::string> ReadFile(FileSystem& fs, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, fs.OpenForRead(path));
  WEIR_ASSIGN_OR_RETURN(const FileInfo info, file->Stat());
  return file->Read(0, info.size_bytes);
}

Status WriteFileDurably(FileSystem& fs, const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  {
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs.OpenForWrite(temporary, WriteMode::kTruncate));
    WEIR_RETURN_IF_ERROR(file->Append(content));
    WEIR_RETURN_IF_ERROR(file->Sync());
    WEIR_RETURN_IF_ERROR(file->Close());
  }
  WEIR_RETURN_IF_ERROR(fs.Rename(temporary, path));
  return fs.SyncDirectory(ParentDirectory(path));
}

Status CreateDirectoriesDurably(FileSystem& fs, const std::string& path) {
  WEIR_RETURN_IF_ERROR(fs.CreateDirectories(path));
  WEIR_RETURN_IF_ERROR(fs.SyncDirectory(path));
  for (std::string folder = path; folder != "/" && folder != ".";) {
    folder = ParentDirectory(folder);
    const Status status = fs.SyncDirectory(folder);
    if (!status.ok() && status.code() != StatusCode::kFailedPrecondition) return status;
  }
  return Status::Ok();
}

Status SyncFile(FileSystem& fs, const std::string& path) {
  // Opening to append would make a missing file.
  WEIR_ASSIGN_OR_RETURN(const FileSystem::Info info, fs.Stat(path));
  if (info.directory) return Status::FailedPrecondition(path + " is a folder, not a file");
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs.OpenForWrite(path, WriteMode::kAppend));
  WEIR_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

bool Exists(FileSystem& fs, const std::string& path) { return fs.Stat(path).has_value(); }

std::string ParentDirectory(const std::string& path) {
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

std::string JoinPath(std::string_view a, std::string_view b) {
  if (a.empty() || b.starts_with('/')) return std::string(b);
  std::string path(a);
  if (!path.ends_with('/') && !b.empty()) path.push_back('/');
  path += b;
  return path;
}

}  // namespace weir
