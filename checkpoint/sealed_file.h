// Output files that are written once, sealed at a barrier and described by a committable: parts of a sink folder, and
// segments, which wait in the storage's output/ folder until their system has taken their rows. Everything here blocks:
// worker and committer threads only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/status.h"

namespace weir::checkpoint {

struct SealedFile {
  std::string name;  // within its folder
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;  // Hash64 of the content
  uint64_t rows = 0;
  friend bool operator==(const SealedFile&, const SealedFile&) = default;
};

// Ok: `path` has the length of `file`, and its checksum if `deep`. NotFound; Corruption says what is there instead.
Status VerifySealedFile(FileSystem& fs, const std::string& path, const SealedFile& file, bool deep);

// Sixteen hexadecimal digits.
std::string ChecksumText(uint64_t checksum);

// Writes files one after the other. After a failure the content of the open file is unknown, and every later call fails
// in the same way: what fsync has refused is never tried again.
class FileSealer {
 public:
  virtual ~FileSealer() = default;
  // To the file `name`, which is made if it is not the open one; no file may be open then.
  virtual Status Append(const std::string& name, std::string_view data) = 0;
  // Closes the open file: its bytes and its name are on disk.
  virtual Result<SealedFile> Seal(uint64_t rows) = 0;
};

// Into one folder, which exists.
class FolderSealer final : public FileSealer {
 public:
  FolderSealer(FileSystem& fs, std::string folder);

  Status Append(const std::string& name, std::string_view data) override;
  Result<SealedFile> Seal(uint64_t rows) override;

 private:
  Status TryAppend(const std::string& name, std::string_view data);
  Result<SealedFile> TrySeal(uint64_t rows);

  FileSystem& fs_;
  const std::string folder_;
  std::unique_ptr<WritableFile> file_;  // null: none is open
  std::unique_ptr<Hasher> hasher_;
  SealedFile sealed_;
  Status failure_;
};

}  // namespace weir::checkpoint
