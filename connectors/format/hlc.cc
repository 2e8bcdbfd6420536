#include "connectors/format/hlc.h"

#include <cstdint>
#include <limits>

namespace weir::connectors {
namespace {

constexpr size_t kLogicalDigits = 10;

// All of `text` as a number without a sign. By hand, because this runs once a row.
template <class T>
bool ParseDigits(std::string_view text, T& number) {
  constexpr size_t kDigitsSafe = 19;  // below 2^64
  if (text.empty() || text.size() > kDigitsSafe) return false;
  uint64_t value = 0;
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
  if (!ParseDigits(text.substr(0, point), time.wall_ns)) return std::nullopt;
  if (point == std::string_view::npos) return time;
  const std::string_view logical = text.substr(point + 1);
  if (logical.size() != kLogicalDigits || !ParseDigits(logical, time.logical)) return std::nullopt;
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
