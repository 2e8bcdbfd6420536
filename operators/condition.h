// An SQL condition over a row's columns: an expression that is true or false. For the options `where` and `when`. One
// instance belongs to one task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/expression.h"
#include "operators/options.h"

namespace weir::operators {

class Condition {
 public:
  // InvalidArgument with the reason if the text is no expression or one that is never true or false.
  static Result<Condition> Parse(const std::string& text);

  // As Expression::Bind: for the rows of that schema from here on.
  void Bind(const SchemaPtr& schema, Arena& arena) { expression_.Bind(schema, arena); }
  // NULL is kFalse, as in SQL's WHERE. kError: error() says why there is no answer.
  enum class Verdict : uint8_t { kFalse, kTrue, kError };
  Verdict Of(const Batch& batch, size_t row);
  const std::string& error() const { return error_; }

 private:
  explicit Condition(Expression expression) : expression_(std::move(expression)) {}

  Expression expression_;
  std::string error_;
};

// Adds what is wrong with the option of that name, if it is given.
void CheckCondition(const Options& options, std::string_view name, Problems& problems);
// The option's condition, if it is given.
Result<std::optional<Condition>> ConditionOf(const Options& options, std::string_view name);

}  // namespace weir::operators
