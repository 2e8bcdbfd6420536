#include "state/codec.h"

#include "base/bytes.h"

namespace weir::state {

void Codec<int64_t>::Encode(int64_t value, std::string& out) {
  const auto bits = static_cast<uint64_t>(value);
  AppendVarint(out, (bits << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

std::optional<int64_t> Codec<int64_t>::Decode(std::string_view bytes) {
  const std::optional<uint64_t> zigzag = ReadVarint(bytes);
  if (!zigzag.has_value() || !bytes.empty()) return std::nullopt;
  return static_cast<int64_t>((*zigzag >> 1) ^ ((*zigzag & 1) != 0 ? UINT64_MAX : 0));
}

void Codec<uint64_t>::Encode(uint64_t value, std::string& out) { AppendVarint(out, value); }

std::optional<uint64_t> Codec<uint64_t>::Decode(std::string_view bytes) {
  const std::optional<uint64_t> value = ReadVarint(bytes);
  return bytes.empty() ? value : std::nullopt;
}

std::optional<bool> Codec<bool>::Decode(std::string_view bytes) {
  if (bytes.size() != 1 || static_cast<unsigned char>(bytes[0]) > 1) return std::nullopt;
  return bytes[0] == '\1';
}

void Codec<double>::Encode(double value, std::string& out) { AppendBigEndian64(out, std::bit_cast<uint64_t>(value)); }

std::optional<double> Codec<double>::Decode(std::string_view bytes) {
  if (bytes.size() != 8) return std::nullopt;
  return std::bit_cast<double>(ReadBigEndian64(bytes));
}

namespace codec_internal {

void AppendPiece(std::string& out, std::string_view piece) { AppendLengthPrefixed(out, piece); }
std::optional<std::string_view> TakePiece(std::string_view& bytes) { return ReadLengthPrefixed(bytes); }

}  // namespace codec_internal

}  // namespace weir::state
