// Order, arithmetic and concatenation of values whose types are only known here.
#include <algorithm>
#include <cmath>

#include "operators/expression/conversion.h"
#include "operators/expression/evaluate.h"

namespace weir::operators::expression {
namespace {

template <class T>
int OrderOf(const T& a, const T& b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

int OrderOfTexts(std::string_view a, std::string_view b) {
  const int order = a.compare(b);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

// PostgreSQL's order: NaN is equal to itself and greater than all others.
int OrderOfDoubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return OrderOf(std::isnan(a), std::isnan(b));
  return OrderOf(a, b);
}

int OrderOfNumbers(const Value& a, const Value& b) {
  if (a.type() == ValueType::kDouble || b.type() == ValueType::kDouble) return OrderOfDoubles(ToDouble(a), ToDouble(b));
  if (a.type() == ValueType::kInt64) {
    return b.type() == ValueType::kInt64 ? OrderOf(a.int64_value(), b.int64_value())
                                         : -CompareNumberWithInt64(b.text(), a.int64_value());
  }
  return b.type() == ValueType::kInt64 ? CompareNumberWithInt64(a.text(), b.int64_value())
                                       : CompareNumbers(a.text(), b.text());
}

int OrderOfDays(const Value& a, const Value& b) {
  const auto micros = [](const Value& value) {
    return static_cast<Int128>(value.int64_value()) * (value.type() == ValueType::kDate ? kMicrosPerDay : 1);
  };
  return OrderOf(micros(a), micros(b));
}

std::string_view OperatorText(ArithmeticOp op) {
  switch (op) {
    case ArithmeticOp::kAdd: return "+";
    case ArithmeticOp::kSubtract: return "-";
    case ArithmeticOp::kMultiply: return "*";
    case ArithmeticOp::kDivide: return "/";
    case ArithmeticOp::kModulo: return "%";
  }
  return "?";
}

bool IsNumber(const Value& value) { return FamilyOf(value.type()) == TypeFamily::kNumber; }

}  // namespace

bool Evaluator::Order(const Node& left, const Value& a, const Node& right, const Value& b, int* order) {
  if (a.type() == ValueType::kInt64 && b.type() == ValueType::kInt64) {
    *order = OrderOf(a.int64_value(), b.int64_value());
    return true;
  }
  if (a.type() == ValueType::kString && b.type() == ValueType::kString) {
    *order = OrderOfTexts(a.text(), b.text());
    return true;
  }
  if (left.untyped && left.forms != nullptr) {
    Value form;
    return TakeForm(left, b, &form) && OrderTyped(left, form, right, b, order);
  }
  if (right.untyped && right.forms != nullptr) {
    Value form;
    return TakeForm(right, a, &form) && OrderTyped(left, a, right, form, order);
  }
  return OrderTyped(left, a, right, b, order);
}

bool Evaluator::TakeForm(const Node& literal, const Value& other, Value* value) {
  const LiteralForms& forms = *literal.forms;
  const std::optional<Value>* form = nullptr;
  switch (other.type()) {
    case ValueType::kInt64:
    case ValueType::kDecimal:
    case ValueType::kDouble: form = &forms.number; break;
    case ValueType::kBool: form = &forms.boolean; break;
    case ValueType::kDate: form = &forms.date; break;
    case ValueType::kTime: form = &forms.time; break;
    case ValueType::kTimestamp: form = &forms.timestamp; break;
    case ValueType::kTimestampTz: form = &forms.timestamp_tz; break;
    default: *value = literal.literal; return true;
  }
  if (!form->has_value()) {
    return Fail(literal, std::string("expected ")
                             .append(SqlName(other.type()))
                             .append(", found \"")
                             .append(literal.literal.text())
                             .append("\""));
  }
  *value = **form;
  return true;
}

bool Evaluator::OrderTyped(const Node& left, const Value& a, const Node& right, const Value& b, int* order) {
  const TypeFamily family = FamilyOf(a.type());
  if (family == FamilyOf(b.type())) {
    switch (family) {
      case TypeFamily::kNumber: *order = OrderOfNumbers(a, b); return true;
      case TypeFamily::kText:
      case TypeFamily::kBytes: *order = OrderOfTexts(a.text(), b.text()); return true;
      case TypeFamily::kDay: *order = OrderOfDays(a, b); return true;
      case TypeFamily::kBool:
      case TypeFamily::kTime: *order = OrderOf(a.int64_value(), b.int64_value()); return true;
      default: return Fail(left, "json has no order and no equality; compare its members or cast it to text");
    }
  }
  std::string message = "cannot compare ";
  message.append(SqlName(a.type())).append(" with ").append(SqlName(b.type()));
  message.append(" (").append(tree_->TextOf(right)).append(")");
  return Fail(left, message);
}

bool Evaluator::EvalArithmetic(const Node& node, Value* out) {
  Value a_scratch;
  Value b_scratch;
  const Value* a = Operand(*node.args[0], &a_scratch);
  if (a == nullptr) return false;
  const Value* b = Operand(*node.args[1], &b_scratch);
  if (b == nullptr) return false;
  if (a->missing() || b->missing()) {
    *out = Value::Null();
    return true;
  }
  Value form;
  if (node.args[0]->untyped && node.args[0]->forms != nullptr) {
    if (!TakeForm(*node.args[0], *b, &form)) return false;
    a = &form;
  } else if (node.args[1]->untyped && node.args[1]->forms != nullptr) {
    if (!TakeForm(*node.args[1], *a, &form)) return false;
    b = &form;
  }
  if (a->type() == ValueType::kInt64 && b->type() == ValueType::kInt64) {
    return IntegerArithmetic(node, a->int64_value(), b->int64_value(), out);
  }
  if (IsNumber(*a) && IsNumber(*b)) {
    if (a->type() == ValueType::kDouble || b->type() == ValueType::kDouble) {
      return DoubleArithmetic(node, ToDouble(*a), ToDouble(*b), out);
    }
    return DecimalArithmetic(node, *a, *b, out);
  }
  return AddDays(node, *a, *b, out);
}

bool Evaluator::IntegerArithmetic(const Node& node, int64_t a, int64_t b, Value* out) {
  int64_t result = 0;
  bool overflow = false;
  switch (node.arithmetic) {
    case ArithmeticOp::kAdd: overflow = __builtin_add_overflow(a, b, &result); break;
    case ArithmeticOp::kSubtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case ArithmeticOp::kMultiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case ArithmeticOp::kDivide:
    case ArithmeticOp::kModulo:
      if (b == 0) return Fail(node, "division by zero");
      if (node.arithmetic == ArithmeticOp::kModulo) {
        result = b == -1 ? 0 : a % b;
      } else if (b == -1) {
        overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      } else {
        result = a / b;
      }
      break;
  }
  if (overflow) return Fail(node, "bigint out of range");
  *out = Value::Int64(result);
  return true;
}

bool Evaluator::DoubleArithmetic(const Node& node, double a, double b, Value* out) {
  double result = 0;
  switch (node.arithmetic) {
    case ArithmeticOp::kAdd: result = a + b; break;
    case ArithmeticOp::kSubtract: result = a - b; break;
    case ArithmeticOp::kMultiply: result = a * b; break;
    case ArithmeticOp::kDivide:
      if (b == 0 && !std::isnan(a)) return Fail(node, "division by zero");
      result = a / b;
      break;
    case ArithmeticOp::kModulo: return Fail(node, "double precision has no operator %, cast to numeric");
  }
  if (std::isinf(result) && !std::isinf(a) && !std::isinf(b)) return Fail(node, "double precision overflow");
  const bool product = node.arithmetic == ArithmeticOp::kMultiply && a != 0 && b != 0;
  const bool quotient = node.arithmetic == ArithmeticOp::kDivide && a != 0 && !std::isinf(b);
  if (result == 0 && (product || quotient)) return Fail(node, "double precision underflow");
  *out = Value::Double(result);
  return true;
}

bool Evaluator::DecimalArithmetic(const Node& node, const Value& a, const Value& b, Value* out) {
  const auto left = ToDecimal(a);
  if (!left) return FailDecimal(*node.args[0], left.error());
  const auto right = ToDecimal(b);
  if (!right) return FailDecimal(*node.args[1], right.error());
  DecimalResult result = std::unexpected(DecimalError::kSyntax);
  switch (node.arithmetic) {
    case ArithmeticOp::kAdd: result = left->Add(*right); break;
    case ArithmeticOp::kSubtract: result = left->Subtract(*right); break;
    case ArithmeticOp::kMultiply: result = left->Multiply(*right); break;
    case ArithmeticOp::kDivide: result = left->Divide(*right); break;
    case ArithmeticOp::kModulo: result = left->Modulo(*right); break;
  }
  if (!result) return FailDecimal(node, result.error());
  *out = DecimalValue(*result, *arena_);
  return true;
}

// date + integer, integer + date, date - integer, date - date.
bool Evaluator::AddDays(const Node& node, const Value& a, const Value& b, Value* out) {
  const bool minus = node.arithmetic == ArithmeticOp::kSubtract;
  if (minus && a.type() == ValueType::kDate && b.type() == ValueType::kDate) {
    *out = Value::Int64(a.int64_value() - b.int64_value());
    return true;
  }
  const bool date_first = a.type() == ValueType::kDate && b.type() == ValueType::kInt64;
  const bool date_second = b.type() == ValueType::kDate && a.type() == ValueType::kInt64;
  if ((node.arithmetic == ArithmeticOp::kAdd && (date_first || date_second)) || (minus && date_first)) {
    int64_t days = 0;
    const bool overflow = minus ? __builtin_sub_overflow(a.int64_value(), b.int64_value(), &days)
                                : __builtin_add_overflow(a.int64_value(), b.int64_value(), &days);
    if (overflow || !IsDateInRange(days)) return Fail(node, "date out of range");
    *out = Value::Temporal(ValueType::kDate, days);
    return true;
  }
  std::string message = "there is no operator ";
  message.append(SqlName(a.type()))
      .append(" ")
      .append(OperatorText(node.arithmetic))
      .append(" ")
      .append(SqlName(b.type()));
  return Fail(node, message);
}

bool Evaluator::EvalNegate(const Node& node, Value* out) {
  if (!Eval(*node.args[0], out)) return false;
  switch (out->type()) {
    case ValueType::kAbsent:
    case ValueType::kNull: *out = Value::Null(); return true;
    case ValueType::kInt64:
      if (out->int64_value() == INT64_MIN) return Fail(node, "bigint out of range");
      *out = Value::Int64(-out->int64_value());
      return true;
    case ValueType::kDouble: *out = Value::Double(-out->double_value()); return true;
    case ValueType::kDecimal: {
      const auto decimal = ToDecimal(*out);
      if (!decimal) return FailDecimal(node, decimal.error());
      *out = DecimalValue(decimal->Negate(), *arena_);
      return true;
    }
    default: return FailType(node, "a number behind -", *out);
  }
}

bool Evaluator::EvalConcat(const Node& node, Value* out) {
  Value a;
  Value b;
  if (!Eval(*node.args[0], &a) || !Eval(*node.args[1], &b)) return false;
  if (a.missing() || b.missing()) {
    *out = Value::Null();
    return true;
  }
  if (a.type() != ValueType::kString && b.type() != ValueType::kString) {
    return Fail(node, std::string("expected text on at least one side of ||, found ")
                          .append(SqlName(a.type()))
                          .append(" and ")
                          .append(SqlName(b.type())));
  }
  const std::string_view first = ToText(a, *arena_);
  const std::string_view second = ToText(b, *arena_);
  char* text = arena_->Allocate(first.size() + second.size());
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), text));
  *out = Value::Text(ValueType::kString, {text, first.size() + second.size()});
  return true;
}

// concat(): takes any type, leaves nulls out; booleans are t and f.
bool Evaluator::EvalConcatFunction(const Node& node, Value* out) {
  std::string_view joined;
  for (const Node* arg : node.args) {
    Value value;
    if (!Eval(*arg, &value)) return false;
    if (value.missing()) continue;
    std::string_view text = ToText(value, *arena_);
    if (value.type() == ValueType::kBool) text = text.substr(0, 1);
    char* longer = arena_->Allocate(joined.size() + text.size());
    std::copy(text.begin(), text.end(), std::copy(joined.begin(), joined.end(), longer));
    joined = {longer, joined.size() + text.size()};
  }
  *out = Value::Text(ValueType::kString, joined);
  return true;
}

}  // namespace weir::operators::expression
