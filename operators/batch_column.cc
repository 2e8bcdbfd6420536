#include "operators/batch_column.h"

#include <algorithm>
#include <utility>

namespace weir::operators {
namespace {

bool IsColumnName(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&letter](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

struct BatchColumn::Expression {};

BatchColumn::BatchColumn(std::string text) : text_(std::move(text)) {}
BatchColumn::BatchColumn(BatchColumn&&) noexcept = default;
BatchColumn& BatchColumn::operator=(BatchColumn&&) noexcept = default;
BatchColumn::~BatchColumn() = default;

BatchColumn BatchColumn::Named(std::string name) { return BatchColumn(std::move(name)); }

Result<BatchColumn> BatchColumn::Parse(const std::string& text) {
  BatchColumn column(text);
  if (IsColumnName(text)) return column;
  return Error(Status::InvalidArgument("no expression yet"));
}

void BatchColumn::Evaluate(Batch& batch) {
  if (batch.schema() != schema_) {
    schema_ = batch.schema();
    const std::optional<size_t> found = schema_->Find(text_);
    found_ = found.has_value();
    column_ = found.value_or(0);
  }
  values_ = found_ && batch.rows() > 0 ? batch.row(0) + column_ : nullptr;
  stride_ = batch.columns();
}

std::string_view BatchColumn::error(size_t) const { return {}; }

}  // namespace weir::operators
