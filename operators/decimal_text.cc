// Order and canonical form of number texts without a limit on digits. A number is seen as 0.d1d2d3... x 10^magnitude
// with d1 not zero: then the magnitudes decide, and for equal ones the digits from the left.
#include <algorithm>
#include <array>
#include <charconv>

#include "operators/decimal.h"

namespace weir::operators {
namespace {

enum class NumberClass : uint8_t { kMinusInfinity, kFinite, kInfinity, kNan };

struct NumberParts {
  NumberClass number_class = NumberClass::kFinite;
  bool negative = false;
  std::string_view integer;   // digits in front of the point, as written
  std::string_view fraction;  // digits behind it
  int64_t exponent = 0;
  // Set by Normalize.
  size_t first = 0;  // index of the first significant digit in integer + fraction
  size_t last = 0;   // one behind the last significant digit; equal to first: zero
  int64_t magnitude = 0;

  char Digit(size_t i) const { return i < integer.size() ? integer[i] : fraction[i - integer.size()]; }
  bool zero() const { return number_class == NumberClass::kFinite && first == last; }
  void Normalize() {
    first = 0;
    last = integer.size() + fraction.size();
    while (first < last && Digit(first) == '0') ++first;
    while (last > first && Digit(last - 1) == '0') --last;
    magnitude = static_cast<int64_t>(integer.size()) - static_cast<int64_t>(first) + exponent;
  }
};

std::string_view TakeDigits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// False if `text` is not a number.
bool Split(std::string_view text, NumberParts* parts) {
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    parts->number_class = text == "NaN"         ? NumberClass::kNan
                          : text.front() == '-' ? NumberClass::kMinusInfinity
                                                : NumberClass::kInfinity;
    return true;
  }
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    parts->negative = text.front() == '-';
    text.remove_prefix(1);
  }
  parts->integer = TakeDigits(text);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts->fraction = TakeDigits(text);
  }
  if (parts->integer.empty() && parts->fraction.empty()) return false;
  if (!text.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return false;
    text.remove_prefix(1);
    const bool negative = !text.empty() && text.front() == '-';
    if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
    const std::string_view digits = TakeDigits(text);
    if (digits.empty() || !text.empty()) return false;
    for (const char c : digits) {
      // Beyond this no two magnitudes of texts that fit in memory could be confused.
      if (parts->exponent < 1'000'000'000'000'000) parts->exponent = parts->exponent * 10 + (c - '0');
    }
    if (negative) parts->exponent = -parts->exponent;
  }
  parts->Normalize();
  return true;
}

int CompareMagnitudes(const NumberParts& a, const NumberParts& b) {
  if (a.magnitude != b.magnitude) return a.magnitude < b.magnitude ? -1 : 1;
  const size_t digits = std::max(a.last - a.first, b.last - b.first);
  for (size_t i = 0; i < digits; ++i) {
    const char digit_a = a.first + i < a.last ? a.Digit(a.first + i) : '0';
    const char digit_b = b.first + i < b.last ? b.Digit(b.first + i) : '0';
    if (digit_a != digit_b) return digit_a < digit_b ? -1 : 1;
  }
  return 0;
}

int CompareParts(const NumberParts& a, const NumberParts& b) {
  if (a.number_class != NumberClass::kFinite || b.number_class != NumberClass::kFinite) {
    return a.number_class == b.number_class ? 0 : (a.number_class < b.number_class ? -1 : 1);
  }
  const int sign_a = a.zero() ? 0 : (a.negative ? -1 : 1);
  const int sign_b = b.zero() ? 0 : (b.negative ? -1 : 1);
  if (sign_a != sign_b) return sign_a < sign_b ? -1 : 1;
  return sign_a == 0 ? 0 : sign_a * CompareMagnitudes(a, b);
}

// The common case, "12.50": digits of at most 18 places without an exponent.
bool ReadShort(std::string_view text, int64_t* mantissa, int64_t* power) {
  if (text.empty() || text.size() > 18) return false;
  size_t i = 0;
  const bool negative = text[0] == '-';
  if (negative) ++i;
  int64_t value = 0;
  int64_t scale = 1;
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      if (point) scale *= 10;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      return false;
    }
  }
  *mantissa = negative ? -value : value;
  *power = scale;
  return true;
}

template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

}  // namespace

bool IsNumberText(std::string_view text) {
  NumberParts parts;
  return Split(text, &parts);
}

int CompareNumbers(std::string_view a, std::string_view b) {
  int64_t mantissa_a = 0;
  int64_t mantissa_b = 0;
  int64_t power_a = 1;
  int64_t power_b = 1;
  if (ReadShort(a, &mantissa_a, &power_a) && ReadShort(b, &mantissa_b, &power_b)) {
    return Order(static_cast<Int128>(mantissa_a) * power_b, static_cast<Int128>(mantissa_b) * power_a);
  }
  NumberParts parts_a;
  NumberParts parts_b;
  if (!Split(a, &parts_a) || !Split(b, &parts_b)) return 0;
  return CompareParts(parts_a, parts_b);
}

int CompareNumberWithInt64(std::string_view a, int64_t b) {
  int64_t mantissa = 0;
  int64_t power = 1;
  if (ReadShort(a, &mantissa, &power)) return Order(static_cast<Int128>(mantissa), static_cast<Int128>(b) * power);
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), b);
  return CompareNumbers(a, {buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
}

std::optional<int64_t> NumberAsInt64(std::string_view text) {
  NumberParts parts;
  if (!Split(text, &parts) || parts.number_class != NumberClass::kFinite) return std::nullopt;
  if (parts.zero()) return 0;
  const auto digits = static_cast<int64_t>(parts.last - parts.first);
  if (parts.magnitude > 19 || parts.magnitude < digits) return std::nullopt;
  Int128 value = 0;
  for (int64_t i = 0; i < parts.magnitude; ++i) {
    value = value * 10 + (i < digits ? parts.Digit(parts.first + static_cast<size_t>(i)) - '0' : 0);
  }
  if (parts.negative) value = -value;
  if (value < INT64_MIN || value > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(value);
}

void AppendCanonicalNumber(std::string& out, std::string_view text) {
  NumberParts parts;
  if (!Split(text, &parts) || parts.number_class != NumberClass::kFinite) {
    out.append(text);
    return;
  }
  if (parts.zero()) {
    out.push_back('0');
    return;
  }
  constexpr int64_t kFixedMax = 40;
  if (parts.negative) out.push_back('-');
  const auto digits = static_cast<int64_t>(parts.last - parts.first);
  const auto digit = [&](int64_t i) { return parts.Digit(parts.first + static_cast<size_t>(i)); };
  const bool fixed = parts.magnitude <= kFixedMax && parts.magnitude > -kFixedMax;
  const int64_t point = fixed ? parts.magnitude : 0;  // digits in front of it
  if (fixed && point <= 0) {
    out.append("0.").append(static_cast<size_t>(-point), '0');
  }
  for (int64_t i = 0; i < digits; ++i) {
    if (fixed && point > 0 && i == point) out.push_back('.');
    out.push_back(digit(i));
  }
  if (fixed && digits < point) out.append(static_cast<size_t>(point - digits), '0');
  if (!fixed) out.append("E").append(std::to_string(parts.magnitude - digits));
}

}  // namespace weir::operators
