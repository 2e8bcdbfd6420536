#include "operators/expression/conversion.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "operators/expression/json_member.h"
#include "operators/expression/lexer.h"
#include "operators/temporal.h"

namespace weir::operators::expression {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::unexpected<std::string> Malformed(std::string_view text, std::string_view type) {
  constexpr size_t kShown = 60;
  std::string message = "expected ";
  message.append(type).append(", found \"").append(text.substr(0, kShown));
  if (text.size() > kShown) message.append("...");
  return std::unexpected(message.append("\""));
}

std::unexpected<std::string> OutOfRange(std::string_view type) {
  return std::unexpected(std::string("out of range for ").append(type));
}

Converted ReadInteger(std::string_view text) {
  std::string_view digits = Trimmed(text);
  if (!digits.empty() && digits.front() == '+') {
    digits.remove_prefix(1);
    if (digits.empty() || digits.front() == '-') return Malformed(text, "bigint");
  }
  int64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ptr != digits.data() + digits.size() || digits.empty()) return Malformed(text, "bigint");
  if (end.ec == std::errc::result_out_of_range) return OutOfRange("bigint");
  if (end.ec != std::errc()) return Malformed(text, "bigint");
  return Value::Int64(value);
}

Converted ReadNumeric(std::string_view text, Arena& arena) {
  const std::string_view number = Trimmed(text);
  const auto decimal = Decimal::Parse(number);
  if (decimal) return DecimalValue(*decimal, arena);
  if (decimal.error() == DecimalError::kOverflow)
    return std::unexpected(std::string(DecimalErrorText(DecimalError::kOverflow)));
  const std::string lower = LowerAscii(number);
  if (lower == "nan") return Value::Text(ValueType::kDecimal, "NaN");
  if (lower == "infinity" || lower == "inf" || lower == "+infinity" || lower == "+inf")
    return Value::Text(ValueType::kDecimal, "Infinity");
  if (lower == "-infinity" || lower == "-inf") return Value::Text(ValueType::kDecimal, "-Infinity");
  return Malformed(text, "numeric");
}

Converted ReadDouble(std::string_view text) {
  std::string_view digits = Trimmed(text);
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  double value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || end.ptr != digits.data() + digits.size() || digits.front() == '+')
    return Malformed(text, "double precision");
  if (end.ec == std::errc::result_out_of_range) return OutOfRange("double precision");
  if (end.ec != std::errc()) return Malformed(text, "double precision");
  return Value::Double(value);
}

