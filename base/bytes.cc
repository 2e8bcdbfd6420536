#include "base/bytes.h"

// Short texts are hashed for every access of state: no call into the library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

#include "base/check.h"

namespace weir {
namespace {

constexpr size_t kVarintSizeMax = 10;

template <class T>
void AppendBigEndian(std::string& out, T value) {
  for (int shift = static_cast<int>(8 * sizeof(T)) - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

template <class T>
T ReadBigEndian(std::string_view bytes) {
  WEIR_CHECK_GE(bytes.size(), sizeof(T));
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

XXH3_state_t* StateOf(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

void AppendBigEndian32(std::string& out, uint32_t value) { AppendBigEndian(out, value); }
void AppendBigEndian64(std::string& out, uint64_t value) { AppendBigEndian(out, value); }
uint32_t ReadBigEndian32(std::string_view bytes) { return ReadBigEndian<uint32_t>(bytes); }
uint64_t ReadBigEndian64(std::string_view bytes) { return ReadBigEndian<uint64_t>(bytes); }

void AppendVarint(std::string& out, uint64_t value) {
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
    return;
  }
  std::array<char, kVarintSizeMax> bytes;
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>((value & 0x7f) | 0x80);
  bytes[size++] = static_cast<char>(value);
  out.append(bytes.data(), size);
}

std::optional<uint64_t> ReadLongVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < kVarintSizeMax; ++i) {
    const uint64_t byte = static_cast<unsigned char>(bytes[i]);
    // The tenth byte has room for the topmost bit alone.
    if (i == 9 && byte > 1) return std::nullopt;
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

void AppendLengthPrefixed(std::string& out, std::string_view value) {
  AppendVarint(out, value.size());
  out.append(value);
}

std::optional<std::string_view> ReadLengthPrefixed(std::string_view& bytes) {
  std::string_view rest = bytes;
  const std::optional<uint64_t> length = ReadVarint(rest);
  if (!length.has_value() || *length > rest.size()) return std::nullopt;
  const std::string_view value = rest.substr(0, *length);
  rest.remove_prefix(*length);
  bytes = rest;
  return value;
}

uint64_t Hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hasher::Hasher() : state_(XXH3_createState()) {
  WEIR_CHECK(state_ != nullptr);
  WEIR_CHECK(XXH3_64bits_reset(StateOf(state_)) == XXH_OK);
}

Hasher::~Hasher() { XXH3_freeState(StateOf(state_)); }

void Hasher::Update(std::string_view bytes) {
  if (bytes.empty()) return;
  WEIR_CHECK(XXH3_64bits_update(StateOf(state_), bytes.data(), bytes.size()) == XXH_OK);
}

uint64_t Hasher::Digest() const { return XXH3_64bits_digest(StateOf(state_)); }

}  // namespace weir
