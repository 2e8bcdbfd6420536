// The machine's disk without its syncs: these tests crash no machine, and a sync costs more than all else they do.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace weir::state {

class UnsyncedFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, disk_->OpenForWrite(path, mode));
    return std::make_unique<File>(std::move(file));
  }
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    return disk_->OpenForRead(path);
  }
  Status Rename(const std::string& from, const std::string& to) override { return disk_->Rename(from, to); }
  Status Link(const std::string& from, const std::string& to) override { return disk_->Link(from, to); }
  Status Remove(const std::string& path) override { return disk_->Remove(path); }
  Status RemoveTree(const std::string& path) override { return disk_->RemoveTree(path); }
  Status CreateDirectories(const std::string& path) override { return disk_->CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& path) override { return disk_->List(path); }
  Status SyncDirectory(const std::string&) override { return Status::Ok(); }
  Result<Info> Stat(const std::string& path) override { return disk_->Stat(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return disk_->Lock(path); }
  Result<uint64_t> FreeBytes(const std::string& path) override { return disk_->FreeBytes(path); }

 private:
  class File final : public WritableFile {
   public:
    explicit File(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
    Status Append(std::string_view data) override { return file_->Append(data); }
    Status Sync() override { return Status::Ok(); }
    Status Close() override { return file_->Close(); }

   private:
    const std::unique_ptr<WritableFile> file_;
  };

  const std::unique_ptr<FileSystem> disk_ = NewPosixFileSystem();
};

}  // namespace weir::state
