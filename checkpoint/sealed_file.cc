#include "checkpoint/sealed_file.h"

#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "base/file_copy.h"

namespace weir::checkpoint {

std::string ChecksumText(uint64_t checksum) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[checksum >> (4 * i) & 15];
  return text;
}

Status VerifySealedFile(FileSystem& fs, const std::string& path, const SealedFile& file, bool deep) {
  WEIR_ASSIGN_OR_RETURN(const FileSystem::Info info, fs.Stat(path));
  if (info.directory || info.size_bytes != file.size_bytes) {
    return Status::Corruption("file " + path + " has " + std::to_string(info.size_bytes) +
                              " bytes, the checkpoint says " + std::to_string(file.size_bytes));
  }
  if (!deep) return Status::Ok();
  WEIR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(fs, path));
  if (digest.checksum == file.checksum) return Status::Ok();
  return Status::Corruption("file " + path + " has checksum " + ChecksumText(digest.checksum) +
                            ", the checkpoint says " + ChecksumText(file.checksum));
}

FolderSealer::FolderSealer(FileSystem& fs, std::string folder) : fs_(fs), folder_(std::move(folder)) {}

Status FolderSealer::Append(const std::string& name, std::string_view data) {
  if (failure_.ok()) failure_ = TryAppend(name, data);
  return failure_;
}

Status FolderSealer::TryAppend(const std::string& name, std::string_view data) {
  if (file_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(file_, fs_.OpenForWrite(JoinPath(folder_, name), WriteMode::kCreateNew));
    hasher_ = std::make_unique<Hasher>();
    sealed_ = SealedFile{.name = name};
  }
  WEIR_CHECK_EQ(sealed_.name, name);
  WEIR_RETURN_IF_ERROR(file_->Append(data));
  hasher_->Update(data);
  sealed_.size_bytes += data.size();
  return Status::Ok();
}

Result<SealedFile> FolderSealer::Seal(uint64_t rows) {
  WEIR_RETURN_IF_ERROR(failure_);
  Result<SealedFile> sealed = TrySeal(rows);
  if (!sealed.has_value()) failure_ = sealed.error();
  return sealed;
}

Result<SealedFile> FolderSealer::TrySeal(uint64_t rows) {
  WEIR_CHECK(file_ != nullptr);
  const std::unique_ptr<WritableFile> file = std::exchange(file_, nullptr);
  WEIR_RETURN_IF_ERROR(file->Sync());
  WEIR_RETURN_IF_ERROR(file->Close());
  WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_));
  FAULT_SITE("output.sealed");
  sealed_.checksum = hasher_->Digest();
  sealed_.rows = rows;
  return sealed_;
}

}  // namespace weir::checkpoint
