// One value a row: a column by its name, or an expression over the row's columns. For operators whose options name what
// they work on. One instance belongs to one task.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/expression.h"

namespace weir::operators {

class BatchColumn {
 public:
  // An expression, which may be just a column. InvalidArgument with the reason if it is none.
  static Result<BatchColumn> Parse(const std::string& text);
  // The column of that name, whatever its letters.
  static BatchColumn Named(std::string name);

  const std::string& text() const { return text_; }
  // Computes the values of all rows of `batch`; they live as long as the batch, and until the next Evaluate.
  void Evaluate(Batch& batch);
  // Of the batch of the last Evaluate. Absent if the rows have no such column.
  const Value& at(size_t row) const { return values_ == nullptr ? absent_ : values_[row * stride_]; }
  // Why the expression has no value for that row; empty: it has one.
  std::string_view error(size_t row) const;

 private:
  BatchColumn(std::string text, std::string name);
  void EvaluateExpression(Batch& batch);

  std::string text_;
  std::string name_;                      // of the column
  std::optional<Expression> expression_;  // none: a column
  std::vector<Value> computed_;
  std::vector<std::pair<size_t, std::string>> errors_;  // rows rise
  SchemaPtr schema_;                                    // for which column_ was found
  size_t column_ = 0;
  bool found_ = false;
  const Value* values_ = nullptr;
  size_t stride_ = 1;
  Value absent_;
};

}  // namespace weir::operators
