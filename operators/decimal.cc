// Everything that fits is done in one 128-bit word. Only a quotient's numerator can be longer: it is at most 77 digits
// if the quotient has at most 38, so four 64-bit limbs hold it.
#include "operators/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace weir::operators {
namespace {

constexpr int kPowers = 39;

constexpr std::array<Uint128, kPowers> MakePowersOfTen() {
  std::array<Uint128, kPowers> powers{};
  Uint128 power = 1;
  for (int i = 0; i < kPowers; ++i) {
    powers[static_cast<size_t>(i)] = power;
    if (i + 1 < kPowers) power *= 10;
  }
  return powers;
}
constexpr std::array<Uint128, kPowers> kPowersOfTen = MakePowersOfTen();
constexpr Uint128 kLimit = kPowersOfTen[38];  // the first that has 39 digits

Uint128 PowerOfTen(int exponent) { return kPowersOfTen[static_cast<size_t>(exponent)]; }

Uint128 Magnitude(Int128 value) {
  return value < 0 ? Uint128{0} - static_cast<Uint128>(value) : static_cast<Uint128>(value);
}

Int128 Signed(Uint128 magnitude, bool negative) {
  return negative ? -static_cast<Int128>(magnitude) : static_cast<Int128>(magnitude);
}

int DigitCount(Uint128 value) {
  int digits = 1;
  while (digits < kPowers && value >= PowerOfTen(digits)) ++digits;
  return digits;
}

// value * 10^exponent if it stays below 10^38.
std::optional<Uint128> ScaleUp(Uint128 value, int exponent) {
  if (value == 0) return value;
  if (exponent >= kPowers) return std::nullopt;
  Uint128 result = 0;
  if (__builtin_mul_overflow(value, PowerOfTen(exponent), &result) || result >= kLimit) return std::nullopt;
  return result;
}

// 256 bits, least significant limb first.
using Wide = std::array<uint64_t, 4>;

void MultiplyWide(Wide& wide, uint64_t factor) {
  Uint128 carry = 0;
  for (uint64_t& limb : wide) {
    const Uint128 product = static_cast<Uint128>(limb) * factor + carry;
    limb = static_cast<uint64_t>(product);
    carry = product >> 64U;
  }
}

// wide / divisor, bit by bit; nothing if the quotient does not fit 127 bits. divisor < 2^127.
std::optional<Uint128> DivideWide(const Wide& wide, Uint128 divisor, Uint128* remainder) {
  Uint128 quotient = 0;
  Uint128 rest = 0;
  for (int bit = 255; bit >= 0; --bit) {
    rest = (rest << 1U) | ((wide[static_cast<size_t>(bit / 64)] >> static_cast<unsigned>(bit % 64)) & 1U);
    if ((quotient >> 126U) != 0) return std::nullopt;
    quotient <<= 1U;
    if (rest >= divisor) {
      rest -= divisor;
      quotient |= 1U;
    }
  }
  *remainder = rest;
  return quotient;
}

// What select_div_scale looks at: the weight and value of the first digit in base 10000, aligned at the point.
struct LeadingDigit {
  int weight = 0;
  int digit = 0;
};

LeadingDigit FirstBase10000Digit(const Decimal& value) {
  const Uint128 magnitude = Magnitude(value.unscaled());
  if (magnitude == 0) return {};
  const int power = DigitCount(magnitude) - 1 - value.scale();
  const int weight = power >= 0 ? power / 4 : -((3 - power) / 4);
  const int shift = value.scale() + 4 * weight;
  const Uint128 digit = shift >= 0 ? magnitude / PowerOfTen(shift) : magnitude * PowerOfTen(-shift);
  return {weight, static_cast<int>(digit)};
}

int QuotientScale(const Decimal& a, const Decimal& b) {
  const LeadingDigit first_a = FirstBase10000Digit(a);
  const LeadingDigit first_b = FirstBase10000Digit(b);
  int weight = first_a.weight - first_b.weight;
  if (first_a.digit <= first_b.digit) --weight;
  int scale = 16 - weight * 4;
  scale = std::max({scale, a.scale(), b.scale(), 0});
  return std::min(scale, 1000);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads "[e[+-]digits]" at the end of a number; false if it is malformed. Saturates far beyond any use.
bool ReadExponent(std::string_view text, int64_t* exponent) {
  *exponent = 0;
  if (text.empty()) return true;
  text.remove_prefix(1);  // e
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  for (const char c : text) {
    if (!IsDigit(c)) return false;
    if (*exponent < 1'000'000'000'000) *exponent = *exponent * 10 + (c - '0');
  }
  if (negative) *exponent = -*exponent;
  return true;
}

// The common case, "12.50": at most 18 digits without an exponent. False: look again, in full.
bool ParseShort(std::string_view text, int64_t* unscaled, int* scale) {
  constexpr size_t kLongest = 18;
  if (text.empty() || text.size() > kLongest) return false;
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  size_t point = text.size();
  int64_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDigit(text[i])) {
      value = value * 10 + (text[i] - '0');
    } else if (text[i] == '.' && point == text.size() && i != 0 && i + 1 != text.size()) {
      point = i;
    } else {
      return false;
    }
  }
  if (text.empty()) return false;
  *unscaled = negative ? -value : value;
  *scale = point == text.size() ? 0 : static_cast<int>(text.size() - point - 1);
  return true;
}

}  // namespace

