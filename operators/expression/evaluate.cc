#include "operators/expression/evaluate.h"

#include <array>

#include "operators/expression/conversion.h"
#include "operators/expression/lexer.h"

namespace weir::operators::expression {
namespace {

bool Satisfies(CompareOp op, int order) {
  switch (op) {
    case CompareOp::kEqual: return order == 0;
    case CompareOp::kNotEqual: return order != 0;
    case CompareOp::kLess: return order < 0;
    case CompareOp::kLessEqual: return order <= 0;
    case CompareOp::kGreater: return order > 0;
    case CompareOp::kGreaterEqual: return order >= 0;
  }
  return false;
}

}  // namespace

void Evaluator::Bind(const SchemaPtr& schema, Arena& arena) {
  arena_ = &arena;
  if (schema_ == schema) return;
  schema_ = schema;
  index_.clear();
  for (const std::string& column : tree_->columns) {
    const std::optional<size_t> found = schema->Find(column);
    index_.push_back(found ? static_cast<int32_t>(*found) : -1);
  }
}

bool Evaluator::Fail(const Node& node, std::string_view message) {
  constexpr size_t kShown = 200;
  const std::string_view slice = tree_->TextOf(node);
  const size_t column = CountCharacters(std::string_view(tree_->text).substr(0, node.range.begin)) + 1;
  error_ = "column " + std::to_string(column) + ": ";
  error_.append(message).append(", in: ").append(slice.substr(0, CharacterOffset(slice, kShown)));
  if (slice.size() > kShown) error_.append("...");
  return false;
}

bool Evaluator::FailType(const Node& node, std::string_view what, const Value& value) {
  return Fail(node, std::string("expected ").append(what).append(", found ").append(SqlName(value.type())));
}

bool Evaluator::Eval(const Node& node, Value* out) {
  switch (node.kind) {
    case NodeKind::kLiteral: *out = node.literal; return true;
    case NodeKind::kColumn: *out = *Operand(node, out); return true;
    case NodeKind::kMember: return EvalMember(node, out);
    case NodeKind::kAnd:
    case NodeKind::kOr: return EvalLogic(node, out);
    case NodeKind::kNot: return EvalNot(node, out);
    case NodeKind::kCompare: return EvalCompare(node, out);
    case NodeKind::kDistinct: return EvalDistinct(node, out);
    case NodeKind::kIsNull: {
      Value scratch;
      const Value* value = Operand(*node.args[0], &scratch);
      if (value == nullptr) return false;
      *out = Value::Bool(value->missing() != node.negated);
      return true;
    }
    case NodeKind::kIsTruth: return EvalIsTruth(node, out);
    case NodeKind::kBetween: return EvalBetween(node, out);
    case NodeKind::kIn: return EvalIn(node, out);
    case NodeKind::kLike: return EvalLike(node, out);
    case NodeKind::kArithmetic: return EvalArithmetic(node, out);
    case NodeKind::kNegate: return EvalNegate(node, out);
    case NodeKind::kConcat: return EvalConcat(node, out);
    case NodeKind::kCase: return EvalCase(node, out);
    case NodeKind::kCoalesce: return EvalCoalesce(node, out);
    case NodeKind::kNullIf: return EvalNullIf(node, out);
    case NodeKind::kGreatest:
    case NodeKind::kLeast: return EvalExtreme(node, out);
    case NodeKind::kCast: return EvalCast(node, out);
    case NodeKind::kExtract:
    case NodeKind::kDateTrunc: return EvalTimePart(node, out);
    case NodeKind::kFunction: return EvalFunction(node, out);
  }
  return false;
}

bool Evaluator::Truth(const Node& node, Value* out) {
  Value scratch;
  const Value* value = Operand(node, &scratch);
  if (value == nullptr) return false;
  if (value->missing()) {
    *out = Value::Null();
    return true;
  }
  if (value->type() != ValueType::kBool) return FailType(node, "a boolean", *value);
  *out = *value;
  return true;
}

bool Evaluator::EvalLogic(const Node& node, Value* out) {
  const bool decisive = node.kind == NodeKind::kOr;  // TRUE decides an OR, FALSE an AND
  bool null = false;
  for (const Node* arg : node.args) {
    Value value;
    if (!Truth(*arg, &value)) return false;
    if (value.null()) {
      null = true;
    } else if (value.bool_value() == decisive) {
      *out = value;
      return true;
    }
  }
  *out = null ? Value::Null() : Value::Bool(!decisive);
  return true;
}

bool Evaluator::EvalNot(const Node& node, Value* out) {
  if (!Truth(*node.args[0], out)) return false;
  if (!out->null()) *out = Value::Bool(!out->bool_value());
  return true;
}

bool Evaluator::EvalIsTruth(const Node& node, Value* out) {
  Value value;
  if (!Truth(*node.args[0], &value)) return false;
  const bool same =
      value.null() == node.literal.null() && (value.null() || value.bool_value() == node.literal.bool_value());
  *out = Value::Bool(same != node.negated);
  return true;
}

bool Evaluator::EvalCompare(const Node& node, Value* out) {
  Value left_scratch;
  Value right_scratch;
  const Value* left = Operand(*node.args[0], &left_scratch);
  if (left == nullptr) return false;
  const Value* right = Operand(*node.args[1], &right_scratch);
  if (right == nullptr) return false;
  if (left->missing() || right->missing()) {
    *out = Value::Null();
    return true;
  }
  int order = 0;
  if (!Order(*node.args[0], *left, *node.args[1], *right, &order)) return false;
  *out = Value::Bool(Satisfies(node.compare, order));
  return true;
}

bool Evaluator::EvalDistinct(const Node& node, Value* out) {
  Value left;
  Value right;
  if (!Eval(*node.args[0], &left) || !Eval(*node.args[1], &right)) return false;
  bool distinct = left.missing() != right.missing();
  if (!left.missing() && !right.missing()) {
    int order = 0;
    if (!Order(*node.args[0], left, *node.args[1], right, &order)) return false;
    distinct = order != 0;
  }
  *out = Value::Bool(distinct != node.negated);
  return true;
}

// value >= low AND value <= high, with the second half only where the first is not FALSE; NOT BETWEEN is its OR.
bool Evaluator::EvalBetween(const Node& node, Value* out) {
  Value value;
  if (!Eval(*node.args[0], &value)) return false;
  bool null = false;
  for (size_t side = 1; side <= 2; ++side) {
    Value bound;
    if (!Eval(*node.args[side], &bound)) return false;
    if (value.missing() || bound.missing()) {
      null = true;
      continue;
    }
    int order = 0;
    if (!Order(*node.args[0], value, *node.args[side], bound, &order)) return false;
    const bool outside = side == 1 ? order < 0 : order > 0;
    if (outside) {
      *out = Value::Bool(node.negated);
      return true;
    }
  }
  *out = null ? Value::Null() : Value::Bool(!node.negated);
  return true;
}

bool Evaluator::EvalIn(const Node& node, Value* out) {
  Value value_scratch;
  const Value* value = Operand(*node.args[0], &value_scratch);
  if (value == nullptr) return false;
  bool null = false;
  for (size_t i = 1; i < node.args.size(); ++i) {
    Value scratch;
    const Value* entry = Operand(*node.args[i], &scratch);
    if (entry == nullptr) return false;
    if (value->missing() || entry->missing()) {
      null = true;
      continue;
    }
    int order = 0;
    if (!Order(*node.args[0], *value, *node.args[i], *entry, &order)) return false;
    if (order == 0) {
      *out = Value::Bool(!node.negated);
      return true;
    }
  }
  *out = null ? Value::Null() : Value::Bool(node.negated);
  return true;
}

bool Evaluator::EvalLike(const Node& node, Value* out) {
  std::array<Value, 3> args;
  bool null = false;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!Eval(*node.args[i], &args[i])) return false;
    null = null || args[i].missing();
    if (!args[i].missing() && args[i].type() != ValueType::kString)
      return FailType(*node.args[i], "text for LIKE", args[i]);
  }
  if (null) {
    *out = Value::Null();
    return true;
  }
  const std::string_view escape = node.args.size() == 3 ? args[2].text() : "\\";
  if (CountCharacters(escape) > 1) return Fail(*node.args[2], "expected an escape of one character or none");
  bool matches = false;
  if (!MatchLike(args[0].text(), args[1].text(), escape, node.flag, &matches)) {
    return Fail(*node.args[1], "a LIKE pattern must not end with its escape character");
  }
  *out = Value::Bool(matches != node.negated);
  return true;
}

