#include "checkpoint/applied_hint.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace weir::checkpoint {
namespace {

constexpr size_t kHintBytes = 32;  // number, id, checksum, big-endian

std::string HintPath(const std::string& root, const std::string& system) {
  return JoinPath(JoinPath(root, "applied"), AppliedHintName(system));
}

}  // namespace

std::string AppliedHintName(const std::string& system) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (const char c : system) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || (c == '.' && !name.empty());
    if (plain) {
      name += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      name += '%';
      name += kDigits[byte >> 4U];
      name += kDigits[byte & 15U];
    }
  }
  constexpr size_t kNameMax = 200;  // a file name has at most 255 bytes
  if (name.size() > kNameMax) {
    const uint64_t hash = Hash64(system);
    name.resize(kNameMax);
    name += '-';
    name += UniqueId{.high = hash, .low = 0}.ToString().substr(0, 16);
  }
  return name;
}

Status WriteAppliedHint(FileSystem& fs, const std::string& root, const std::string& system, CheckpointId checkpoint) {
  std::string bytes;
  AppendBigEndian64(bytes, checkpoint.number);
  AppendBigEndian64(bytes, checkpoint.id.high);
  AppendBigEndian64(bytes, checkpoint.id.low);
  AppendBigEndian64(bytes, Hash64(bytes));
  const std::string path = HintPath(root, system);
  const std::string temporary = path + ".tmp";
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs.OpenForWrite(temporary, WriteMode::kTruncate));
  WEIR_RETURN_IF_ERROR(file->Append(bytes));
  WEIR_RETURN_IF_ERROR(file->Close());
  return fs.Rename(temporary, path);
}

std::optional<CheckpointId> ReadAppliedHint(FileSystem& fs, const std::string& root, const std::string& system) {
  const Result<std::string> read = ReadFile(fs, HintPath(root, system));
  if (!read.has_value() || read->size() != kHintBytes) return std::nullopt;
  const std::string_view bytes = *read;
  if (Hash64(bytes.substr(0, 24)) != ReadBigEndian64(bytes.substr(24))) return std::nullopt;
  return CheckpointId{.number = ReadBigEndian64(bytes),
                      .id = {.high = ReadBigEndian64(bytes.substr(8)), .low = ReadBigEndian64(bytes.substr(16))}};
}

}  // namespace weir::checkpoint
