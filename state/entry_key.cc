#include "state/entry_key.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace weir::state {
namespace {

constexpr size_t kFixedSize = 8;

}  // namespace

void EncodeEntryKey(StateId state, const EntryKey& key, std::string& out) {
  // Every access of state comes by here: the fixed part goes in at once.
  uint64_t fixed = uint64_t{key.hash} << 32 | state.value;
  if constexpr (std::endian::native == std::endian::little) fixed = __builtin_bswap64(fixed);
  if (key.key.size() >= 0x80) {
    out.assign(reinterpret_cast<const char*>(&fixed), kFixedSize);
    AppendVarint(out, key.key.size());
    out.append(key.key);
    out.append(key.name_space);
    return;
  }
  // The usual key: its length takes one byte, and `out` had a similar size before, so that this is three copies.
  out.resize(kFixedSize + 1 + key.key.size() + key.name_space.size());
  char* to = out.data();
  std::memcpy(to, &fixed, kFixedSize);
  to[kFixedSize] = static_cast<char>(key.key.size());
  to += kFixedSize + 1;
  to = std::copy_n(key.key.data(), key.key.size(), to);
  std::copy_n(key.name_space.data(), key.name_space.size(), to);
}

EntryKey OperatorEntryKey(std::string_view uid, std::string_view name) {
  return {.hash = UINT32_MAX, .key = uid, .name_space = name};
}

std::optional<DecodedEntryKey> DecodeEntryKey(std::string_view bytes) {
  if (bytes.size() < kFixedSize) return std::nullopt;
  DecodedEntryKey decoded;
  decoded.key.hash = ReadBigEndian32(bytes);
  decoded.state.value = ReadBigEndian32(bytes.substr(4));
  bytes.remove_prefix(kFixedSize);
  const std::optional<std::string_view> key = ReadLengthPrefixed(bytes);
  if (!key.has_value()) return std::nullopt;
  decoded.key.key = *key;
  decoded.key.name_space = bytes;
  return decoded;
}

uint32_t StateIdOf(std::string_view bytes) {
  WEIR_CHECK_GE(bytes.size(), kFixedSize);
  return ReadBigEndian32(bytes.substr(4));
}

std::optional<std::string> BehindPrefix(std::string_view prefix) {
  std::string behind(prefix);
  while (!behind.empty() && static_cast<unsigned char>(behind.back()) == 0xff) behind.pop_back();
  if (behind.empty()) return std::nullopt;
  behind.back() = static_cast<char>(static_cast<unsigned char>(behind.back()) + 1);
  return behind;
}

std::string FirstKeyOf(HashRange range) {
  std::string key;
  AppendBigEndian32(key, range.first);
  return key;
}

std::string BehindKeysOf(HashRange range) {
  if (range.last == UINT32_MAX) return FirstOperatorKey();
  std::string key;
  AppendBigEndian32(key, range.last + 1);
  return key;
}

std::string FirstOperatorKey() { return std::string(kFixedSize, '\xff'); }

uint32_t ComputeStateId(std::string_view uid, std::string_view name) {
  std::string identity;
  AppendLengthPrefixed(identity, uid);
  identity.append(name);
  const auto id = static_cast<uint32_t>(Hash64(identity) >> 32);
  return id == kOperatorStateId ? 0 : id;
}

}  // namespace weir::state
