#include "base/file_copy.h"

#include <memory>
#include <string_view>

#include "base/bytes.h"

namespace weir {
namespace {

constexpr size_t kPieceBytes = 1U << 20U;

// Calls `take` with the file's bytes, piece by piece.
template <class Take>
Status ForEachPiece(FileSystem& fs, const std::string& path, Take take) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, fs.OpenForRead(path));
  for (uint64_t offset = 0;;) {
    WEIR_ASSIGN_OR_RETURN(const std::string piece, file->Read(offset, kPieceBytes));
    if (!piece.empty()) WEIR_RETURN_IF_ERROR(take(piece));
    offset += piece.size();
    if (piece.size() < kPieceBytes) return Status::Ok();
  }
}

}  // namespace

Result<FileDigest> DigestFile(FileSystem& fs, const std::string& path) {
  Hasher hasher;
  FileDigest digest;
  WEIR_RETURN_IF_ERROR(ForEachPiece(fs, path, [&](std::string_view piece) {
    hasher.Update(piece);
    digest.size_bytes += piece.size();
    return Status::Ok();
  }));
  digest.checksum = hasher.Digest();
  return digest;
}

Status CopyFile(FileSystem& fs, const std::string& from, const std::string& to) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> out, fs.OpenForWrite(to, WriteMode::kCreateNew));
  WEIR_RETURN_IF_ERROR(ForEachPiece(fs, from, [&](std::string_view piece) { return out->Append(piece); }));
  return out->Close();
}

Status LinkOrCopyFile(FileSystem& fs, const std::string& from, const std::string& to) {
  const Status linked = fs.Link(from, to);
  if (linked.code() != StatusCode::kFailedPrecondition) return linked;
  return CopyFile(fs, from, to);
}

}  // namespace weir
