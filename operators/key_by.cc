#include "operators/key_by.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/batch_column.h"
#include "operators/dead_letter.h"
#include "operators/key.h"
#include "operators/raw_value.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

class KeyByOperator final : public Operator {
 public:
  KeyByOperator(std::vector<BatchColumn> columns, BadRecordPolicy policy)
      : columns_(std::move(columns)), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    for (BatchColumn& column : columns_) column.Evaluate(batch);
    keep_.assign(batch.rows(), 1);
    bool all = true;
    for (size_t i = 0; i < batch.rows(); ++i) {
      scratch_.clear();
      std::string error;
      for (const BatchColumn& column : columns_) {
        if (error = ErrorOf(column, i); !error.empty()) break;
        AppendKey(scratch_, column.at(i));
      }
      if (!error.empty()) {
        keep_[i] = 0;
        all = false;
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, error));
        continue;
      }
      batch.SetKey(i, RowKey{state::HashKey(scratch_), batch.arena().Copy(scratch_)});
    }
    if (!all) batch.Filter(keep_);
    WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    return bad_->EmitTo(output);
  }

 private:
  // A row without the column would share one key with all others like it: more likely a misspelled name than a wish.
  static std::string ErrorOf(const BatchColumn& column, size_t row) {
    const std::string_view error = column.error(row);
    if (!error.empty()) return "key " + Quoted(column.text()) + ": " + std::string(error);
    if (column.at(row).absent()) return "the row has no key column " + Quoted(column.text());
    return {};
  }

  std::vector<BatchColumn> columns_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;
  std::string scratch_;
  std::vector<uint8_t> keep_;
};

void CheckKeyBy(const Options& options, Problems& problems) {
  const std::vector<std::string> keys = options.Strings("keys");
  const auto computed = options.StringMap("computed");
  if (keys.empty() && computed.empty()) {
    problems.push_back({options.PathOf("keys"), "", "a list of columns, or computed keys", "a key_by without a key"});
  }
  std::vector<std::string> names = keys;
  for (const auto& [name, text] : computed) {
    names.push_back(name);
    if (const auto column = BatchColumn::Parse(text); !column.has_value()) {
      const OptionValue* map = options.Find("computed");
      problems.push_back(
          {PathJoin(map->path, name), QuotedExcerpt(text), "an SQL expression", column.error().message()});
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (names[i] != names[j]) continue;
      problems.push_back(
          {options.PathOf("keys"), Quoted(names[i]), "each name once", "key " + Quoted(names[i]) + " stands twice"});
    }
  }
}

Result<std::unique_ptr<Operator>> CreateKeyBy(const Options& options) {
  std::vector<BatchColumn> columns;
  for (std::string& name : options.Strings("keys")) columns.push_back(BatchColumn::Named(std::move(name)));
  for (const auto& [name, text] : options.StringMap("computed")) {
    WEIR_ASSIGN_OR_RETURN(BatchColumn column, BatchColumn::Parse(text));
    columns.push_back(std::move(column));
  }
  if (columns.empty()) return Error(Status::InvalidArgument("key_by without a key"));
  return std::make_unique<KeyByOperator>(std::move(columns), OnError(options));
}

}  // namespace

OperatorType KeyByType() {
  OperatorType type;
  type.name = "key_by";
  type.doc = "Gives each row a key; the next operator sees all rows of a key in one subtask.";
  type.options = {{"keys", OptionType::kStringList, false, "", "The key's columns, by name."},
                  {"computed", OptionType::kExpressionMap, false, "", "Further parts of the key: name and expression."},
                  OnErrorSpec()};
  type.check = CheckKeyBy;
  type.create = CreateKeyBy;
  return type;
}

}  // namespace weir::operators