// As PostgreSQL: any beginning of true, false, yes, no that is unique; on, off, 1, 0.
Converted ReadBool(std::string_view text) {
  const std::string word = LowerAscii(Trimmed(text));
  const auto begins = [&](std::string_view whole, size_t least) {
    return word.size() >= least && whole.substr(0, word.size()) == word;
  };
  if (begins("true", 1) || begins("yes", 1) || word == "on" || word == "1") return Value::Bool(true);
  if (begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0") return Value::Bool(false);
  return Malformed(text, "boolean");
}

Converted ReadTemporal(std::string_view text, ValueType type) {
  const TemporalText read = ParseTemporal(type, text);
  if (!read.error) return Value::Temporal(type, read.units);
  if (*read.error == TemporalError::kOutOfRange) {
    return std::unexpected(
        std::string("out of range for ").append(SqlName(type)).append(": \"").append(text).append("\""));
  }
  return Malformed(text,
                   std::string(SqlName(type)) + " like 2024-12-31" + (type == ValueType::kDate ? "" : " 23:59:59"));
}

Converted BadCast(const Value& value, const TypeSpec& spec) {
  return std::unexpected(std::string("cannot cast ").append(SqlName(value.type())).append(" to ").append(spec.name));
}

Converted ToInteger(const Value& value, const TypeSpec& spec, Arena& arena) {
  std::optional<int64_t> integer;
  switch (value.type()) {
    case ValueType::kInt64: integer = value.int64_value(); break;
    case ValueType::kDouble: integer = RoundToInt64(value.double_value()); break;
    case ValueType::kDecimal: {
      const auto decimal = ToDecimal(value);
      if (!decimal && decimal.error() == DecimalError::kNotFinite)
        return std::unexpected(std::string("cannot convert NaN or Infinity to ").append(spec.name));
      if (decimal) integer = decimal->ToInt64();
      break;
    }
    case ValueType::kString: {
      const Converted read = ReadText(value.text(), ValueType::kInt64, arena);
      if (!read) return read;
      integer = read->int64_value();
      break;
    }
    case ValueType::kBool:
      if (spec.name != "integer") return BadCast(value, spec);
      integer = value.bool_value() ? 1 : 0;
      break;
    default: return BadCast(value, spec);
  }
  if (!integer || *integer < spec.integer_min || *integer > spec.integer_max) return OutOfRange(spec.name);
  return Value::Int64(*integer);
}

Converted ToNumeric(const Value& value, const TypeSpec& spec, Arena& arena) {
  Value number = value;
  if (value.type() == ValueType::kString) {
    const Converted read = ReadText(value.text(), ValueType::kDecimal, arena);
    if (!read) return read;
    number = *read;
  }
  std::expected<Decimal, DecimalError> decimal = std::unexpected(DecimalError::kSyntax);
  if (number.type() == ValueType::kDouble) {
    if (!std::isfinite(number.double_value())) {
      if (spec.precision != 0) return std::unexpected(std::string("out of range for numeric(p, s): NaN or Infinity"));
      return Value::Text(ValueType::kDecimal, std::isnan(number.double_value()) ? "NaN"
                                              : number.double_value() > 0       ? "Infinity"
                                                                                : "-Infinity");
    }
    decimal = Decimal::FromDouble(number.double_value());
  } else if (number.type() == ValueType::kInt64 || number.type() == ValueType::kDecimal) {
    // Without a precision a decimal keeps its value, however long.
    decimal = ToDecimal(number);
    if (!decimal && number.type() == ValueType::kDecimal && spec.precision == 0) return number;
  } else {
    return BadCast(value, spec);
  }
  if (decimal && spec.precision != 0) {
    decimal = decimal->Round(spec.scale);
    if (decimal) {
      const DecimalResult limit = Decimal::Parse("1e" + std::to_string(spec.precision - spec.scale));
      if (limit && decimal->Abs().Compare(*limit) >= 0) {
        return std::unexpected("out of range for numeric(" + std::to_string(spec.precision) + ", " +
                               std::to_string(spec.scale) + ")");
      }
    }
  }
  if (!decimal) return std::unexpected(std::string(DecimalErrorText(decimal.error())));
  return DecimalValue(*decimal, arena);
}

Converted ToDay(const Value& value, const TypeSpec& spec, Arena& arena) {
  if (value.type() == ValueType::kString) return ReadText(value.text(), spec.type, arena);
  if (value.type() == ValueType::kTime && spec.type == ValueType::kTime) return value;
  const bool from_date = value.type() == ValueType::kDate;
  if (FamilyOf(value.type()) != TypeFamily::kDay) return BadCast(value, spec);
  if (spec.type == ValueType::kTime) {
    if (from_date) return BadCast(value, spec);
    return Value::Temporal(ValueType::kTime, SplitTimestamp(value.int64_value()).micros);
  }
  if (spec.type == ValueType::kDate) {
    return from_date ? value : Value::Temporal(ValueType::kDate, SplitTimestamp(value.int64_value()).days);
  }
  if (!from_date) return Value::Temporal(spec.type, value.int64_value());
  int64_t micros = 0;
  if (__builtin_mul_overflow(value.int64_value(), kMicrosPerDay, &micros) || !IsTimestampInRange(micros)) {
    return OutOfRange("timestamp");
  }
  return Value::Temporal(spec.type, micros);
}

Converted ToBool(const Value& value, const TypeSpec& spec) {
  switch (value.type()) {
    case ValueType::kBool: return value;
    case ValueType::kString: return ReadBool(value.text());
    default: return BadCast(value, spec);
  }
}

}  // namespace

std::string_view SqlName(ValueType type) {
  switch (type) {
    case ValueType::kBool: return "boolean";
    case ValueType::kInt64: return "bigint";
    case ValueType::kDecimal: return "numeric";
    case ValueType::kDouble: return "double precision";
    case ValueType::kString: return "text";
    case ValueType::kTimestampTz: return "timestamp with time zone";
    default: return ValueTypeName(type);
  }
}

TypeFamily FamilyOf(ValueType type) {
  switch (type) {
    case ValueType::kAbsent:
    case ValueType::kNull: return TypeFamily::kNone;
    case ValueType::kBool: return TypeFamily::kBool;
    case ValueType::kInt64:
    case ValueType::kDecimal:
    case ValueType::kDouble: return TypeFamily::kNumber;
    case ValueType::kString: return TypeFamily::kText;
    case ValueType::kBytes: return TypeFamily::kBytes;
    case ValueType::kDate:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz: return TypeFamily::kDay;
    case ValueType::kTime: return TypeFamily::kTime;
    case ValueType::kJson: return TypeFamily::kJson;
  }
  return TypeFamily::kNone;
}

