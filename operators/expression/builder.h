// Makes an expression's nodes for the grammar and checks what is known without a row: names and numbers of arguments,
// types of literals and casts, literals that don't read as the type they stand next to. Used by Parse only, one thread.
// After a problem it goes on with placeholder nodes; the first problem wins.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/expression/ast.h"
#include "operators/expression/lexer.h"

namespace weir::operators::expression {

using Nodes = std::vector<Node*>;

// What the grammar's symbols carry; each symbol uses one member.
struct Semantic {
  std::string_view text;
  Node* node = nullptr;
  Nodes* nodes = nullptr;
  const TypeSpec* spec = nullptr;
};

class Builder {
 public:
  static constexpr uint16_t kDepthMax = 500;

  Builder(Tree& tree, std::vector<Token> tokens) : tree_(tree), tokens_(std::move(tokens)) {}

  int NextToken(Semantic* value, Range* range);
  void Finish(Node* root) { tree_.root = root; }
  void Problem(Range range, std::string_view message);
  const std::optional<std::string>& problem() const { return problem_; }
  std::string_view text() const { return tree_.text; }

  Node* Make(NodeKind kind, Nodes args, Range range);
  Node* Negated(NodeKind kind, Nodes args, bool negated, Range range);
  Nodes* List(Nodes nodes);
  Node* Parenthesised(Node* node, Range range);

  Node* Literal(Value value, Range range);
  Node* String(std::string_view text, Range range);
  Node* Number(std::string_view text, Range range);
  Node* TypedLiteral(std::string_view type, std::string_view text, Range text_range, Range range);
  Node* Column(std::string_view name, Range range);
  Node* Member(Node* object, std::string_view name, Range range);

  Node* Plus(Node* operand, Range range);
  Node* Negate(Node* operand, Range range);
  Node* Arithmetic(ArithmeticOp op, Node* left, Node* right, Range range);
  Node* Compare(CompareOp op, Node* left, Node* right, Range range);
  Node* Distinct(Node* left, Node* right, bool negated, Range range);
  Node* Logic(NodeKind kind, Node* left, Node* right, Range range);
  Node* IsTruth(Node* operand, Value truth, bool negated, Range range);
  Node* Like(Nodes args, bool ignore_case, bool negated, Range range);
  Node* Between(Node* value, Node* low, Node* high, bool negated, Range range);
  Node* BetweenSymmetric(Node* value, Node* low, Node* high, bool negated, Range range);
  Node* In(Node* value, const Nodes* list, bool negated, Range range);

  Node* Case(Node* operand, Nodes* cases, Node* otherwise, Range range);
  Node* Unified(NodeKind kind, Nodes args, Range range);
  Node* NullIf(Node* left, Node* right, Range range);
  Node* Function(std::string_view name, Range name_range, Nodes args, Range range);
  Node* SubstringFor(Node* text, Node* length, Range name_range, Range range);
  Node* TimePart(NodeKind kind, std::string_view field, Range field_range, Node* operand, Range range);

  std::string_view Join(std::string_view first, std::string_view second);
  const TypeSpec* Type(std::string_view words, const std::vector<std::string_view>& modifiers, Range range);
  Node* Cast(Node* operand, const TypeSpec* spec, Range range);

 private:
  Node* NewNode(NodeKind kind, Range range);
  Node* CastTo(Node* operand, ValueType type);
  // A string literal next to `type` becomes a literal of it.
  void Adopt(Node* literal, ValueType type);
  void PrepareForms(Node* literal);
  // Both sides of a comparison: adopts literals, checks types that are known.
  void MatchTypes(Node* left, Node* right, std::string_view what, Range range);
  void RequireBool(Node* operand, std::string_view what);
  void RequireText(Node* operand, std::string_view what);
  // The common type of alternatives, brought about by casts where all types are known.
  std::optional<ValueType> Unify(Nodes& alternatives, std::string_view what);

  Tree& tree_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  std::deque<Nodes> lists_;
  std::optional<std::string> problem_;
};

}  // namespace weir::operators::expression
