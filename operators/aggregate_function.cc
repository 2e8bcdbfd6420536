#include "operators/aggregate_function.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "operators/key.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"count", "sum", "min", "max", "avg"};

constexpr char kFlagDoubles = 1;
constexpr char kFlagNotFinite = 2;

// Adds 1 to a counter or takes 1 back; false: there is none to take.
bool Step(uint64_t& counter, bool retract) {
  if (retract && counter == 0) return false;
  counter += retract ? ~uint64_t{0} : 1;
  return true;
}

constexpr std::string_view kNeverAdded = "a value is taken back that was never added";

std::string AddDouble(Accumulator& to, double value, bool retract) {
  if (std::isnan(value)) return Step(to.nan, retract) ? std::string() : std::string(kNeverAdded);
  if (std::isinf(value)) {
    return Step(value > 0 ? to.plus_infinity : to.minus_infinity, retract) ? std::string() : std::string(kNeverAdded);
  }
  if (!Step(to.doubles, retract)) return std::string(kNeverAdded);
  to.double_sum = to.doubles == 0 ? 0 : to.double_sum + (retract ? -value : value);
  return {};
}

std::string AddExact(Accumulator& to, const DecimalResult& value, bool retract) {
  if (!value.has_value()) return "a number with more than 38 digits";
  const DecimalResult sum = retract ? to.sum.Subtract(*value) : to.sum.Add(*value);
  if (!sum.has_value()) return "the sum has more than 38 digits";
  to.sum = *sum;
  return {};
}

std::string AddNumber(Accumulator& to, const Value& value, bool retract) {
  switch (value.type()) {
    case ValueType::kInt64: return AddExact(to, Decimal::FromInt64(value.int64_value()), retract);
    case ValueType::kDouble: return AddDouble(to, value.double_value(), retract);
    case ValueType::kDecimal: {
      const DecimalResult parsed = Decimal::Parse(value.text());
      if (parsed.has_value() || parsed.error() != DecimalError::kNotFinite) return AddExact(to, parsed, retract);
      const double infinity = std::numeric_limits<double>::infinity();
      if (value.text() == "NaN") return AddDouble(to, std::numeric_limits<double>::quiet_NaN(), retract);
      return AddDouble(to, value.text().starts_with('-') ? -infinity : infinity, retract);
    }
    default: {
      std::string message = "a ";
      message += ValueTypeName(value.type());
      message += " is no number";
      if (value.type() == ValueType::kString) message += ": " + Quoted(value.text().substr(0, 100));
      return message;
    }
  }
}

bool Orderable(ValueType type) { return type != ValueType::kBool && type != ValueType::kJson; }

DecimalResult ExactAverage(const Accumulator& accumulator) {
  return accumulator.sum.Divide(Decimal::FromInt64(static_cast<int64_t>(accumulator.count)));
}

// Nothing to do where the result isn't an exact number.
std::string FinishAverage(Accumulator& accumulator) {
  accumulator.average.reset();
  if (accumulator.count == 0 || accumulator.doubles + accumulator.nan > 0) return {};
  const DecimalResult average = ExactAverage(accumulator);
  if (!average.has_value()) return "the average has more than 38 digits";
  accumulator.average = *average;
  return {};
}

Value DecimalIn(Arena& arena, const Decimal& decimal) {
  if (decimal.scale() == 0) {
    const Int128 whole = decimal.unscaled();
    if (whole >= std::numeric_limits<int64_t>::min() && whole <= std::numeric_limits<int64_t>::max()) {
      return Value::Int64(static_cast<int64_t>(whole));
    }
  }
  char* text = arena.Allocate(decimal.TextSizeMax());
  const size_t size = decimal.ToText(text);
  arena.Trim(text, size);
  return Value::Text(ValueType::kDecimal, {text, size});
}

void AppendVarint128(std::string& out, Int128 value) {
  auto bits = (static_cast<Uint128>(value) << 1) ^ static_cast<Uint128>(value >> 127);
  if (bits <= std::numeric_limits<uint64_t>::max()) return AppendVarint(out, static_cast<uint64_t>(bits));
  while (bits >= 0x80) {
    out += static_cast<char>(static_cast<uint8_t>(bits) | 0x80);
    bits >>= 7;
  }
  out += static_cast<char>(bits);
}

std::optional<Int128> TakeVarint128(std::string_view& bytes) {
  if (const std::optional<uint64_t> small = ReadVarint(bytes); small.has_value()) {
    return static_cast<Int128>(*small >> 1) ^ -static_cast<Int128>(*small & 1);
  }
  Uint128 bits = 0;
  for (size_t i = 0; i < bytes.size() && i < 19; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    bits |= static_cast<Uint128>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    bytes.remove_prefix(i + 1);
    return static_cast<Int128>(bits >> 1) ^ -static_cast<Int128>(bits & 1);
  }
  return std::nullopt;
}

bool TakeInto(std::string_view& bytes, uint64_t& value) {
  const std::optional<uint64_t> taken = ReadVarint(bytes);
  if (taken.has_value()) value = *taken;
  return taken.has_value();
}