std::string_view DecimalErrorText(DecimalError error) {
  switch (error) {
    case DecimalError::kSyntax: return "not a number";
    case DecimalError::kOverflow: return "decimal overflow: the result has more than 38 digits";
    case DecimalError::kDivisionByZero: return "division by zero";
    case DecimalError::kNotFinite: return "no arithmetic with NaN or Infinity";
  }
  return "?";
}

DecimalResult Decimal::Parse(std::string_view text) {
  int64_t short_unscaled = 0;
  int short_scale = 0;
  if (ParseShort(text, &short_unscaled, &short_scale)) return Decimal(short_unscaled, short_scale);
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return std::unexpected(DecimalError::kNotFinite);
  size_t i = 0;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  Uint128 magnitude = 0;
  int64_t scale = 0;
  bool any = false;
  bool point = false;
  bool overflow = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (IsDigit(c)) {
      any = true;
      if (magnitude >= kLimit / 10) overflow = true;
      if (!overflow) magnitude = magnitude * 10 + static_cast<Uint128>(c - '0');
      if (point) ++scale;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  int64_t exponent = 0;
  if (!any) return std::unexpected(DecimalError::kSyntax);
  if (i < text.size() && text[i] != 'e' && text[i] != 'E') return std::unexpected(DecimalError::kSyntax);
  if (!ReadExponent(text.substr(i), &exponent)) return std::unexpected(DecimalError::kSyntax);
  if (overflow) return std::unexpected(DecimalError::kOverflow);
  scale -= exponent;
  if (scale > kScaleMax) return std::unexpected(DecimalError::kOverflow);
  if (scale < 0) {
    const std::optional<Uint128> scaled = ScaleUp(magnitude, static_cast<int>(std::min<int64_t>(-scale, kPowers)));
    if (!scaled) return std::unexpected(DecimalError::kOverflow);
    magnitude = *scaled;
    scale = 0;
  }
  return Decimal(Signed(magnitude, negative), static_cast<int>(scale));
}

DecimalResult Decimal::FromDouble(double value) {
  if (!std::isfinite(value)) return std::unexpected(DecimalError::kNotFinite);
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 15);
  return Parse({buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
}

DecimalResult Decimal::Add(const Decimal& other) const {
  Decimal low = *this;
  Decimal high = other;
  if (low.scale_ > high.scale_) std::swap(low, high);
  if (low.scale_ != high.scale_) {
    const std::optional<Uint128> scaled = ScaleUp(Magnitude(low.unscaled_), high.scale_ - low.scale_);
    if (!scaled) return std::unexpected(DecimalError::kOverflow);
    low.unscaled_ = Signed(*scaled, low.unscaled_ < 0);
  }
  const Int128 sum = low.unscaled_ + high.unscaled_;  // both below 10^38: no wrap
  if (Magnitude(sum) >= kLimit) return std::unexpected(DecimalError::kOverflow);
  return Decimal(sum, high.scale_);
}

DecimalResult Decimal::Multiply(const Decimal& other) const {
  constexpr Int128 kHalf = Int128{1} << 62U;
  if (unscaled_ > -kHalf && unscaled_ < kHalf && other.unscaled_ > -kHalf && other.unscaled_ < kHalf &&
      scale_ + other.scale_ <= kScaleMax) {
    return Decimal(static_cast<Int128>(static_cast<int64_t>(unscaled_)) * static_cast<int64_t>(other.unscaled_),
                   scale_ + other.scale_);
  }
  Uint128 product = 0;
  if (__builtin_mul_overflow(Magnitude(unscaled_), Magnitude(other.unscaled_), &product) || product >= kLimit ||
      scale_ + other.scale_ > kScaleMax) {
    return std::unexpected(DecimalError::kOverflow);
  }
  return Decimal(Signed(product, (unscaled_ < 0) != (other.unscaled_ < 0)), scale_ + other.scale_);
}

DecimalResult Decimal::Divide(const Decimal& other) const {
  if (other.unscaled_ == 0) return std::unexpected(DecimalError::kDivisionByZero);
  const int scale = QuotientScale(*this, other);
  const Uint128 numerator = Magnitude(unscaled_);
  const Uint128 divisor = Magnitude(other.unscaled_);
  if (numerator == 0) return Decimal(0, scale);
  const int shift = scale + other.scale_ - scale_;
  Uint128 quotient = 0;
  Uint128 rest = 0;
  if (const std::optional<Uint128> scaled = ScaleUp(numerator, shift); scaled.has_value()) {
    quotient = *scaled / divisor;
    rest = *scaled % divisor;
  } else {
    if (DigitCount(numerator) + shift > 77) return std::unexpected(DecimalError::kOverflow);
    Wide wide{static_cast<uint64_t>(numerator), static_cast<uint64_t>(numerator >> 64U), 0, 0};
    for (int left = shift; left > 0; left -= 19)
      MultiplyWide(wide, static_cast<uint64_t>(PowerOfTen(std::min(left, 19))));
    const std::optional<Uint128> result = DivideWide(wide, divisor, &rest);
    if (!result) return std::unexpected(DecimalError::kOverflow);
    quotient = *result;
  }
  if (rest >= divisor - rest) ++quotient;
  if (quotient >= kLimit) return std::unexpected(DecimalError::kOverflow);
  return Decimal(Signed(quotient, (unscaled_ < 0) != (other.unscaled_ < 0)), scale);
}

DecimalResult Decimal::Modulo(const Decimal& other) const {
  if (other.unscaled_ == 0) return std::unexpected(DecimalError::kDivisionByZero);
  const int scale = std::max(scale_, other.scale_);
  const std::optional<Uint128> a = ScaleUp(Magnitude(unscaled_), scale - scale_);
  const std::optional<Uint128> b = ScaleUp(Magnitude(other.unscaled_), scale - other.scale_);
  if (!a) return std::unexpected(DecimalError::kOverflow);
  // A divisor beyond 38 digits at this scale is greater than the dividend.
  return Decimal(Signed(b ? *a % *b : *a, unscaled_ < 0), scale);
}

// direction: 0 half away from zero, -1 towards zero, 1 up, 2 down.
DecimalResult Decimal::Cut(int digits, int direction) const {
  const int scale = std::min(std::max(digits, 0), kScaleMax);
  const int drop = scale_ - digits;
  const Uint128 magnitude = Magnitude(unscaled_);
  const bool negative = unscaled_ < 0;
  if (drop <= 0) {
    const std::optional<Uint128> scaled = ScaleUp(magnitude, scale - scale_);
    if (!scaled) return std::unexpected(DecimalError::kOverflow);
    return Decimal(Signed(*scaled, negative), scale);
  }
  Uint128 kept = 0;
  Uint128 rest = magnitude;
  if (drop < kPowers) {
    kept = magnitude / PowerOfTen(drop);
    rest = magnitude % PowerOfTen(drop);
  }
  bool away = false;
  if (direction == 0) away = drop < kPowers && rest >= PowerOfTen(drop) - rest;
  if (direction == 1) away = rest != 0 && !negative;
  if (direction == 2) away = rest != 0 && negative;
  if (away) ++kept;
  const std::optional<Uint128> result = digits < 0 ? ScaleUp(kept, std::min(-digits, kPowers)) : kept;
  if (!result || *result >= kLimit) return std::unexpected(DecimalError::kOverflow);
  return Decimal(Signed(*result, negative), scale);
}

DecimalResult Decimal::Round(int digits) const { return Cut(digits, 0); }
DecimalResult Decimal::Trunc(int digits) const { return Cut(digits, -1); }
DecimalResult Decimal::Ceil() const { return Cut(0, 1); }
DecimalResult Decimal::Floor() const { return Cut(0, 2); }

int Decimal::Compare(const Decimal& other) const {
  if (scale_ == other.scale_) return unscaled_ < other.unscaled_ ? -1 : (unscaled_ > other.unscaled_ ? 1 : 0);
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  const bool this_low = scale_ < other.scale_;
  const Decimal& low = this_low ? *this : other;
  const Decimal& high = this_low ? other : *this;
  const std::optional<Uint128> scaled = ScaleUp(Magnitude(low.unscaled_), high.scale_ - low.scale_);
  const Uint128 high_magnitude = Magnitude(high.unscaled_);
  int order = 1;  // of the magnitudes, low against high
  if (scaled) order = *scaled < high_magnitude ? -1 : (*scaled > high_magnitude ? 1 : 0);
  return order * sign() * (this_low ? 1 : -1);
}

std::optional<int64_t> Decimal::ToInt64() const {
  const DecimalResult rounded = Round(0);
  if (!rounded || rounded->unscaled_ < INT64_MIN || rounded->unscaled_ > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(rounded->unscaled_);
}

double Decimal::ToDouble() const {
  const std::string text = ToString();
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

size_t Decimal::ToText(char* out) const {
  std::array<char, 40> digits{};
  char* const end = digits.data() + digits.size();
  char* p = end;
  Uint128 magnitude = Magnitude(unscaled_);
  while ((magnitude >> 64U) != 0) {
    *--p = static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  }
  for (auto low = static_cast<uint64_t>(magnitude); low != 0; low /= 10) *--p = static_cast<char>('0' + low % 10);
  const auto count = static_cast<size_t>(end - p);
  const auto scale = static_cast<size_t>(scale_);
  char* to = out;
  if (unscaled_ < 0) *to++ = '-';
  if (count <= scale) {
    *to++ = '0';
  } else {
    std::memcpy(to, p, count - scale);
    to += count - scale;
    p += count - scale;
  }
  if (scale > 0) {
    *to++ = '.';
    const size_t zeros = count < scale ? scale - count : 0;
    std::memset(to, '0', zeros);
    std::memcpy(to + zeros, p, scale - zeros);
    to += scale;
  }
  return static_cast<size_t>(to - out);
}

std::string Decimal::ToString() const {
  std::string text(TextSizeMax(), '\0');
  text.resize(ToText(text.data()));
  return text;
}

size_t DoubleToText(double value, char* out) {
  const auto copy = [out](std::string_view text) {
    std::memcpy(out, text.data(), text.size());
    return text.size();
  };
  if (std::isnan(value)) return copy("NaN");
  if (std::isinf(value)) return copy(value < 0 ? "-Infinity" : "Infinity");
  if (value == 0) return copy(std::signbit(value) ? "-0" : "0");
  const auto scientific = std::to_chars(out, out + 32, value, std::chars_format::scientific);
  const std::string_view text(out, static_cast<size_t>(scientific.ptr - out));
  int exponent = 0;
  const size_t e = text.find('e');
  const size_t digits = e + 1 + (text[e + 1] == '+' ? 1 : 0);
  std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 15) return text.size();
  return static_cast<size_t>(std::to_chars(out, out + 32, value, std::chars_format::fixed).ptr - out);
}

}  // namespace weir::operators
