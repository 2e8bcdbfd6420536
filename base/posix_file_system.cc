// The machine's disk through POSIX calls. A failed fsync is remembered by the file object, because the kernel may
// have dropped the pages and a second fsync would say ok.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/file_system.h"

namespace weir {
namespace {

constexpr mode_t kFileMode = 0644;

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return StatusCode::kNotFound;
    case EEXIST: return StatusCode::kAlreadyExists;
    case EXDEV:
    case EMLINK:
    case ENOTSUP:
    case ENOTEMPTY:
    case EISDIR:
    case EPERM:
    case EACCES:
    case EROFS:
    case EWOULDBLOCK: return StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG: return StatusCode::kInvalidArgument;
    default: return StatusCode::kIoError;
  }
}

Status Failure(std::string_view action, const std::string& path, int error) {
  std::string message(action);
  message += ' ';
  message += path;
  message += ": ";
  message += std::generic_category().message(error);
  return {CodeOf(error), std::move(message)};
}

Status Failure2(std::string_view action, const std::string& from, const std::string& to, int error) {
  std::string names = from;
  names += " to ";
  names += to;
  return Failure(action, names, error);
}

FileInfo InfoOf(const struct stat& info) {
  const bool directory = S_ISDIR(info.st_mode);
  return {.directory = directory,
          .size_bytes = directory ? 0 : static_cast<uint64_t>(info.st_size),
          .device = info.st_dev,
          .inode = info.st_ino,
          .links = info.st_nlink};
}

Result<Descriptor> Open(std::string_view action, const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error(Failure(action, path, errno));
  return Descriptor(fd);
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Status Append(std::string_view data) override {
    WEIR_CHECK_GE(fd_.get(), 0);
    while (!data.empty()) {
      const ssize_t written = write(fd_.get(), data.data(), data.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        return Failure("can't write to", path_, errno);
      }
      data.remove_prefix(static_cast<size_t>(written));
    }
    return Status::Ok();
  }

  Status Sync() override {
    WEIR_CHECK_GE(fd_.get(), 0);
    if (sync_failure_.ok() && fdatasync(fd_.get()) != 0) sync_failure_ = Failure("can't fsync", path_, errno);
    return sync_failure_;
  }

  Status Close() override {
    WEIR_CHECK_GE(fd_.get(), 0);
    // Linux gives the descriptor back even where close fails: never called twice.
    if (close(fd_.Release()) != 0 && errno != EINTR) return Failure("can't close", path_, errno);
    return Status::Ok();
  }

 private:
  const std::string path_;
  Descriptor fd_;
  Status sync_failure_;
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<std::string> Read(uint64_t offset, size_t length) override {
    // A caller may ask for more than the file has: no more memory than bytes is taken.
    WEIR_ASSIGN_OR_RETURN(const FileInfo info, Stat());
    const uint64_t size = info.size_bytes;
    std::string data(std::min<uint64_t>(length, size > offset ? size - offset : 0), '\0');
    size_t filled = 0;
    while (filled < data.size()) {
      const ssize_t got =
          pread(fd_.get(), data.data() + filled, data.size() - filled, static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error(Failure("can't read", path_, errno));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    data.resize(filled);
    return data;
  }

  Result<FileInfo> Stat() override {
    struct stat info{};
    if (fstat(fd_.get(), &info) != 0) return Error(Failure("can't stat", path_, errno));
    return InfoOf(info);
  }

 private:
  const std::string path_;
  Descriptor fd_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;  // closing it unlocks
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    int flags = O_WRONLY | O_CREAT;
    switch (mode) {
      case WriteMode::kCreateNew: flags |= O_EXCL; break;
      case WriteMode::kTruncate: flags |= O_TRUNC; break;
      case WriteMode::kAppend: flags |= O_APPEND; break;
    }
    WEIR_ASSIGN_OR_RETURN(Descriptor fd, Open("can't open for writing", path, flags));
    return std::make_unique<PosixWritableFile>(path, std::move(fd));
  }

  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(Descriptor fd, Open("can't open", path, O_RDONLY));
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return Error(Failure("can't stat", path, errno));
    if (S_ISDIR(info.st_mode)) return Error(Failure("can't open", path, EISDIR));
    return std::make_unique<PosixReadableFile>(path, std::move(fd));
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
    // The two ways in which a folder and a file can't take each other's place are one kind of failure.
    int error = errno;
    if (error == ENOTDIR && Exists(*this, from) && Exists(*this, to)) error = EISDIR;
    if (error == EEXIST) error = ENOTEMPTY;
    return Failure2("can't rename", from, to, error);
  }

  Status Link(const std::string& from, const std::string& to) override {
    if (link(from.c_str(), to.c_str()) != 0) return Failure2("can't link", from, to, errno);
    return Status::Ok();
  }

  Status Remove(const std::string& path) override {
    if (unlink(path.c_str()) != 0) return Failure("can't remove", path, errno);
    return Status::Ok();
  }

  Status RemoveTree(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    // A path through a file names nothing.
    if (error && error.value() != ENOTDIR) return Failure("can't remove", path, error.value());
    return Status::Ok();
  }

  Status CreateDirectories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
      const bool in_the_way = error.value() == ENOTDIR || error.value() == EEXIST;
      if (!in_the_way) return Failure("can't create folder", path, error.value());
      return Status::FailedPrecondition("can't create folder " + path + ": something that is no folder is in the way");
    }
    return Status::Ok();
  }

  Result<std::vector<std::string>> List(const std::string& path) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator entry(path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return Error(Failure("can't list", path, error.value()));
    std::sort(names.begin(), names.end());
    return names;
  }

  Status SyncDirectory(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(const Descriptor fd, Open("can't open folder", path, O_RDONLY | O_DIRECTORY));
    if (fsync(fd.get()) != 0) return Failure("can't fsync folder", path, errno);
    return Status::Ok();
  }

  Result<Info> Stat(const std::string& path) override {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) return Error(Failure("can't stat", path, errno));
    return InfoOf(info);
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(Descriptor fd, Open("can't open lock", path, O_RDWR | O_CREAT));
    int result = 0;
    do {
      result = flock(fd.get(), LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) {
      return Error(Status::FailedPrecondition("lock " + path + " is held by another process or holder"));
    }
    if (result != 0) return Error(Failure("can't lock", path, errno));
    return std::make_unique<PosixFileLock>(std::move(fd));
  }

  Result<uint64_t> FreeBytes(const std::string& path) override {
    struct statvfs info{};
    if (statvfs(path.c_str(), &info) != 0) return Error(Failure("can't ask for free space at", path, errno));
    return static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_frsize);
  }
};

}  // namespace

std::unique_ptr<FileSystem> NewPosixFileSystem() { return std::make_unique<PosixFileSystem>(); }

}  // namespace weir
