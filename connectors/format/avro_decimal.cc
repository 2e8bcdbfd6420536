#include "connectors/format/avro_decimal.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace weir::connectors {
namespace {

// The number without its sign, in words of 32 bits, big end first.
std::vector<uint32_t> Magnitude(std::string_view bytes, bool negative) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(negative ? ~bytes[bytes.size() - 1 - i] : bytes[bytes.size() - 1 - i]);
    words[words.size() - 1 - i / 4] |= static_cast<uint32_t>(byte) << 8 * (i % 4);
  }
  // Two's complement: all bits turned round, and one more.
  for (size_t i = words.size(); negative && i > 0; --i) {
    if (++words[i - 1] != 0) break;
  }
  return words;
}

// The digits of the number, nine at a time from the small end.
std::string Digits(std::vector<uint32_t> words) {
  constexpr uint64_t kNineDigits = 1'000'000'000;
  std::string reversed;
  for (size_t first = 0; first < words.size();) {
    uint64_t rest = 0;
    for (size_t i = first; i < words.size(); ++i) {
      rest = rest << 32 | words[i];
      words[i] = static_cast<uint32_t>(rest / kNineDigits);
      rest %= kNineDigits;
    }
    for (int digit = 0; digit < 9; ++digit, rest /= 10) reversed += static_cast<char>('0' + rest % 10);
    while (first < words.size() && words[first] == 0) ++first;
  }
  while (!reversed.empty() && reversed.back() == '0') reversed.pop_back();
  std::ranges::reverse(reversed);
  return reversed;
}

}  // namespace

std::string DecimalText(std::string_view bytes, uint32_t scale) {
  WEIR_CHECK_LE(bytes.size(), kDecimalBytesMax);
  const bool negative = !bytes.empty() && (bytes.front() & 0x80) != 0;
  std::string digits = Digits(Magnitude(bytes, negative));
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  if (scale > 0) digits.insert(digits.size() - scale, 1, '.');
  return negative ? "-" + digits : digits;
}

}  // namespace weir::connectors
