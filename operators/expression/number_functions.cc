// Functions of numbers. Of an integer, round, trunc, floor, ceil and sign give a decimal, so that nothing becomes
// double that was exact.
#include <cmath>

#include "operators/expression/conversion.h"
#include "operators/expression/evaluate.h"

namespace weir::operators::expression {
namespace {

using Operation = DecimalResult (*)(const Decimal&, int digits);

bool GiveDecimal(const Call& call, const DecimalResult& result, Value* out) {
  if (!result) return call.evaluator.FailDecimal(call.node, result.error());
  *out = DecimalValue(*result, call.evaluator.arena());
  return true;
}

// Digits behind the point, clamped as PostgreSQL does.
bool TakeDigits(const Call& call, int* digits) {
  *digits = 0;
  if (call.args.size() < 2) return true;
  if (call.args[1].type() != ValueType::kInt64)
    return call.evaluator.FailType(*call.node.args[1], "an integer", call.args[1]);
  const int64_t wanted = call.args[1].int64_value();
  if (wanted < INT32_MIN || wanted > INT32_MAX) return call.evaluator.Fail(*call.node.args[1], "integer out of range");
  *digits = static_cast<int>(std::min<int64_t>(std::max<int64_t>(wanted, -2000), 2000));
  return true;
}

bool Apply(const Call& call, Operation operation, double (*of_double)(double), Value* out) {
  if (!call.evaluator.Number(call, 0, "a number")) return false;
  const Value& number = call.args[0];
  int digits = 0;
  if (!TakeDigits(call, &digits)) return false;
  if (number.type() == ValueType::kDouble) {
    if (call.args.size() > 1)
      return call.evaluator.Fail(call.node, "double precision has no digits to round to, cast to numeric");
    *out = Value::Double(of_double(number.double_value()));
    return true;
  }
  const auto decimal = ToDecimal(number);
  if (!decimal) return call.evaluator.FailDecimal(call.node, decimal.error());
  return GiveDecimal(call, operation(*decimal, digits), out);
}

double SignOf(double value) { return value > 0 ? 1 : (value < 0 ? -1 : 0); }  // NaN has none

}  // namespace

bool Evaluator::Number(const Call& call, size_t index, std::string_view what) {
  const Value& value = call.args[index];
  if (FamilyOf(value.type()) == TypeFamily::kNumber) return true;
  return FailType(*call.node.args[index], what, value);
}

bool Abs(const Call& call, Value* out) {
  if (call.args[0].type() == ValueType::kInt64) {
    const int64_t value = call.args[0].int64_value();
    if (value == INT64_MIN) return call.evaluator.Fail(call.node, "bigint out of range");
    *out = Value::Int64(value < 0 ? -value : value);
    return true;
  }
  return Apply(
      call, [](const Decimal& d, int) -> DecimalResult { return d.Abs(); }, [](double d) { return std::fabs(d); }, out);
}

bool Round(const Call& call, Value* out) {
  return Apply(
      call, [](const Decimal& d, int digits) { return d.Round(digits); }, [](double d) { return std::nearbyint(d); },
      out);
}

bool Trunc(const Call& call, Value* out) {
  return Apply(
      call, [](const Decimal& d, int digits) { return d.Trunc(digits); }, [](double d) { return std::trunc(d); }, out);
}

bool Floor(const Call& call, Value* out) {
  return Apply(call, [](const Decimal& d, int) { return d.Floor(); }, [](double d) { return std::floor(d); }, out);
}

bool Ceil(const Call& call, Value* out) {
  return Apply(call, [](const Decimal& d, int) { return d.Ceil(); }, [](double d) { return std::ceil(d); }, out);
}

bool Sign(const Call& call, Value* out) {
  return Apply(call, [](const Decimal& d, int) -> DecimalResult { return Decimal::FromInt64(d.sign()); }, SignOf, out);
}

bool Mod(const Call& call, Value* out) {
  for (size_t i = 0; i < 2; ++i) {
    if (!call.evaluator.Number(call, i, "a number")) return false;
    if (call.args[i].type() == ValueType::kDouble)
      return call.evaluator.Fail(call.node, "double precision has no mod(), cast to numeric");
  }
  if (call.args[0].type() == ValueType::kInt64 && call.args[1].type() == ValueType::kInt64) {
    const int64_t divisor = call.args[1].int64_value();
    if (divisor == 0) return call.evaluator.Fail(call.node, "division by zero");
    *out = Value::Int64(divisor == -1 ? 0 : call.args[0].int64_value() % divisor);
    return true;
  }
  const auto a = ToDecimal(call.args[0]);
  if (!a) return call.evaluator.FailDecimal(call.node, a.error());
  const auto b = ToDecimal(call.args[1]);
  if (!b) return call.evaluator.FailDecimal(call.node, b.error());
  return GiveDecimal(call, a->Modulo(*b), out);
}

// Through double, as PostgreSQL: seconds since 1970, rounded to microseconds after moving to its epoch of 2000.
bool ToTimestamp(const Call& call, Value* out) {
  if (!call.evaluator.Number(call, 0, "seconds since 1970 as a number")) return false;
  constexpr int64_t kSecondsTo2000 = 946'684'800;
  if (!std::isfinite(ToDouble(call.args[0])))
    return call.evaluator.Fail(call.node, "expected a finite number of seconds");
  const double seconds = ToDouble(call.args[0]) - static_cast<double>(kSecondsTo2000);
  const std::optional<int64_t> micros = RoundToInt64(seconds * static_cast<double>(kMicrosPerSecond));
  int64_t units = 0;
  if (!micros || __builtin_add_overflow(*micros, kSecondsTo2000 * kMicrosPerSecond, &units) ||
      !IsTimestampInRange(units)) {
    return call.evaluator.Fail(call.node, "timestamp out of range");
  }
  *out = Value::Temporal(ValueType::kTimestampTz, units);
  return true;
}

}  // namespace weir::operators::expression
