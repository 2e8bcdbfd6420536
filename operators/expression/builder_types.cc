// Types as far as they are known without a row, alternatives, functions and casts.
#include <algorithm>
#include <array>
#include <charconv>

#include "operators/expression/builder.h"
#include "operators/expression/conversion.h"
#include "operators/expression/functions.h"

namespace weir::operators::expression {
namespace {

bool IsNull(const Node& node) { return node.kind == NodeKind::kLiteral && node.literal.null(); }

std::string NamesOf(ValueType a, ValueType b) {
  std::string names(SqlName(a));
  return names.append(" and ").append(SqlName(b));
}

struct TypeName {
  std::string_view words;
  ValueType type;
  std::string_view name;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};
constexpr auto kTypeNames = std::to_array<TypeName>({
    {"bool", ValueType::kBool, "boolean"},
    {"boolean", ValueType::kBool, "boolean"},
    {"smallint", ValueType::kInt64, "smallint", INT16_MIN, INT16_MAX},
    {"int2", ValueType::kInt64, "smallint", INT16_MIN, INT16_MAX},
    {"int", ValueType::kInt64, "integer", INT32_MIN, INT32_MAX},
    {"int4", ValueType::kInt64, "integer", INT32_MIN, INT32_MAX},
    {"integer", ValueType::kInt64, "integer", INT32_MIN, INT32_MAX},
    {"bigint", ValueType::kInt64, "bigint"},
    {"int8", ValueType::kInt64, "bigint"},
    {"int64", ValueType::kInt64, "bigint"},
    {"numeric", ValueType::kDecimal, "numeric"},
    {"decimal", ValueType::kDecimal, "numeric"},
    {"dec", ValueType::kDecimal, "numeric"},
    {"double precision", ValueType::kDouble, "double precision"},
    {"float8", ValueType::kDouble, "double precision"},
    {"float", ValueType::kDouble, "double precision"},
    {"double", ValueType::kDouble, "double precision"},
    {"text", ValueType::kString, "text"},
    {"string", ValueType::kString, "text"},
    {"varchar", ValueType::kString, "text"},
    {"character varying", ValueType::kString, "text"},
    {"date", ValueType::kDate, "date"},
    {"time", ValueType::kTime, "time"},
    {"time without time zone", ValueType::kTime, "time"},
    {"timestamp", ValueType::kTimestamp, "timestamp"},
    {"timestamp without time zone", ValueType::kTimestamp, "timestamp"},
    {"timestamptz", ValueType::kTimestampTz, "timestamp with time zone"},
    {"timestamp with time zone", ValueType::kTimestampTz, "timestamp with time zone"},
    {"json", ValueType::kJson, "json"},
});

// Functions that have no one answer for a row, with the reason.
struct Refused {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view kClock =
    "() is not available: a replay after a failure must give the same rows, and the clock would not; use a column with "
    "the "
    "event's time";
constexpr std::string_view kChance = "() is not available: a replay after a failure must give the same rows";
constexpr auto kRefused = std::to_array<Refused>({{"now", kClock},
                                                  {"clock_timestamp", kClock},
                                                  {"statement_timestamp", kClock},
                                                  {"transaction_timestamp", kClock},
                                                  {"timeofday", kClock},
                                                  {"random", kChance},
                                                  {"gen_random_uuid", kChance}});

// In Unify, types mix if all are numbers or all are days.
std::optional<ValueType> CommonType(ValueType a, ValueType b) {
  if (a == b) return a;
  if (FamilyOf(a) != FamilyOf(b)) return std::nullopt;
  if (FamilyOf(a) == TypeFamily::kNumber) {
    return a == ValueType::kDouble || b == ValueType::kDouble ? ValueType::kDouble : ValueType::kDecimal;
  }
  if (FamilyOf(a) == TypeFamily::kDay) {
    return a == ValueType::kTimestampTz || b == ValueType::kTimestampTz ? ValueType::kTimestampTz
                                                                        : ValueType::kTimestamp;
  }
  return std::nullopt;
}

}  // namespace

Node* Builder::CastTo(Node* operand, ValueType type) {
  TypeSpec& spec = tree_.types.emplace_back();
  spec.type = type;
  spec.name = SqlName(type);
  return Cast(operand, &spec, operand->range);
}

void Builder::Adopt(Node* literal, ValueType type) {
  literal->untyped = false;
  const Converted value = ReadText(literal->literal.text(), type, tree_.arena);
  if (!value) {
    Problem(literal->range, value.error());
    return;
  }
  literal->literal = *value;
  literal->type = type;
}

void Builder::PrepareForms(Node* literal) {
  if (literal->forms != nullptr) return;
  LiteralForms& forms = tree_.forms.emplace_back();
  const std::string_view text = literal->literal.text();
  const auto read = [&](ValueType type) -> std::optional<Value> {
    const Converted value = ReadText(text, type, tree_.arena);
    return value ? std::optional(*value) : std::nullopt;
  };
  forms.number = read(ValueType::kInt64);
  if (!forms.number) forms.number = read(ValueType::kDecimal);
  forms.boolean = read(ValueType::kBool);
  forms.date = read(ValueType::kDate);
  forms.time = read(ValueType::kTime);
  forms.timestamp = read(ValueType::kTimestamp);
  forms.timestamp_tz = read(ValueType::kTimestampTz);
  literal->forms = &forms;
}

void Builder::MatchTypes(Node* left, Node* right, std::string_view what, Range range) {
  if (left->untyped && right->untyped) return;  // both text
  if (left->untyped) right->type ? Adopt(left, *right->type) : PrepareForms(left);
  if (right->untyped) left->type ? Adopt(right, *left->type) : PrepareForms(right);
  for (const Node* side : {left, right}) {
    if (side->type == ValueType::kJson)
      Problem(side->range, "json has no order and no equality; compare its members or cast it to text");
  }
  if (!left->type || !right->type || left->untyped || right->untyped) return;
  if (FamilyOf(*left->type) != FamilyOf(*right->type)) {
    Problem(range, std::string("expected ")
                       .append(what)
                       .append(" of values of one kind, found ")
                       .append(NamesOf(*left->type, *right->type)));
  }
}

void Builder::RequireBool(Node* operand, std::string_view what) {
  if (operand->untyped) Adopt(operand, ValueType::kBool);
  if (operand->type && *operand->type != ValueType::kBool) {
    Problem(operand->range,
            std::string("expected a boolean for ").append(what).append(", found ").append(SqlName(*operand->type)));
  }
}

void Builder::RequireText(Node* operand, std::string_view what) {
  operand->untyped = false;
  if (operand->type && *operand->type != ValueType::kString) {
    Problem(operand->range,
            std::string("expected text for ").append(what).append(", found ").append(SqlName(*operand->type)));
  }
}

std::optional<ValueType> Builder::Unify(Nodes& alternatives, std::string_view what) {
  std::optional<ValueType> common;
  bool open = false;  // a type is only known with a row
  for (const Node* node : alternatives) {
    if (IsNull(*node) || node->untyped) continue;
    if (!node->type) {
      open = true;
      continue;
    }
    const std::optional<ValueType> wider = common ? CommonType(*common, *node->type) : node->type;
    if (!wider) {
      Problem(node->range, std::string("expected ")
                               .append(what)
                               .append(" of values of one kind, found ")
                               .append(NamesOf(*common, *node->type)));
      return std::nullopt;
    }
    common = wider;
  }
  for (Node*& node : alternatives) {
    if (node->untyped && (common || !open)) Adopt(node, common.value_or(ValueType::kString));
    if (!open && common && !IsNull(*node) && node->type != common) node = CastTo(node, *common);
  }
  if (!common && !open) {
    const bool text =
        std::any_of(alternatives.begin(), alternatives.end(), [](const Node* node) { return !IsNull(*node); });
    if (text) common = ValueType::kString;
  }
  return open ? std::nullopt : common;
}

Node* Builder::Case(Node* operand, Nodes* cases, Node* otherwise, Range range) {
  if (otherwise == nullptr) otherwise = Literal(Value::Null(), range);
  Nodes results;
  Nodes args;
  for (size_t i = 0; i + 1 < cases->size(); i += 2) {
    Node* condition = (*cases)[i];
    if (operand != nullptr) {
      condition = Compare(CompareOp::kEqual, operand, condition, condition->range);
    } else {
      RequireBool(condition, "WHEN");
    }
    args.push_back(condition);
    results.push_back((*cases)[i + 1]);
  }
  results.push_back(otherwise);
  const std::optional<ValueType> type = Unify(results, "CASE");
  Nodes merged;
  for (size_t i = 0; i < args.size(); ++i) {
    merged.push_back(args[i]);
    merged.push_back(results[i]);
  }
  merged.push_back(results.back());
  Node* node = Make(NodeKind::kCase, std::move(merged), range);
  node->type = type;
  return node;
}

Node* Builder::Unified(NodeKind kind, Nodes args, Range range) {
  const bool ordered = kind != NodeKind::kCoalesce;
  const std::string_view what =
      kind == NodeKind::kCoalesce ? "COALESCE" : (kind == NodeKind::kGreatest ? "GREATEST" : "LEAST");
  const std::optional<ValueType> type = Unify(args, what);
  for (Node* arg : args) {
    if (ordered && arg->untyped) PrepareForms(arg);
    if (ordered && arg->type == ValueType::kJson) Problem(arg->range, "json has no order");
  }
  Node* node = Make(kind, std::move(args), range);
  node->type = type;
  return node;
}

Node* Builder::NullIf(Node* left, Node* right, Range range) {
  MatchTypes(left, right, "NULLIF", range);
  const std::optional<ValueType> common =
      left->type && right->type ? CommonType(*left->type, *right->type) : std::nullopt;
  if (common && left->type != common) left = CastTo(left, *common);
  Node* node = Make(NodeKind::kNullIf, {left, right}, range);
  node->type = left->type;
  return node;
}

Node* Builder::Function(std::string_view name, Range name_range, Nodes args, Range range) {
  const std::string lower = LowerAscii(name);
  for (const Refused& refused : kRefused) {
    if (refused.name == lower) Problem(name_range, lower + std::string(refused.reason));
  }
  const expression::Function* function = FindFunction(lower);
  if (function == nullptr) {
    std::string message = "there is no function " + lower + "()";
    if (const std::string_view near = SuggestFunction(lower); !near.empty())
      message.append(", did you mean ").append(near).append("()?");
    Problem(name_range, message);
    return Literal(Value::Null(), range);
  }
  if (lower == "date_trunc") {
    if (args.size() == 2 && args[0]->kind == NodeKind::kLiteral && args[0]->type == ValueType::kString) {
      return TimePart(NodeKind::kDateTrunc, args[0]->literal.text(), args[0]->range, args[1], range);
    }
    Problem(range, "expected date_trunc('field', value)");
    return Literal(Value::Null(), range);
  }
  if (args.size() < function->args_min || args.size() > function->args_max) {
    std::string message = "expected " + std::to_string(function->args_min);
    if (function->args_max >= 100)
      message.append(" or more");
    else if (function->args_max != function->args_min)
      message.append(" to ").append(std::to_string(function->args_max));
    Problem(range, message + (function->args_max == 1 ? " argument" : " arguments") + " of " + lower + "(), found " +
                       std::to_string(args.size()));
    return Literal(Value::Null(), range);
  }
  for (Node* arg : args) arg->untyped = false;  // text
  Node* node = Make(NodeKind::kFunction, std::move(args), range);
  node->function = function;
  node->type = function->result;
  return node;
}

Node* Builder::SubstringFor(Node* text, Node* length, Range name_range, Range range) {
  return Function("substring", name_range, {text, Literal(Value::Int64(1), range), length}, range);
}

Node* Builder::TimePart(NodeKind kind, std::string_view field, Range field_range, Node* operand, Range range) {
  const std::optional<TimeField> found = FindTimeField(field);
  const bool known = found && (kind == NodeKind::kExtract || TruncateTimestamp(*found, 0));
  if (!known) {
    Problem(field_range,
            std::string("expected year, month, day, hour, minute, second, ... found \"").append(field).append("\""));
  }
  if (operand->untyped) Adopt(operand, ValueType::kTimestampTz);
  if (operand->type && FamilyOf(*operand->type) != TypeFamily::kDay) {
    Problem(operand->range, std::string("expected a date or timestamp, found ").append(SqlName(*operand->type)));
  }
  if (known && kind == NodeKind::kExtract && operand->type == ValueType::kDate &&
      !ExtractField(*found, ValueType::kDate, 0)) {
    Problem(field_range, "a date has no such field");
  }
  Node* node = Make(kind, {operand}, range);
  node->field = found.value_or(TimeField::kEpoch);
  if (kind == NodeKind::kExtract) node->type = ValueType::kDecimal;
  if (kind == NodeKind::kDateTrunc && operand->type) {
    node->type = operand->type == ValueType::kTimestamp ? ValueType::kTimestamp : ValueType::kTimestampTz;
  }
  return node;
}

std::string_view Builder::Join(std::string_view first, std::string_view second) {
  std::string joined(first);
  return tree_.arena.Copy(joined.append(" ").append(second));
}

const TypeSpec* Builder::Type(std::string_view words, const std::vector<std::string_view>& modifiers, Range range) {
  TypeSpec& spec = tree_.types.emplace_back();
  const std::string lower = LowerAscii(words);
  const auto* found =
      std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](const TypeName& entry) { return entry.words == lower; });
  if (found == kTypeNames.end()) {
    Problem(range,
            "expected bool, bigint, integer, numeric, double precision, text, date, time, timestamp, timestamptz or "
            "json, found \"" +
                lower + "\"");
    return &spec;
  }
  spec.type = found->type;
  spec.name = found->name;
  spec.integer_min = found->min;
  spec.integer_max = found->max;
  std::array<int, 2> numbers{};
  for (size_t i = 0; i < modifiers.size(); ++i) {
    const std::string_view text = modifiers[i];
    const auto end = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size())
      Problem(range, "expected a small integer in the type's parentheses");
  }
  if (modifiers.empty()) return &spec;
  if (spec.type == ValueType::kDecimal) {
    spec.precision = numbers[0];
    spec.scale = numbers[1];
    if (spec.precision < 1 || spec.precision > Decimal::kDigitsMax || spec.scale > spec.precision) {
      Problem(range, "expected numeric(precision, scale) with a precision of 1 to 38 and a scale up to it");
    }
  } else if (spec.type == ValueType::kString && modifiers.size() == 1 && lower != "text" && lower != "string") {
    spec.length = numbers[0];
    if (spec.length < 1) Problem(range, "expected a length of at least 1");
  } else {
    Problem(range, "expected no parentheses after " + spec.name);
  }
  return &spec;
}

Node* Builder::Cast(Node* operand, const TypeSpec* spec, Range range) {
  const bool unknown = operand->untyped;
  operand->untyped = false;
  Node* node = Make(NodeKind::kCast, {operand}, range);
  node->cast = spec;
  node->type = spec->type;
  if (operand->kind == NodeKind::kLiteral && !operand->literal.null() && !problem_) {
    const Converted value = CastValue(operand->literal, *spec, tree_.arena);
    if (!value) {
      // '2024-13-01'::date is wrong as it stands; 100000::smallint only where it is evaluated.
      if (unknown) Problem(operand->range, value.error());
      return node;
    }
    Node* literal = Literal(*value, range);
    literal->type = spec->type;
    return literal;
  }
  return node;
}

}  // namespace weir::operators::expression
