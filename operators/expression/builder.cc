#include "operators/expression/builder.h"

#include <algorithm>
#include <utility>

#include "operators/expression/conversion.h"
#include "operators/expression/functions.h"
#include "operators/expression/grammar.tab.h"

namespace weir::operators::expression {
namespace {

bool IsNullLiteral(const Node& node) { return node.kind == NodeKind::kLiteral && node.literal.null(); }

bool IsNumberFamily(std::optional<ValueType> type) { return type && FamilyOf(*type) == TypeFamily::kNumber; }

// The type of left op right, if both are known numbers.
std::optional<ValueType> WiderNumber(std::optional<ValueType> left, std::optional<ValueType> right) {
  if (!IsNumberFamily(left) || !IsNumberFamily(right)) return std::nullopt;
  if (*left == ValueType::kDouble || *right == ValueType::kDouble) return ValueType::kDouble;
  return *left == ValueType::kInt64 && *right == ValueType::kInt64 ? ValueType::kInt64 : ValueType::kDecimal;
}

bool DependsOnColumn(const Node& node) {
  return node.kind == NodeKind::kColumn ||
         std::any_of(node.args.begin(), node.args.end(), [](const Node* arg) { return DependsOnColumn(*arg); });
}

}  // namespace

int Builder::NextToken(Semantic* value, Range* range) {
  const Token& token = tokens_[next_];
  if (next_ + 1 < tokens_.size()) ++next_;
  value->text = token.text;
  *range = token.range;
  return token.kind;
}

void Builder::Problem(Range range, std::string_view message) {
  if (!problem_) problem_ = MessageAt(tree_.text, range.begin, message);
}

Node* Builder::NewNode(NodeKind kind, Range range) {
  Node& node = tree_.nodes.emplace_back();
  node.kind = kind;
  node.range = range;
  return &node;
}

Node* Builder::Make(NodeKind kind, Nodes args, Range range) {
  Node* node = NewNode(kind, range);
  uint16_t depth = 0;
  for (const Node* arg : args) depth = std::max(depth, arg->depth);
  node->depth = static_cast<uint16_t>(depth + 1);
  node->args = std::move(args);
  if (node->depth > kDepthMax) {
    Problem(range, "expected at most " + std::to_string(kDepthMax) + " levels of nesting");
    node->args.clear();
    node->kind = NodeKind::kLiteral;
    node->depth = 1;
    return node;
  }
  switch (kind) {
    case NodeKind::kNot:
      RequireBool(node->args[0], "NOT");
      node->type = ValueType::kBool;
      break;
    case NodeKind::kConcat: {
      const auto text = [](const Node* arg) {
        return !arg->type || IsNullLiteral(*arg) || FamilyOf(*arg->type) == TypeFamily::kText;
      };
      if (!text(node->args[0]) && !text(node->args[1])) Problem(range, "expected text on at least one side of ||");
      for (Node* arg : node->args) arg->untyped = false;
      node->type = ValueType::kString;
      break;
    }
    case NodeKind::kIsNull: node->type = ValueType::kBool; break;
    default: break;
  }
  return node;
}

Node* Builder::Negated(NodeKind kind, Nodes args, bool negated, Range range) {
  Node* node = Make(kind, std::move(args), range);
  node->negated = negated;
  return node;
}

Nodes* Builder::List(Nodes nodes) { return &lists_.emplace_back(std::move(nodes)); }

Node* Builder::Parenthesised(Node* node, Range range) {
  node->range = range;
  return node;
}

Node* Builder::Literal(Value value, Range range) {
  Node* node = NewNode(NodeKind::kLiteral, range);
  node->literal = value;
  if (!value.null()) node->type = value.type();
  return node;
}

Node* Builder::String(std::string_view text, Range range) {
  Node* node = Literal(Value::Text(ValueType::kString, text), range);
  node->untyped = true;
  return node;
}

Node* Builder::Number(std::string_view text, Range range) {
  if (const auto decimal = Decimal::Parse(text); decimal.has_value()) {
    const std::string_view digits = text.substr(0, text.find_first_of(".eE"));
    if (digits.size() == text.size()) {
      if (const std::optional<int64_t> integer = NumberAsInt64(text)) return Literal(Value::Int64(*integer), range);
    }
    return Literal(DecimalValue(*decimal, tree_.arena), range);
  }
  // Too long for arithmetic; comparison takes it. JSON's grammar wants digits on both sides of the point.
  std::string normal = text.front() == '.' ? "0" + std::string(text) : std::string(text);
  if (const size_t point = normal.find('.');
      point != std::string::npos &&
      (point + 1 == normal.size() || normal[point + 1] < '0' || normal[point + 1] > '9')) {
    normal.erase(point, 1);
  }
  return Literal(Value::Text(ValueType::kDecimal, tree_.arena.Copy(normal)), range);
}

Node* Builder::TypedLiteral(std::string_view type, std::string_view text, Range text_range, Range range) {
  const std::string word = LowerAscii(type);
  ValueType value_type = ValueType::kTimestampTz;
  if (word == "date") value_type = ValueType::kDate;
  if (word == "time") value_type = ValueType::kTime;
  if (word == "timestamp") value_type = ValueType::kTimestamp;
  const Converted value = ReadText(text, value_type, tree_.arena);
  if (!value) Problem(text_range, value.error());
  return Literal(value ? *value : Value::Null(), range);
}

Node* Builder::Column(std::string_view name, Range range) {
  Node* node = NewNode(NodeKind::kColumn, range);
  const auto found = std::find(tree_.columns.begin(), tree_.columns.end(), name);
  node->column = static_cast<uint32_t>(found - tree_.columns.begin());
  if (found == tree_.columns.end()) tree_.columns.emplace_back(name);
  return node;
}

Node* Builder::Member(Node* object, std::string_view name, Range range) {
  Node* node = Make(NodeKind::kMember, {object}, range);
  node->literal = Value::Text(ValueType::kString, name);
  return node;
}

Node* Builder::Plus(Node* operand, Range range) {
  if (operand->untyped || (operand->type && !IsNumberFamily(operand->type))) {
    Problem(range, "expected a number behind +");
  }
  return Make(NodeKind::kArithmetic, {Literal(Value::Int64(0), range), operand}, range);
}

Node* Builder::Negate(Node* operand, Range range) {
  // "-9223372036854775808" is one literal.
  const std::string_view digits = tree_.TextOf(*operand);
  if (operand->kind == NodeKind::kLiteral && IsNumberFamily(operand->type) && !digits.empty() &&
      (digits.front() == '.' || (digits.front() >= '0' && digits.front() <= '9'))) {
    const Value value = operand->literal;
    if (value.type() == ValueType::kInt64 && value.int64_value() >= 0)
      return Literal(Value::Int64(-value.int64_value()), range);
    if (value.type() == ValueType::kDecimal) {
      std::string negative = "-";
      negative.append(value.text());
      const bool integral = digits.find_first_of(".eE") == std::string_view::npos;
      if (const auto integer = NumberAsInt64(negative); integer && integral)
        return Literal(Value::Int64(*integer), range);
      if (const auto decimal = Decimal::Parse(negative); decimal && decimal->sign() == 0) negative.erase(0, 1);
      return Literal(Value::Text(ValueType::kDecimal, tree_.arena.Copy(negative)), range);
    }
  }
  if (operand->untyped) Adopt(operand, ValueType::kDouble);
  if (operand->type && !IsNumberFamily(operand->type)) {
    Problem(range, std::string("expected a number behind -, found ").append(SqlName(*operand->type)));
  }
  Node* node = Make(NodeKind::kNegate, {operand}, range);
  node->type = operand->type;
  return node;
}

Node* Builder::Arithmetic(ArithmeticOp op, Node* left, Node* right, Range range) {
  // Two literals of unknown type have no operator; one takes the other side's type.
  if (left->untyped && right->untyped) Problem(range, "expected a number on one side of this operator");
  if (left->untyped) right->type ? Adopt(left, *right->type) : PrepareForms(left);
  if (right->untyped) left->type ? Adopt(right, *left->type) : PrepareForms(right);
  Node* node = Make(NodeKind::kArithmetic, {left, right}, range);
  node->arithmetic = op;
  node->type = WiderNumber(left->type, right->type);
  for (const Node* side : {left, right}) {
    if (!side->type || side->untyped) continue;
    const TypeFamily family = FamilyOf(*side->type);
    const bool day = family == TypeFamily::kDay && (op == ArithmeticOp::kAdd || op == ArithmeticOp::kSubtract);
    if (op == ArithmeticOp::kModulo && side->type == ValueType::kDouble) {
      Problem(side->range, "double precision has no operator %, cast to numeric");
    }
    if (family != TypeFamily::kNumber && !day) {
      Problem(side->range, std::string("expected a number, found ").append(SqlName(*side->type)));
    }
  }
  return node;
}

Node* Builder::Compare(CompareOp op, Node* left, Node* right, Range range) {
  MatchTypes(left, right, "a comparison", range);
  Node* node = Make(NodeKind::kCompare, {left, right}, range);
  node->compare = op;
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::Distinct(Node* left, Node* right, bool negated, Range range) {
  MatchTypes(left, right, "IS DISTINCT FROM", range);
  Node* node = Negated(NodeKind::kDistinct, {left, right}, negated, range);
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::Logic(NodeKind kind, Node* left, Node* right, Range range) {
  const std::string_view word = kind == NodeKind::kAnd ? "AND" : "OR";
  RequireBool(right, word);
  // A chain is one flat node, so that its length is no depth.
  if (left->kind == kind) {
    left->args.push_back(right);
    left->depth = std::max(left->depth, static_cast<uint16_t>(right->depth + 1));
    left->range = range;
    return left;
  }
  RequireBool(left, word);
  Node* node = Make(kind, {left, right}, range);
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::IsTruth(Node* operand, Value truth, bool negated, Range range) {
  RequireBool(operand, "IS TRUE, FALSE or UNKNOWN");
  Node* node = Negated(NodeKind::kIsTruth, {operand}, negated, range);
  node->literal = truth;
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::Like(Nodes args, bool ignore_case, bool negated, Range range) {
  for (Node* arg : args) RequireText(arg, "LIKE");
  if (args.size() == 3 && args[2]->kind == NodeKind::kLiteral && !args[2]->literal.null() &&
      CountCharacters(args[2]->literal.text()) > 1) {
    Problem(args[2]->range, "expected an escape of one character or none");
  }
  Node* node = Negated(NodeKind::kLike, std::move(args), negated, range);
  node->flag = ignore_case;
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::Between(Node* value, Node* low, Node* high, bool negated, Range range) {
  MatchTypes(value, low, "BETWEEN", range);
  MatchTypes(value, high, "BETWEEN", range);
  Node* node = Negated(NodeKind::kBetween, {value, low, high}, negated, range);
  node->type = ValueType::kBool;
  return node;
}

Node* Builder::BetweenSymmetric(Node* value, Node* low, Node* high, bool negated, Range range) {
  Node* upward = Between(value, low, high, false, range);
  Node* downward = Between(value, high, low, false, range);
  Node* either = Make(NodeKind::kOr, {upward, downward}, range);
  either->type = ValueType::kBool;
  return negated ? Make(NodeKind::kNot, {either}, range) : either;
}

Node* Builder::In(Node* value, const Nodes* list, bool negated, Range range) {
  Nodes args{value};
  for (Node* entry : *list) {
    MatchTypes(value, entry, "IN", range);
    args.push_back(entry);
  }
  // As PostgreSQL: two or more entries without a column are looked at before the others, which then may not be
  // evaluated.
  const auto constant = [](const Node* entry) { return !DependsOnColumn(*entry); };
  if (std::count_if(args.begin() + 1, args.end(), constant) > 1)
    std::stable_partition(args.begin() + 1, args.end(), constant);
  Node* node = Negated(NodeKind::kIn, std::move(args), negated, range);
  node->type = ValueType::kBool;
  return node;
}

}  // namespace weir::operators::expression
