// The tree of an expression: what the parser builds and the evaluator walks. Nodes live in a Tree and point to each
// other and into the tree's text. Made by one thread at Parse; afterwards read only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/batch.h"
#include "operators/temporal.h"
#include "operators/value.h"

namespace weir::operators::expression {

// Bytes [begin, end) of the text.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

enum class NodeKind : uint8_t {
  kLiteral,
  kColumn,
  kMember,  // args[0] is the object; literal holds the member's name
  kAnd,     // any number of args
  kOr,
  kNot,
  kCompare,     // args: left, right
  kDistinct,    // IS DISTINCT FROM; negated: IS NOT
  kIsNull,      // negated: IS NOT NULL
  kIsTruth,     // IS [NOT] TRUE, FALSE or UNKNOWN: literal holds what is asked for
  kBetween,     // args: value, low, high
  kIn,          // args: value, then the list
  kLike,        // args: value, pattern [, escape]; flag: ILIKE
  kArithmetic,  // args: left, right
  kNegate,
  kConcat,  // ||
  kCase,    // args: condition, result, condition, result, ..., else
  kCoalesce,
  kNullIf,
  kGreatest,
  kLeast,
  kCast,
  kExtract,    // field
  kDateTrunc,  // field
  kFunction,   // function
};

enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
enum class ArithmeticOp : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kModulo };

// A type as it was written: int4 and int8 are both kInt64, with different bounds.
struct TypeSpec {
  ValueType type = ValueType::kString;
  int64_t integer_min = INT64_MIN;
  int64_t integer_max = INT64_MAX;
  int precision = 0;  // numeric(precision, scale); 0: not given
  int scale = 0;
  int length = 0;    // varchar(length); 0: not given
  std::string name;  // PostgreSQL's, for errors: "bigint"
};

// What a string literal is next to a value of another type, as PostgreSQL's literals of unknown type. Read once.
struct LiteralForms {
  std::optional<Value> number;
  std::optional<Value> boolean;
  std::optional<Value> date;
  std::optional<Value> time;
  std::optional<Value> timestamp;
  std::optional<Value> timestamp_tz;
};

struct Function;

struct Node {
  NodeKind kind = NodeKind::kLiteral;
  CompareOp compare = CompareOp::kEqual;
  ArithmeticOp arithmetic = ArithmeticOp::kAdd;
  TimeField field = TimeField::kEpoch;
  bool negated = false;
  bool flag = false;
  uint16_t depth = 1;
  uint32_t column = 0;  // index into Tree::columns
  Value literal;
  std::vector<Node*> args;
  // Known without any row; nothing for a column and what depends on one.
  std::optional<ValueType> type;
  // A string literal that has no type of its own yet.
  bool untyped = false;
  const LiteralForms* forms = nullptr;
  const TypeSpec* cast = nullptr;
  const Function* function = nullptr;
  Range range;
};

struct Tree {
  std::string text;  // the expression; nodes' ranges count in it
  std::vector<std::string> columns;
  const Node* root = nullptr;

  std::deque<Node> nodes;
  std::deque<LiteralForms> forms;
  std::deque<TypeSpec> types;
  Arena arena{256};  // literals' text

  std::string_view TextOf(const Node& node) const {
    return std::string_view(text).substr(node.range.begin, node.range.end - node.range.begin);
  }
};

}  // namespace weir::operators::expression