bool TakeSum(std::string_view& bytes, Accumulator& accumulator) {
  if (bytes.empty()) return false;
  const char flags = bytes.front();
  bytes.remove_prefix(1);
  const std::optional<Int128> unscaled = TakeVarint128(bytes);
  uint64_t scale = 0;
  if (!unscaled.has_value() || !TakeInto(bytes, scale) || scale > Decimal::kScaleMax) return false;
  accumulator.sum = Decimal::FromUnscaled(*unscaled, static_cast<int>(scale));
  if ((flags & kFlagDoubles) != 0) {
    if (!TakeInto(bytes, accumulator.doubles) || bytes.size() < 8) return false;
    accumulator.double_sum = std::bit_cast<double>(ReadBigEndian64(bytes));
    bytes.remove_prefix(8);
  }
  if ((flags & kFlagNotFinite) == 0) return true;
  return TakeInto(bytes, accumulator.nan) && TakeInto(bytes, accumulator.plus_infinity) &&
         TakeInto(bytes, accumulator.minus_infinity);
}

Value SumOrAverage(AggregateFunction function, const Accumulator& a, Arena& arena) {
  const bool average = function == AggregateFunction::kAvg;
  if (a.nan > 0 || (a.plus_infinity > 0 && a.minus_infinity > 0)) {
    if (a.doubles > 0) return Value::Double(std::numeric_limits<double>::quiet_NaN());
    return Value::Text(ValueType::kDecimal, "NaN");
  }
  if (a.plus_infinity > 0 || a.minus_infinity > 0) {
    return Value::Text(ValueType::kDecimal, a.plus_infinity > 0 ? "Infinity" : "-Infinity");
  }
  if (a.doubles > 0) {
    const double sum = a.double_sum + a.sum.ToDouble();
    return Value::Double(average ? sum / static_cast<double>(a.count) : sum);
  }
  if (!average) return DecimalIn(arena, a.sum);
  // An average that was read back from its bytes has been computed before: it fits.
  return DecimalIn(arena, a.average.has_value() ? *a.average : ExactAverage(a).value_or(Decimal()));
}

// ------------------------------------------------------------------ order of min and max

enum OrderedTag : char {
  kMinusInfinity,
  kNegative,
  kZero,
  kPositive,
  kPlusInfinity,
  kNotANumber,
  kText = 16,
  kBlob,
  kTemporal
};

void AppendOrderedNumber(std::string& out, std::string_view text) {
  if (text == "NaN") return out.push_back(kNotANumber);
  if (text == "Infinity") return out.push_back(kPlusInfinity);
  if (text == "-Infinity") return out.push_back(kMinusInfinity);
  const bool negative = text.starts_with('-');
  const size_t mark = text.find_first_of("eE");
  std::string digits;
  int64_t point = 0;  // where the point stands in `digits`
  bool behind = false;
  for (const char c : text.substr(0, mark)) {
    if (c == '.') behind = true;
    if (c < '0' || c > '9') continue;
    if (digits.empty() && c == '0') {
      if (behind) --point;
      continue;
    }
    digits += c;
    if (!behind) ++point;
  }
  while (digits.ends_with('0')) digits.pop_back();
  if (digits.empty()) return out.push_back(kZero);
  if (mark != std::string_view::npos) {
    std::string_view exponent = text.substr(mark + 1);
    const bool down = exponent.starts_with('-');
    int64_t written = 0;
    for (const char c : exponent) {
      if (c < '0' || c > '9') continue;
      written = std::min<int64_t>(written * 10 + (c - '0'), int64_t{1} << 50);
    }
    point += down ? -written : written;
  }
  out += negative ? kNegative : kPositive;
  const size_t start = out.size();
  AppendBigEndian64(out, static_cast<uint64_t>(point) ^ (uint64_t{1} << 63));
  out += digits;
  out += '\0';
  if (!negative) return;
  for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

// 0 is 0 ff, and 0 0 ends the text.
void AppendTerminated(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xff';
  }
  out.append(2, '\0');
}

std::string NumberText(const Value& value) {
  if (value.type() == ValueType::kInt64) return std::to_string(value.int64_value());
  if (value.type() == ValueType::kDecimal) return std::string(value.text());
  char buffer[32];
  return {buffer, DoubleToText(value.double_value(), buffer)};
}

bool IsNumber(ValueType type) {
  return type == ValueType::kInt64 || type == ValueType::kDecimal || type == ValueType::kDouble;
}

int Sign(std::strong_ordering order) { return order < 0 ? -1 : (order > 0 ? 1 : 0); }

int CompareNumberValues(const Value& a, const Value& b) {
  if (a.type() == ValueType::kInt64 && b.type() == ValueType::kInt64) return Sign(a.int64_value() <=> b.int64_value());
  if (b.type() == ValueType::kInt64 && a.type() == ValueType::kDecimal)
    return CompareNumberWithInt64(a.text(), b.int64_value());
  if (a.type() == ValueType::kDecimal && b.type() == ValueType::kDecimal) return CompareNumbers(a.text(), b.text());
  return CompareNumbers(NumberText(a), NumberText(b));
}

}  // namespace