bool Evaluator::EvalCase(const Node& node, Value* out) {
  size_t i = 0;
  for (; i + 1 < node.args.size(); i += 2) {
    Value condition;
    if (!Truth(*node.args[i], &condition)) return false;
    if (!condition.null() && condition.bool_value()) return Eval(*node.args[i + 1], out);
  }
  return Eval(*node.args[i], out);
}

bool Evaluator::EvalCoalesce(const Node& node, Value* out) {
  for (const Node* arg : node.args) {
    if (!Eval(*arg, out)) return false;
    if (!out->missing()) return true;
  }
  *out = Value::Null();
  return true;
}

bool Evaluator::EvalNullIf(const Node& node, Value* out) {
  Value right;
  if (!Eval(*node.args[0], out) || !Eval(*node.args[1], &right)) return false;
  if (out->missing() || right.missing()) return true;
  int order = 0;
  if (!Order(*node.args[0], *out, *node.args[1], right, &order)) return false;
  if (order == 0) *out = Value::Null();
  return true;
}

bool Evaluator::EvalExtreme(const Node& node, Value* out) {
  const int wanted = node.kind == NodeKind::kGreatest ? 1 : -1;
  const Node* best = nullptr;
  *out = Value::Null();
  for (const Node* arg : node.args) {
    Value value;
    if (!Eval(*arg, &value)) return false;
    if (value.missing()) continue;
    int order = wanted;
    if (best != nullptr && !Order(*arg, value, *best, *out, &order)) return false;
    if (order != wanted) continue;
    best = arg;
    *out = value;
  }
  return true;
}

