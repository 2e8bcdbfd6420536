#include "tests/harness/chaos/file_system.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace weir::chaos {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "/checkpoints/job/chk-12" -> "chk-": words with a digit in them are left out.
std::string KindOf(const std::string& path) {
  std::string kind;
  std::string word;
  const auto end_word = [&] {
    if (std::ranges::none_of(word, IsDigit)) kind += word;
    word.clear();
  };
  for (const char c : path.substr(path.rfind('/') + 1)) {
    if (IsAlphanumeric(c)) {
      word += c;
      continue;
    }
    end_word();
    kind += c;
  }
  end_word();
  return kind;
}

template <class Call>
std::invoke_result_t<Call> FailingCall(CallSites& sites, const std::string& operation, const std::string& path,
                                       Call call) {
  return sites.Through("files: " + operation + " " + KindOf(path), StatusCode::kIoError, call);
}

class FailingWritable final : public WritableFile {
 public:
  FailingWritable(std::unique_ptr<WritableFile> real, std::string path, CallSites& sites)
      : real_(std::move(real)), path_(std::move(path)), sites_(sites) {}

  Status Append(std::string_view data) override {
    return FailingCall(sites_, "append", path_, [&] { return real_->Append(data); });
  }
  Status Sync() override {
    return FailingCall(sites_, "sync", path_, [&] { return real_->Sync(); });
  }
  Status Close() override {
    return FailingCall(sites_, "close", path_, [&] { return real_->Close(); });
  }

 private:
  const std::unique_ptr<WritableFile> real_;
  const std::string path_;
  CallSites& sites_;
};

class FailingReadable final : public ReadableFile {
 public:
  FailingReadable(std::unique_ptr<ReadableFile> real, std::string path, CallSites& sites)
      : real_(std::move(real)), path_(std::move(path)), sites_(sites) {}

  Result<std::string> Read(uint64_t offset, size_t length) override {
    return FailingCall(sites_, "read", path_, [&] { return real_->Read(offset, length); });
  }
  Result<FileInfo> Stat() override {
    return FailingCall(sites_, "stat open", path_, [&] { return real_->Stat(); });
  }

 private:
  const std::unique_ptr<ReadableFile> real_;
  const std::string path_;
  CallSites& sites_;
};

class FailingFileSystem final : public FileSystem {
 public:
  FailingFileSystem(std::unique_ptr<FileSystem> real, std::string folder, std::shared_ptr<CallSites> sites)
      : real_(std::move(real)), folder_(std::move(folder)), sites_(std::move(sites)) {}

  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(auto file, Through("open for write", path, [&] { return real_->OpenForWrite(path, mode); }));
    if (!Fails(path)) return file;
    return std::make_unique<FailingWritable>(std::move(file), path, *sites_);
  }
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(auto file, Through("open for read", path, [&] { return real_->OpenForRead(path); }));
    if (!Fails(path)) return file;
    return std::make_unique<FailingReadable>(std::move(file), path, *sites_);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return Through("rename to", to, [&] { return real_->Rename(from, to); });
  }
  Status Link(const std::string& from, const std::string& to) override {
    return Through("link", to, [&] { return real_->Link(from, to); });
  }
  Status Remove(const std::string& path) override {
    return Through("remove", path, [&] { return real_->Remove(path); });
  }
  Status RemoveTree(const std::string& path) override {
    return Through("remove tree", path, [&] { return real_->RemoveTree(path); });
  }
  Status CreateDirectories(const std::string& path) override {
    return Through("create directories", path, [&] { return real_->CreateDirectories(path); });
  }
  Result<std::vector<std::string>> List(const std::string& path) override {
    return Through("list", path, [&] { return real_->List(path); });
  }
  Status SyncDirectory(const std::string& path) override {
    return Through("sync directory", path, [&] { return real_->SyncDirectory(path); });
  }
  Result<Info> Stat(const std::string& path) override {
    return Through("stat", path, [&] { return real_->Stat(path); });
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return Through("lock", path, [&] { return real_->Lock(path); });
  }
  Result<uint64_t> FreeBytes(const std::string& path) override { return real_->FreeBytes(path); }

 private:
  bool Fails(const std::string& path) const { return path.starts_with(folder_); }
  template <class Call>
  std::invoke_result_t<Call> Through(const std::string& operation, const std::string& path, Call call) {
    return Fails(path) ? FailingCall(*sites_, operation, path, call) : call();
  }

  const std::unique_ptr<FileSystem> real_;
  const std::string folder_;
  const std::shared_ptr<CallSites> sites_;
};

}  // namespace

std::unique_ptr<FileSystem> FailingFiles(std::unique_ptr<FileSystem> real, std::string folder,
                                         std::shared_ptr<CallSites> sites) {
  return std::make_unique<FailingFileSystem>(std::move(real), std::move(folder), std::move(sites));
}

}  // namespace weir::chaos
