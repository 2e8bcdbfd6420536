#include "connectors/format/hlc.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace weir::connectors {
namespace {

constexpr size_t kLogicalDigits = 10;

// Eight digits at once: neighbours are joined to pairs, pairs to fours, fours to the number. False: not all are digits.
bool ParseEightDigits(const char* text, uint64_t& number) {
  uint64_t eight;
  std::memcpy(&eight, text, 8);
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  constexpr uint64_t kHighHalves = 0xf0f0f0f0f0f0f0f0;
  constexpr uint64_t kZeros = 0x3030303030303030;
  if ((eight & kHighHalves) != kZeros || ((eight + 0x0606060606060606) & kHighHalves) != kZeros) return false;
  eight = (eight - kZeros) * (10 * 0x100 + 1) >> 8;
  eight = (eight & 0x00ff00ff00ff00ff) * (100 * 0x10000 + 1) >> 16;
  number = (eight & 0x0000ffff0000ffff) * (10'000 * 0x100000000 + 1) >> 32;
  return true;
}

// All of `text` as a number without a sign. By hand, because this runs once a row.
template <class T>
bool ParseDigits(std::string_view text, T& number) {
  constexpr size_t kDigitsSafe = 19;  // below 2^64
  if (text.empty() || text.size() > kDigitsSafe) return false;
  uint64_t value = 0;
  for (uint64_t eight = 0; text.size() >= 8; text.remove_prefix(8)) {
    if (!ParseEightDigits(text.data(), eight)) return false;
    value = value * 100'000'000 + eight;
  }
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > static_cast<uint64_t>(std::numeric_limits<T>::max())) return false;
  number = static_cast<T>(value);
  return true;
}

}  // namespace

std::optional<operators::EventTime> ParseHlc(std::string_view text) {
  const size_t point = text.find('.');
  operators::EventTime time{.wall_ns = 0, .logical = 0};
  if (point == std::string_view::npos || !ParseDigits(text.substr(0, point), time.wall_ns)) return std::nullopt;
  if (text.front() == '0' && point > 1) return std::nullopt;
  const std::string_view logical = text.substr(point + 1);
  if (logical.size() == kLogicalDigits) return ParseDigits(logical, time.logical) ? std::optional(time) : std::nullopt;
  if (logical.empty() || logical.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
  return time;
}

void AppendHlc(operators::EventTime time, std::string& out) {
  out += std::to_string(time.wall_ns);
  out += '.';
  const std::string logical = std::to_string(time.logical);
  if (logical.size() < kLogicalDigits) out.append(kLogicalDigits - logical.size(), '0');
  out += logical;
}

}  // namespace weir::connectors
