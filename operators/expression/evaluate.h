// Walks an expression's tree for one row after another. An Evaluator belongs to one thread. Bind it to the batch's
// schema and arena, then evaluate rows; texts that are made go to the arena. A failure is kept as a sentence (error())
// that names the place in the expression and the types that were met.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/batch.h"
#include "operators/decimal.h"
#include "operators/expression/ast.h"
#include "operators/expression/functions.h"
#include "operators/expression/json_member.h"
#include "operators/schema.h"

namespace weir::operators::expression {

class Evaluator {
 public:
  explicit Evaluator(const Tree& tree) : tree_(&tree) {}

  // Looks the columns up; cheap for the schema of the call before.
  void Bind(const SchemaPtr& schema, Arena& arena);
  // False: error() says why. `row` has the bound schema's values.
  bool Evaluate(const Value* row, RowKind kind, Value* out) {
    row_ = row;
    kind_ = kind;
    return Eval(*tree_->root, out);
  }
  const std::string& error() const { return error_; }

  // For functions.
  bool Fail(const Node& node, std::string_view message);
  bool FailType(const Node& node, std::string_view what, const Value& value);
  bool FailDecimal(const Node& node, DecimalError error) { return Fail(node, DecimalErrorText(error)); }
  bool Eval(const Node& node, Value* out);
  Arena& arena() { return *arena_; }
  RowKind row_kind() const { return kind_; }
  bool Number(const Call& call, size_t index, std::string_view what);  // fails if args[index] is none

 private:
  // The operand's value: in the row, in the tree, or evaluated into `scratch`. Null: failed.
  const Value* Operand(const Node& node, Value* scratch) {
    if (node.kind == NodeKind::kLiteral) return &node.literal;
    if (node.kind != NodeKind::kColumn) return Eval(node, scratch) ? scratch : nullptr;
    const int32_t index = index_[node.column];
    return index < 0 ? &missing_ : row_ + index;
  }
  bool EvalLogic(const Node& node, Value* out);
  bool EvalNot(const Node& node, Value* out);
  bool EvalCompare(const Node& node, Value* out);
  bool EvalDistinct(const Node& node, Value* out);
  bool EvalIsTruth(const Node& node, Value* out);
  bool EvalBetween(const Node& node, Value* out);
  bool EvalIn(const Node& node, Value* out);
  bool EvalLike(const Node& node, Value* out);
  bool EvalArithmetic(const Node& node, Value* out);
  bool EvalNegate(const Node& node, Value* out);
  bool EvalConcat(const Node& node, Value* out);
  bool EvalConcatFunction(const Node& node, Value* out);
  bool EvalCase(const Node& node, Value* out);
  bool EvalCoalesce(const Node& node, Value* out);
  bool EvalNullIf(const Node& node, Value* out);
  bool EvalExtreme(const Node& node, Value* out);
  bool EvalCast(const Node& node, Value* out);
  bool EvalTimePart(const Node& node, Value* out);
  bool EvalFunction(const Node& node, Value* out);
  bool EvalMember(const Node& node, Value* out);

  // TRUE, FALSE or NULL as kBool or kNull; fails for other types.
  bool Truth(const Node& node, Value* out);
  // Neither may be missing. Literals of unknown type take the other's type.
  bool Order(const Node& left, const Value& left_value, const Node& right, const Value& right_value, int* order);
  bool OrderTyped(const Node& left, const Value& a, const Node& right, const Value& b, int* order);
  // The form that a literal of unknown type takes next to `other`; false: it doesn't read as that.
  bool TakeForm(const Node& literal, const Value& other, Value* value);
  bool AddDays(const Node& node, const Value& a, const Value& b, Value* out);
  bool DoubleArithmetic(const Node& node, double a, double b, Value* out);
  bool IntegerArithmetic(const Node& node, int64_t a, int64_t b, Value* out);
  bool DecimalArithmetic(const Node& node, const Value& a, const Value& b, Value* out);

  const Value missing_{};  // what a column is that the schema lacks
  const Tree* tree_;
  SchemaPtr schema_;
  std::vector<int32_t> index_;  // by tree column; -1: the schema lacks it
  Arena* arena_ = nullptr;
  const Value* row_ = nullptr;
  RowKind kind_ = RowKind::kInsert;
  JsonReader json_;
  std::string error_;
};

// Wildcards % and _; `escape` empty: no escape character. False: the pattern ends in its escape.
bool MatchLike(std::string_view text, std::string_view pattern, std::string_view escape, bool ignore_case,
               bool* matches);

}  // namespace weir::operators::expression
