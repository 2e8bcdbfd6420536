#include "operators/project.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/dead_letter.h"
#include "operators/expression.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

struct ComputedColumn {
  std::string name;
  Expression expression;
};

class ProjectOperator final : public Operator {
 public:
  ProjectOperator(std::vector<ComputedColumn> columns, bool keep_all, BadRecordPolicy policy)
      : columns_(std::move(columns)), keep_all_(keep_all), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    if (batch.empty()) return Status::Ok();
    if (batch.schema() != input_schema_) TakeSchema(batch.schema());
    Batch result(output_schema_, batch.rows());
    result.ShareArenas(batch);
    for (ComputedColumn& column : columns_) column.expression.Bind(batch.schema(), result.arena());
    for (size_t i = 0; i < batch.rows(); ++i) WEIR_RETURN_IF_ERROR(ProjectRow(batch, i, result));
    if (!result.empty()) WEIR_RETURN_IF_ERROR(output.Emit(std::move(result)));
    return bad_->EmitTo(output);
  }

 private:
  bool Computes(std::string_view name) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&](const ComputedColumn& column) { return column.name == name; });
  }

  void TakeSchema(const SchemaPtr& schema) {
    input_schema_ = schema;
    kept_.clear();
    std::vector<std::string_view> names;
    for (size_t c = 0; keep_all_ && c < schema->size(); ++c) {
      if (Computes(schema->columns()[c])) continue;
      kept_.push_back(c);
      names.emplace_back(schema->columns()[c]);
    }
    for (const ComputedColumn& column : columns_) names.emplace_back(column.name);
    output_schema_ = schemas_.Get(names);
  }

  Status ProjectRow(const Batch& batch, size_t i, Batch& result) {
    const Value* from = batch.row(i);
    Value* to = result.AddRow(batch.kind(i), batch.time(i));
    for (const size_t c : kept_) *to++ = from[c];
    for (ComputedColumn& column : columns_) {
      if (column.expression.Evaluate(from, to++)) [[likely]]
        continue;
      result.PopRow();
      return bad_->AddRow(batch, i, column.name + ": " + column.expression.error());
    }
    return Status::Ok();
  }

  std::vector<ComputedColumn> columns_;
  const bool keep_all_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;  // set by Open
  SchemaCache schemas_;
  SchemaPtr input_schema_;  // of the batch before; the two below belong to it
  SchemaPtr output_schema_;
  std::vector<size_t> kept_;
};

void CheckColumns(const Options& options, Problems& problems) {
  const auto columns = options.StringMap("columns");
  const std::string path = options.PathOf("columns");
  if (columns.empty() && options.String("keep") == "none") {
    problems.push_back({path, "{}", "at least one column", "a projection without columns would give empty rows"});
  }
  for (const auto& [name, text] : columns) {
    if (const auto problem = ExpressionProblem(text)) {
      problems.push_back({path + "/" + name, QuotedExcerpt(text), "an SQL expression", *problem});
    }
  }
}

Result<std::unique_ptr<Operator>> CreateProject(const Options& options) {
  std::vector<ComputedColumn> columns;
  for (const auto& [name, text] : options.StringMap("columns")) {
    Result<Expression> expression = Expression::Parse(text);
    if (!expression.has_value()) return Error(expression.error().WithContext(options.PathOf("columns") + "/" + name));
    columns.push_back({name, std::move(*expression)});
  }
  return std::make_unique<ProjectOperator>(std::move(columns), options.String("keep") == "all", OnError(options));
}

}  // namespace

OperatorType ProjectType() {
  OperatorType type;
  type.name = "project";
  type.doc = "Makes rows of computed columns, with or without the input's other columns.";
  type.options = {
      {.name = "columns",
       .type = OptionType::kExpressionMap,
       .required = true,
       .default_text = "",
       .doc = "New column name to SQL expression over the input's columns, in order."},
      {.name = "keep",
       .type = OptionType::kEnum,
       .required = false,
       .default_text = "none",
       .doc = "Whether the input's other columns are passed on, in front of the new ones.",
       .choices = {"none", "all"}},
      OnErrorSpec(),
  };
  type.check = CheckColumns;
  type.create = CreateProject;
  return type;
}

}  // namespace weir::operators
