// The only door to the disk (RocksDB's own files excepted). The real one is PosixFileSystem; the simulated one, which
// loses, tears and fails writes, is tests/simulation/sim_file_system.h; both pass tests/base/file_system_conformance.
// Thread-safe; a file object belongs to one thread at a time.
//
// What survives a power loss: bytes that were Sync()ed, under names whose folder was SyncDirectory()ed. A Sync that
// failed is never retried: the pages may be gone though a second call says ok.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir {

// What a name or an open file stands for. Device and inode are the file's identity: they stay through a rename and
// differ between all files that are there at one time; a file that is gone may have left its inode to a new one.
struct FileInfo {
  bool directory = false;
  uint64_t size_bytes = 0;  // a folder: 0
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t links = 0;  // names of a file; 0: removed, and only still open
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes without sync
  virtual Status Append(std::string_view data) = 0;
  // Data and length reach the disk. After a failure the file's content is unknown.
  virtual Status Sync() = 0;
  // No call may follow. Does not sync.
  virtual Status Close() = 0;
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Up to `length` bytes from `offset`; fewer only at the end of the file.
  virtual Result<std::string> Read(uint64_t offset, size_t length) = 0;
  virtual Result<FileInfo> Stat() = 0;
};

// Held until destroyed; the kernel drops it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class WriteMode : uint8_t {
  kCreateNew,  // AlreadyExists if there
  kTruncate,   // emptied if there
  kAppend,     // made if missing
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) = 0;
  virtual Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) = 0;  // NotFound
  // Replaces `to` if it is there; atomic within one file system.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A second name for the same bytes. AlreadyExists if `to` is there; kFailedPrecondition across devices.
  virtual Status Link(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;             // one file; NotFound
  virtual Status RemoveTree(const std::string& path) = 0;         // a folder and what it holds; ok if missing
  virtual Status CreateDirectories(const std::string& path) = 0;  // with parents; ok if there
  virtual Result<std::vector<std::string>> List(const std::string& path) = 0;  // names, sorted, without . and ..
  // Makes the names in `path` durable.
  virtual Status SyncDirectory(const std::string& path) = 0;
  using Info = FileInfo;
  // NotFound if nothing has that name.
  virtual Result<Info> Stat(const std::string& path) = 0;
  // Exclusive, does not wait: FailedPrecondition if another holder (of any process) has it. Makes the file if missing.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  virtual Result<uint64_t> FreeBytes(const std::string& path) = 0;
};

// Built from the calls above, so that the simulator sees each step.
Result<std::string> ReadFile(FileSystem& fs, const std::string& path);
// Writes `path`.tmp, syncs, renames, syncs the folder: afterwards `path` has the old content or the new one.
Status WriteFileDurably(FileSystem& fs, const std::string& path, std::string_view content);
// Makes `path` with what is missing above it, and makes every name on the way durable, also one that was there: an
// earlier process may have made it and died. Folders above that may not be opened were not made by us.
Status CreateDirectoriesDurably(FileSystem& fs, const std::string& path);
// Syncs the bytes of an existing file.
Status SyncFile(FileSystem& fs, const std::string& path);
bool Exists(FileSystem& fs, const std::string& path);
std::string ParentDirectory(const std::string& path);
std::string JoinPath(std::string_view a, std::string_view b);

// The machine's disk.
std::unique_ptr<FileSystem> NewPosixFileSystem();

}  // namespace weir
