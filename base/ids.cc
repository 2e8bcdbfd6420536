#include "base/ids.h"

#include <optional>

namespace weir {
namespace {

constexpr size_t kHalfDigits = 16;

void AppendHex(std::string& out, uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(value >> shift) & 0xf]);
}

std::optional<uint64_t> ParseHex(std::string_view digits) {
  uint64_t value = 0;
  for (const char c : digits) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint64_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string UniqueId::ToString() const {
  std::string text;
  text.reserve(2 * kHalfDigits);
  AppendHex(text, high);
  AppendHex(text, low);
  return text;
}

Result<UniqueId> UniqueId::Parse(std::string_view text) {
  if (text.size() == 2 * kHalfDigits) {
    const std::optional<uint64_t> high = ParseHex(text.substr(0, kHalfDigits));
    const std::optional<uint64_t> low = ParseHex(text.substr(kHalfDigits));
    if (high.has_value() && low.has_value()) return UniqueId{*high, *low};
  }
  std::string message = "id '";
  message += text;
  message += "' is not 32 hexadecimal digits";
  return Error(Status::InvalidArgument(std::move(message)));
}

}  // namespace weir