std::string_view AggregateFunctionName(AggregateFunction function) { return kNames[static_cast<size_t>(function)]; }

std::optional<AggregateFunction> FindAggregateFunction(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<AggregateFunction>(i);
  }
  return std::nullopt;
}

std::string AddToAccumulator(AggregateFunction function, Accumulator& accumulator, const Value& value, bool retract) {
  if (value.missing()) return {};
  if (!Step(accumulator.count, retract)) return std::string(kNeverAdded);
  switch (function) {
    case AggregateFunction::kCount: return {};
    case AggregateFunction::kSum: return AddNumber(accumulator, value, retract);
    case AggregateFunction::kAvg: {
      std::string error = AddNumber(accumulator, value, retract);
      return error.empty() ? FinishAverage(accumulator) : error;
    }
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
      if (Orderable(value.type())) return {};
      return "values of type " + std::string(ValueTypeName(value.type())) + " have no order";
  }
  return {};
}

void ClearAccumulator(AggregateFunction function, Accumulator& accumulator) {
  accumulator.count = 0;
  switch (function) {
    case AggregateFunction::kCount: return;
    case AggregateFunction::kMin:
    case AggregateFunction::kMax: accumulator.extreme = Value::Absent(); return;
    case AggregateFunction::kSum:
    case AggregateFunction::kAvg:
      accumulator.sum = Decimal();
      accumulator.doubles = accumulator.nan = accumulator.plus_infinity = accumulator.minus_infinity = 0;
      accumulator.double_sum = 0;
      accumulator.average.reset();
      return;
  }
}

Value ResultOf(AggregateFunction function, const Accumulator& accumulator, Arena& arena) {
  if (function == AggregateFunction::kCount) return Value::Int64(static_cast<int64_t>(accumulator.count));
  if (accumulator.count == 0) return Value::Null();
  if (function == AggregateFunction::kSum || function == AggregateFunction::kAvg) {
    return SumOrAverage(function, accumulator, arena);
  }
  const Value& extreme = accumulator.extreme;
  return extreme.has_text() ? Value::Text(extreme.type(), arena.Copy(extreme.text())) : extreme;
}

void AppendAccumulator(std::string& out, AggregateFunction function, const Accumulator& accumulator) {
  AppendVarint(out, accumulator.count);
  if (accumulator.count == 0 || function == AggregateFunction::kCount) return;
  if (function == AggregateFunction::kMin || function == AggregateFunction::kMax) {
    AppendExactValue(out, accumulator.extreme);
    return;
  }
  const bool not_finite = accumulator.nan + accumulator.plus_infinity + accumulator.minus_infinity > 0;
  out += static_cast<char>((accumulator.doubles > 0 ? kFlagDoubles : 0) | (not_finite ? kFlagNotFinite : 0));
  AppendVarint128(out, accumulator.sum.unscaled());
  AppendVarint(out, static_cast<uint64_t>(accumulator.sum.scale()));
  if (accumulator.doubles > 0) {
    AppendVarint(out, accumulator.doubles);
    AppendBigEndian64(out, std::bit_cast<uint64_t>(accumulator.double_sum));
  }
  if (!not_finite) return;
  AppendVarint(out, accumulator.nan);
  AppendVarint(out, accumulator.plus_infinity);
  AppendVarint(out, accumulator.minus_infinity);
}

bool TakeAccumulator(std::string_view& bytes, AggregateFunction function, Accumulator& accumulator) {
  ClearAccumulator(function, accumulator);
  if (!TakeInto(bytes, accumulator.count)) return false;
  if (accumulator.count == 0 || function == AggregateFunction::kCount) return true;
  if (function == AggregateFunction::kSum || function == AggregateFunction::kAvg) return TakeSum(bytes, accumulator);
  const std::optional<Value> extreme = TakeKeyValue(bytes);
  if (extreme.has_value()) accumulator.extreme = *extreme;
  return extreme.has_value();
}

std::optional<int> CompareForExtreme(const Value& a, const Value& b) {
  if (IsNumber(a.type()) && IsNumber(b.type())) return CompareNumberValues(a, b);
  if (a.type() != b.type() || !Orderable(a.type()) || a.missing()) return std::nullopt;
  if (a.has_text()) return Sign(a.text() <=> b.text());
  return Sign(a.int64_value() <=> b.int64_value());
}

void AppendOrdered(std::string& out, const Value& value, bool descending) {
  const size_t start = out.size();
  if (IsNumber(value.type())) {
    AppendOrderedNumber(out, NumberText(value));
  } else if (value.has_text()) {
    out += value.type() == ValueType::kString ? kText : kBlob;
    AppendTerminated(out, value.text());
  } else {
    out += kTemporal;
    AppendBigEndian64(out, static_cast<uint64_t>(value.int64_value()) ^ (uint64_t{1} << 63));
  }
  if (!descending) return;
  for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

}  // namespace weir::operators
