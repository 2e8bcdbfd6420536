#include "operators/filter.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operators/dead_letter.h"
#include "operators/expression.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

class FilterOperator final : public Operator {
 public:
  FilterOperator(Expression where, BadRecordPolicy policy) : where_(std::move(where)), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    // Text that the condition makes on its way is not needed afterwards.
    Arena scratch;
    where_.Bind(batch.schema(), scratch);
    keep_.assign(batch.rows(), 0);
    size_t kept = 0;
    for (size_t i = 0; i < batch.rows(); ++i) {
      Value verdict;
      if (!where_.Evaluate(batch.row(i), &verdict)) [[unlikely]] {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, where_.error()));
        continue;
      }
      if (!verdict.missing() && verdict.type() != ValueType::kBool) [[unlikely]] {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, NotBoolean(verdict)));
        continue;
      }
      keep_[i] = !verdict.missing() && verdict.bool_value() ? 1 : 0;
      kept += keep_[i];
    }
    if (kept != batch.rows()) batch.Filter(keep_);
    if (kept != 0) WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return bad_->EmitTo(output);
  }

 private:
  std::string NotBoolean(const Value& verdict) const {
    std::string message = "column 1: expected a boolean, found ";
    return message.append(ValueTypeName(verdict.type())).append(", in: ").append(where_.text());
  }

  Expression where_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;  // set by Open
  std::vector<uint8_t> keep_;      // of the current batch; kept for its room
};

// What is wrong with the condition, or nothing.
std::optional<std::string> ConditionProblem(const std::string& text) {
  const Result<Expression> where = Expression::Parse(text);
  if (!where.has_value()) return where.error().message();
  if (where->type().value_or(ValueType::kBool) != ValueType::kBool) {
    return std::string("expected a condition that is true or false, found one of type ")
        .append(ValueTypeName(*where->type()));
  }
  return std::nullopt;
}

}  // namespace

OperatorType FilterType() {
  OperatorType type;
  type.name = "filter";
  type.doc = "Keeps the rows for which a condition is true.";
  type.options = {
      {.name = "where",
       .type = OptionType::kExpression,
       .required = true,
       .default_text = "",
       .doc = "SQL condition over the row's columns; only TRUE keeps the row."},
      OnErrorSpec(),
  };
  type.check = [](const Options& options, Problems& problems) {
    if (const auto problem = ConditionProblem(options.String("where"))) {
      problems.push_back(
          {options.PathOf("where"), QuotedExcerpt(options.String("where")), "an SQL condition", *problem});
    }
  };
  type.create = [](const Options& options) -> Result<std::unique_ptr<Operator>> {
    if (const auto problem = ConditionProblem(options.String("where"))) {
      return Error(Status::InvalidArgument(*problem).WithContext(options.PathOf("where")));
    }
    WEIR_ASSIGN_OR_RETURN(Expression where, Expression::Parse(options.String("where")));
    return std::make_unique<FilterOperator>(std::move(where), OnError(options));
  };
  return type;
}

}  // namespace weir::operators
