// Exact decimal numbers: a 128-bit integer and a scale, at most 38 digits, with the results that PostgreSQL's numeric
// gives for the same operation (scale of a sum, product and quotient, rounding half away from zero). A result of more
// than 38 digits is an error, never a rounded value. Pure values and functions; any thread; nothing here goes through
// double but the two conversions that say so.
//
//   Decimal::Parse("10")->Divide(*Decimal::Parse("3"))->ToString()  ==  "3.3333333333333333"
//
// CompareNumbers and CanonicalNumber work on number texts of any length, beyond 38 digits and any exponent.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace weir::operators {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

enum class DecimalError : uint8_t { kSyntax, kOverflow, kDivisionByZero, kNotFinite };

// The sentence for a person, e.g. "division by zero".
std::string_view DecimalErrorText(DecimalError error);

class Decimal;
using DecimalResult = std::expected<Decimal, DecimalError>;

class Decimal {
 public:
  static constexpr int kDigitsMax = 38;
  static constexpr int kScaleMax = 16383;  // PostgreSQL's

  constexpr Decimal() = default;  // 0
  static constexpr Decimal FromInt64(int64_t value) { return Decimal(value, 0); }
  // `scale` digits of `unscaled` are behind the point. Needs |unscaled| < 10^38 and 0 <= scale <= kScaleMax.
  static constexpr Decimal FromUnscaled(Int128 unscaled, int scale) { return Decimal(unscaled, scale); }
  // JSON's number grammar; also a leading '+', leading zeros, ".5" and "5.". No blanks. NaN and Infinity: kNotFinite.
  static DecimalResult Parse(std::string_view text);
  // As PostgreSQL casts double precision to numeric: 15 significant digits.
  static DecimalResult FromDouble(double value);

  Int128 unscaled() const { return unscaled_; }
  int scale() const { return scale_; }
  int sign() const { return unscaled_ < 0 ? -1 : (unscaled_ > 0 ? 1 : 0); }

  DecimalResult Add(const Decimal& other) const;
  DecimalResult Subtract(const Decimal& other) const { return Add(other.Negate()); }
  DecimalResult Multiply(const Decimal& other) const;
  DecimalResult Divide(
      const Decimal& other) const;  // scale as PostgreSQL's select_div_scale: 16 significant digits or more
  DecimalResult Modulo(const Decimal& other) const;  // sign of the dividend
  Decimal Negate() const { return Decimal(-unscaled_, scale_); }
  Decimal Abs() const { return unscaled_ < 0 ? Negate() : *this; }

  // To `digits` behind the point; negative: in front of it. Half away from zero; Trunc towards zero. The scale becomes
  // max(digits, 0).
  DecimalResult Round(int digits) const;
  DecimalResult Trunc(int digits) const;
  DecimalResult Ceil() const;
  DecimalResult Floor() const;

  // -1, 0, 1; exact whatever the scales.
  int Compare(const Decimal& other) const;
  // Rounded half away from zero; nothing if it doesn't fit.
  std::optional<int64_t> ToInt64() const;
  double ToDouble() const;

  // As PostgreSQL prints numeric: all digits of the scale, no exponent. Writes at most TextSizeMax() bytes.
  size_t TextSizeMax() const { return static_cast<size_t>(scale_) + 41; }
  size_t ToText(char* out) const;
  std::string ToString() const;

 private:
  constexpr Decimal(Int128 unscaled, int scale) : unscaled_(unscaled), scale_(scale) {}
  DecimalResult Cut(int digits, int direction) const;

  Int128 unscaled_ = 0;
  int scale_ = 0;
};

// True for JSON's number grammar as far as Parse takes it, and for NaN, Infinity, -Infinity (as PostgreSQL writes
// them).
bool IsNumberText(std::string_view text);

// Exact order of two number texts: -1, 0, 1. -Infinity < numbers < Infinity < NaN, NaN equals NaN. Both must be
// IsNumberText; anything else counts as 0.
int CompareNumbers(std::string_view a, std::string_view b);
int CompareNumberWithInt64(std::string_view a, int64_t b);

// The integer that the text is equal to ("7E+3", "5.00"), if it fits.
std::optional<int64_t> NumberAsInt64(std::string_view text);
// Appends a text that is the same for all texts of one number and differs for any other number: the integer's digits,
// or a fixed-point text without trailing zeros, or (beyond 40 digits) significant digits and an exponent.
void AppendCanonicalNumber(std::string& out, std::string_view text);

// As PostgreSQL prints double precision: the shortest text that reads back the same. Returns the size; at most 32
// bytes.
size_t DoubleToText(double value, char* out);

}  // namespace weir::operators
