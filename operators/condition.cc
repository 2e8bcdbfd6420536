#include "operators/condition.h"

#include <utility>

#include "operators/raw_value.h"

namespace weir::operators {

Result<Condition> Condition::Parse(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text));
  if (const ValueType type = expression.type().value_or(ValueType::kBool); type != ValueType::kBool) {
    return Error(Status::InvalidArgument(
        std::string("expected a condition that is true or false, found one of type ").append(ValueTypeName(type))));
  }
  return Condition(std::move(expression));
}

Condition::Verdict Condition::Of(const Batch& batch, size_t row) {
  Value value;
  if (!expression_.Evaluate(batch.row(row), batch.kind(row), &value)) [[unlikely]] {
    error_ = expression_.error();
    return Verdict::kError;
  }
  if (value.missing()) return Verdict::kFalse;
  if (value.type() != ValueType::kBool) [[unlikely]] {
    error_ = "column 1: expected a boolean, found ";
    error_.append(ValueTypeName(value.type())).append(", in: ").append(expression_.text());
    return Verdict::kError;
  }
  return value.bool_value() ? Verdict::kTrue : Verdict::kFalse;
}

void CheckCondition(const Options& options, std::string_view name, Problems& problems) {
  if (!options.Has(name)) return;
  const std::string& text = options.String(name);
  if (const auto condition = Condition::Parse(text); !condition.has_value()) {
    problems.push_back({options.PathOf(name), QuotedExcerpt(text), "an SQL condition", condition.error().message()});
  }
}

Result<std::optional<Condition>> ConditionOf(const Options& options, std::string_view name) {
  if (!options.Has(name)) return std::nullopt;
  Result<Condition> condition = Condition::Parse(options.String(name));
  if (!condition.has_value()) return Error(condition.error().WithContext(options.PathOf(name)));
  return std::move(*condition);
}

}  // namespace weir::operators
