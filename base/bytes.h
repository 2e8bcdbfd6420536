// Fixed-width and varint coding, checksums and hashes. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Big-endian, so that bytewise order is numeric order.
void AppendBigEndian32(std::string& out, uint32_t value);
void AppendBigEndian64(std::string& out, uint64_t value);
uint32_t ReadBigEndian32(std::string_view bytes);  // needs 4 bytes
uint64_t ReadBigEndian64(std::string_view bytes);  // needs 8 bytes

// LEB128. ReadVarint consumes from the front of `bytes`; nothing if it is cut short or longer than ten bytes.
void AppendVarint(std::string& out, uint64_t value);
std::optional<uint64_t> ReadLongVarint(std::string_view& bytes);
inline std::optional<uint64_t> ReadVarint(std::string_view& bytes) {
  if (bytes.empty() || static_cast<unsigned char>(bytes.front()) >= 0x80) return ReadLongVarint(bytes);
  const auto value = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return value;
}
// A varint length and the bytes.
void AppendLengthPrefixed(std::string& out, std::string_view value);
std::optional<std::string_view> ReadLengthPrefixed(std::string_view& bytes);

// XXH3, 64 bits, seed 0 (xxhash): checksums of files and hashes of keys. The result is part of the file formats.
uint64_t Hash64(std::string_view bytes);
// The same over pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void Update(std::string_view bytes);
  uint64_t Digest() const;

 private:
  void* state_;
};

}  // namespace weir