Converted ReadText(std::string_view text, ValueType type, Arena& arena) {
  switch (type) {
    case ValueType::kBool: return ReadBool(text);
    case ValueType::kInt64: return ReadInteger(text);
    case ValueType::kDecimal: return ReadNumeric(text, arena);
    case ValueType::kDouble: return ReadDouble(text);
    case ValueType::kDate:
    case ValueType::kTime:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz: return ReadTemporal(text, type);
    case ValueType::kJson:
      if (!IsJson(text)) return Malformed(text, "json");
      return Value::Text(ValueType::kJson, text);
    default: return Value::Text(ValueType::kString, text);
  }
}

std::string_view ToText(const Value& value, Arena& arena) {
  std::array<char, 64> buffer{};
  switch (value.type()) {
    case ValueType::kAbsent:
    case ValueType::kNull: return {};
    case ValueType::kBool: return value.bool_value() ? "true" : "false";
    case ValueType::kInt64: {
      const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.int64_value());
      return arena.Copy({buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
    }
    case ValueType::kDouble: return arena.Copy({buffer.data(), DoubleToText(value.double_value(), buffer.data())});
    case ValueType::kDecimal: {
      // "7E+3" is a number as it was written; PostgreSQL prints 7000.
      if (value.text().find_first_of("eE") == std::string_view::npos) return value.text();
      const auto decimal = Decimal::Parse(value.text());
      return decimal ? DecimalValue(*decimal, arena).text() : value.text();
    }
    case ValueType::kBytes: {
      constexpr std::string_view kHex = "0123456789abcdef";
      char* out = arena.Allocate(2 + value.text().size() * 2);
      char* p = out;
      *p++ = '\\';
      *p++ = 'x';
      for (const char c : value.text()) {
        *p++ = kHex[static_cast<unsigned char>(c) >> 4U];
        *p++ = kHex[static_cast<unsigned char>(c) & 15U];
      }
      return {out, static_cast<size_t>(p - out)};
    }
    case ValueType::kDate:
    case ValueType::kTime:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz:
      return arena.Copy({buffer.data(), TemporalToText(value.type(), value.int64_value(), buffer.data())});
    case ValueType::kString:
    case ValueType::kJson: return value.text();
  }
  return {};
}

Converted CastValue(const Value& value, const TypeSpec& spec, Arena& arena) {
  if (value.missing()) return Value::Null();
  switch (spec.type) {
    case ValueType::kBool: return ToBool(value, spec);
    case ValueType::kInt64: return ToInteger(value, spec, arena);
    case ValueType::kDecimal: return ToNumeric(value, spec, arena);
    case ValueType::kDouble:
      if (value.type() == ValueType::kString) return ReadDouble(value.text());
      if (FamilyOf(value.type()) != TypeFamily::kNumber) return BadCast(value, spec);
      return Value::Double(ToDouble(value));
    case ValueType::kString: {
      std::string_view text = ToText(value, arena);
      if (spec.length > 0) text = text.substr(0, CharacterOffset(text, static_cast<size_t>(spec.length)));
      return Value::Text(ValueType::kString, text);
    }
    case ValueType::kJson:
      if (value.type() == ValueType::kJson) return value;
      if (value.type() != ValueType::kString) return BadCast(value, spec);
      return ReadText(value.text(), ValueType::kJson, arena);
    default: return ToDay(value, spec, arena);
  }
}

Value DecimalValue(const Decimal& decimal, Arena& arena) {
  char* out = arena.Allocate(decimal.TextSizeMax());
  const size_t size = decimal.ToText(out);
  arena.Trim(out, size);
  return Value::Text(ValueType::kDecimal, {out, size});
}

std::expected<Decimal, DecimalError> ToDecimal(const Value& number) {
  if (number.type() == ValueType::kInt64) return Decimal::FromInt64(number.int64_value());
  return Decimal::Parse(number.text());
}

double ToDouble(const Value& number) {
  if (number.type() == ValueType::kDouble) return number.double_value();
  if (number.type() == ValueType::kInt64) return static_cast<double>(number.int64_value());
  double value = 0;
  const std::string_view text = number.text();
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc::result_out_of_range) return value;
  return CompareNumberWithInt64(text, -1) < 0 ? -HUGE_VAL : (CompareNumberWithInt64(text, 1) > 0 ? HUGE_VAL : 0.0);
}

std::optional<int64_t> RoundToInt64(double value) {
  const double rounded = std::nearbyint(value);
  if (!(rounded >= -9223372036854775808.0 && rounded < 9223372036854775808.0)) return std::nullopt;
  return static_cast<int64_t>(rounded);
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

size_t CharacterOffset(std::string_view text, size_t index) {
  size_t offset = 0;
  while (offset < text.size()) {
    if ((static_cast<unsigned char>(text[offset]) & 0xC0U) != 0x80U) {
      if (index == 0) break;
      --index;
    }
    ++offset;
  }
  return offset;
}

}  // namespace weir::operators::expression
