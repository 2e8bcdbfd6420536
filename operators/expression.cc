#include "operators/expression.h"

#include <utility>

#include "operators/expression/ast.h"
#include "operators/expression/evaluate.h"
#include "operators/expression/parse.h"

namespace weir::operators {

struct Expression::State {
  explicit State(std::unique_ptr<expression::Tree> parsed) : tree(std::move(parsed)), evaluator(*tree) {}

  std::unique_ptr<expression::Tree> tree;
  expression::Evaluator evaluator;
};

Result<Expression> Expression::Parse(std::string_view text) {
  if (text.size() > kTextBytesMax) {
    return Error(Status::InvalidArgument("expected an expression of at most 64 KiB, found " +
                                         std::to_string(text.size()) + " bytes"));
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<expression::Tree> tree, expression::ParseTree(text));
  return Expression(std::make_unique<State>(std::move(tree)));
}

Expression::Expression(std::unique_ptr<State> state) : state_(std::move(state)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

const std::string& Expression::text() const { return state_->tree->text; }
const std::vector<std::string>& Expression::columns() const { return state_->tree->columns; }
std::optional<ValueType> Expression::type() const { return state_->tree->root->type; }

std::optional<std::string_view> Expression::bare_column() const {
  const expression::Node& root = *state_->tree->root;
  if (root.kind != expression::NodeKind::kColumn) return std::nullopt;
  return state_->tree->columns[root.column];
}

void Expression::Bind(const SchemaPtr& schema, Arena& arena) { state_->evaluator.Bind(schema, arena); }
bool Expression::Evaluate(const Value* row, RowKind kind, Value* out) {
  return state_->evaluator.Evaluate(row, kind, out);
}
const std::string& Expression::error() const { return state_->evaluator.error(); }

Status Expression::Evaluate(const Batch& batch, Arena& arena, Value* out, size_t stride) {
  Bind(batch.schema(), arena);
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (!Evaluate(batch.row(i), batch.kind(i), out + i * stride)) return Status::InvalidArgument(error());
  }
  return Status::Ok();
}

std::optional<std::string> ExpressionProblem(std::string_view text) {
  const Result<Expression> parsed = Expression::Parse(text);
  if (parsed.has_value()) return std::nullopt;
  return parsed.error().message();
}

}  // namespace weir::operators
