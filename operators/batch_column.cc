#include "operators/batch_column.h"

#include <algorithm>

namespace weir::operators {

BatchColumn::BatchColumn(std::string text, std::string name) : text_(std::move(text)), name_(std::move(name)) {}

BatchColumn BatchColumn::Named(std::string name) { return BatchColumn(name, name); }

Result<BatchColumn> BatchColumn::Parse(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text));
  if (const auto name = expression.bare_column(); name.has_value()) return BatchColumn(text, std::string(*name));
  BatchColumn column(text, "");
  column.expression_ = std::move(expression);
  return column;
}

void BatchColumn::Evaluate(Batch& batch) {
  if (expression_.has_value()) return EvaluateExpression(batch);
  if (batch.schema() != schema_) {
    schema_ = batch.schema();
    const std::optional<size_t> found = schema_->Find(name_);
    found_ = found.has_value();
    column_ = found.value_or(0);
  }
  values_ = found_ && batch.rows() > 0 ? batch.row(0) + column_ : nullptr;
  stride_ = batch.columns();
}

void BatchColumn::EvaluateExpression(Batch& batch) {
  expression_->Bind(batch.schema(), batch.arena());
  computed_.resize(batch.rows());
  errors_.clear();
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (expression_->Evaluate(batch.row(i), batch.kind(i), &computed_[i])) continue;
    computed_[i] = Value::Null();
    errors_.emplace_back(i, expression_->error());
  }
  values_ = computed_.data();
  stride_ = 1;
}

std::string_view BatchColumn::error(size_t row) const {
  if (errors_.empty()) return {};
  const auto at =
      std::lower_bound(errors_.begin(), errors_.end(), row, [](const auto& e, size_t r) { return e.first < r; });
  return at != errors_.end() && at->first == row ? std::string_view(at->second) : std::string_view();
}

}  // namespace weir::operators
