#include "operators/filter.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operators/condition.h"
#include "operators/dead_letter.h"

namespace weir::operators {
namespace {

using Verdict = Condition::Verdict;

class FilterOperator final : public Operator {
 public:
  FilterOperator(std::optional<Condition> when, Condition where, BadRecordPolicy policy)
      : when_(std::move(when)), where_(std::move(where)), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    // Text that the conditions make on their way is not needed afterwards.
    Arena scratch;
    if (when_.has_value()) when_->Bind(batch.schema(), scratch);
    where_.Bind(batch.schema(), scratch);
    keep_.assign(batch.rows(), 0);
    size_t kept = 0;
    for (size_t i = 0; i < batch.rows(); ++i) {
      const Verdict asked = when_.has_value() ? when_->Of(batch, i) : Verdict::kTrue;
      const Verdict verdict = asked == Verdict::kTrue ? where_.Of(batch, i) : asked;
      if (verdict == Verdict::kError) [[unlikely]] {
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, asked == Verdict::kError ? when_->error() : where_.error()));
        continue;
      }
      keep_[i] = asked == Verdict::kFalse || verdict == Verdict::kTrue ? 1 : 0;
      kept += keep_[i];
    }
    if (kept != batch.rows()) batch.Filter(keep_);
    if (kept != 0) WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return bad_->EmitTo(output);
  }

 private:
  std::optional<Condition> when_;
  Condition where_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;  // set by Open
  std::vector<uint8_t> keep_;      // of the current batch; kept for its room
};

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
      {.name = "when",
       .type = OptionType::kExpression,
       .required = false,
       .default_text = "",
       .doc = "SQL condition: only rows for which it is TRUE are filtered, all others stay."},
      OnErrorSpec(),
  };
  type.check = [](const Options& options, Problems& problems) {
    CheckCondition(options, "where", problems);
    CheckCondition(options, "when", problems);
  };
  type.create = [](const Options& options) -> Result<std::unique_ptr<Operator>> {
    WEIR_ASSIGN_OR_RETURN(std::optional<Condition> where, ConditionOf(options, "where"));
    WEIR_ASSIGN_OR_RETURN(std::optional<Condition> when, ConditionOf(options, "when"));
    return std::make_unique<FilterOperator>(std::move(when), std::move(*where), OnError(options));
  };
  return type;
}

}  // namespace weir::operators
