#include "connectors/format/hlc.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace weir::connectors {
namespace {

constexpr size_t kLogicalDigits = 10;

// All of `text` as a number without a sign.
template <class T>
bool ParseDigits(std::string_view text, T& number) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
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