bool Evaluator::EvalCast(const Node& node, Value* out) {
  Value value;
  if (!Eval(*node.args[0], &value)) return false;
  Converted converted = CastValue(value, *node.cast, *arena_);
  if (!converted) return Fail(node, converted.error());
  *out = *converted;
  return true;
}

bool Evaluator::EvalTimePart(const Node& node, Value* out) {
  Value value;
  if (!Eval(*node.args[0], &value)) return false;
  *out = Value::Null();
  if (value.missing()) return true;
  if (FamilyOf(value.type()) != TypeFamily::kDay) return FailType(*node.args[0], "a date or timestamp", value);
  if (node.kind == NodeKind::kExtract) {
    const std::optional<FieldValue> field = ExtractField(node.field, value.type(), value.int64_value());
    if (!field) return Fail(node, "a date has no such field");
    *out = DecimalValue(Decimal::FromUnscaled(field->unscaled, field->scale), *arena_);
    return true;
  }
  // A date is truncated as a timestamp with time zone, as PostgreSQL does.
  ValueType type = value.type();
  if (type == ValueType::kDate) {
    TypeSpec spec;
    spec.type = type = ValueType::kTimestampTz;
    const Converted converted = CastValue(value, spec, *arena_);
    if (!converted) return Fail(node, converted.error());
    value = *converted;
  }
  const std::optional<int64_t> truncated = TruncateTimestamp(node.field, value.int64_value());
  if (!truncated || !IsTimestampInRange(*truncated)) return Fail(node, "timestamp out of range");
  *out = Value::Temporal(type, *truncated);
  return true;
}

bool Evaluator::EvalFunction(const Node& node, Value* out) {
  if (node.function->evaluate == nullptr) return EvalConcatFunction(node, out);
  std::array<Value, kArgumentsMax> args;
  bool null = false;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!Eval(*node.args[i], &args[i])) return false;
    null = null || args[i].missing();
  }
  *out = Value::Null();
  if (null) return true;
  return node.function->evaluate({*this, node, std::span<const Value>(args).first(node.args.size())}, out);
}

bool Evaluator::EvalMember(const Node& node, Value* out) {
  Value object_scratch;
  const Value* object = Operand(*node.args[0], &object_scratch);
  if (object == nullptr) return false;
  if (object->missing()) {
    *out = Value::Null();
    return true;
  }
  if (object->type() != ValueType::kJson) {
    return FailType(node, std::string("a JSON object with the member \"").append(node.literal.text()).append("\""),
                    *object);
  }
  const std::string_view json = object->text();
  switch (json_.Read(json, node.literal.text(), *arena_, out)) {
    case JsonReader::Outcome::kFound: return true;
    case JsonReader::Outcome::kAbsent: *out = Value::Absent(); return true;
    case JsonReader::Outcome::kNotAnObject:
      *out = Value::Absent();
      if (json.find("null") != std::string_view::npos && json.size() < 16) return true;
      return Fail(node, std::string("expected a JSON object with the member \"")
                            .append(node.literal.text())
                            .append("\", found another JSON value"));
    case JsonReader::Outcome::kBroken: return Fail(node, "expected JSON, found text that is broken");
  }
  return false;
}

}  // namespace weir::operators::expression
