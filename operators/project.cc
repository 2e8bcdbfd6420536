#include "operators/project.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operators/condition.h"
#include "operators/dead_letter.h"
#include "operators/expression.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

struct ComputedColumn {
  std::string name;
  Expression expression;
};

struct Projection {
  std::vector<ComputedColumn> columns;
  bool keep_all = false;
  std::set<std::string, std::less<>> drop;
  std::map<std::string, std::string, std::less<>> rename;
  std::optional<Condition> when;
};

class ProjectOperator final : public Operator {
 public:
  ProjectOperator(Projection projection, BadRecordPolicy policy) : project_(std::move(projection)), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    if (batch.empty()) return Status::Ok();
    if (project_.when.has_value()) {
      WEIR_RETURN_IF_ERROR(ProcessRuns(std::move(batch), output));
    } else {
      WEIR_RETURN_IF_ERROR(ProjectRows(batch, 0, batch.rows(), output));
    }
    return bad_->EmitTo(output);
  }

 private:
  using Verdict = Condition::Verdict;

  // Rows that are changed and rows that pass as they are take turns in runs, so that all stay in order. Most batches
  // are of one table and one run.
  Status ProcessRuns(Batch batch, Output& output) {
    Arena scratch;
    project_.when->Bind(batch.schema(), scratch);
    std::vector<Verdict> verdicts(batch.rows());
    for (size_t i = 0; i < batch.rows(); ++i) {
      verdicts[i] = project_.when->Of(batch, i);
      if (verdicts[i] == Verdict::kError)
        WEIR_RETURN_IF_ERROR(bad_->AddRow(batch, i, "when: " + project_.when->error()));
    }
    for (size_t begin = 0, end = 0; begin < batch.rows(); begin = end) {
      for (end = begin; end < batch.rows() && verdicts[end] == verdicts[begin]; ++end) {
      }
      if (verdicts[begin] == Verdict::kTrue) {
        WEIR_RETURN_IF_ERROR(ProjectRows(batch, begin, end, output));
      } else if (verdicts[begin] == Verdict::kFalse && end - begin == batch.rows()) {
        return output.Emit(std::move(batch));
      } else if (verdicts[begin] == Verdict::kFalse) {
        Batch part(batch.schema(), end - begin);
        part.ShareArenas(batch);
        for (size_t i = begin; i < end; ++i) {
          std::copy_n(batch.row(i), batch.columns(), part.AddRow(batch.kind(i), batch.time(i)));
        }
        WEIR_RETURN_IF_ERROR(output.Emit(std::move(part)));
      }
    }
    return Status::Ok();
  }

  Status ProjectRows(const Batch& batch, size_t begin, size_t end, Output& output) {
    if (batch.schema() != input_schema_) TakeSchema(batch.schema());
    Batch result(output_schema_, end - begin);
    result.ShareArenas(batch);
    for (ComputedColumn& column : project_.columns) column.expression.Bind(batch.schema(), result.arena());
    for (size_t i = begin; i < end; ++i) WEIR_RETURN_IF_ERROR(ProjectRow(batch, i, result));
    return result.empty() ? Status::Ok() : output.Emit(std::move(result));
  }

  bool Computes(std::string_view name) const {
    return std::ranges::any_of(project_.columns, [&](const ComputedColumn& column) { return column.name == name; });
  }

  std::string_view NewName(const std::string& name) const {
    const auto renamed = project_.rename.find(name);
    return renamed == project_.rename.end() ? std::string_view(name) : std::string_view(renamed->second);
  }

  // An input column gives way to a computed one of its name, and to one that is renamed to its name.
  bool GivesWay(const Schema& schema, const std::string& name) const {
    if (Computes(NewName(name)) || project_.drop.contains(name)) return true;
    if (project_.rename.contains(name)) return false;
    return std::ranges::any_of(project_.rename, [&](const auto& renamed) {
      return renamed.second == name && schema.Find(renamed.first).has_value();
    });
  }

  void TakeSchema(const SchemaPtr& schema) {
    input_schema_ = schema;
    kept_.clear();
    std::vector<std::string_view> names;
    for (size_t c = 0; project_.keep_all && c < schema->size(); ++c) {
      const std::string& name = schema->columns()[c];
      if (GivesWay(*schema, name)) continue;
      kept_.push_back(c);
      names.push_back(NewName(name));
    }
    for (const ComputedColumn& column : project_.columns) names.emplace_back(column.name);
    output_schema_ = schemas_.Get(names);
  }

  Status ProjectRow(const Batch& batch, size_t i, Batch& result) {
    const Value* from = batch.row(i);
    Value* to = result.AddRow(batch.kind(i), batch.time(i));
    for (const size_t c : kept_) *to++ = from[c];
    for (ComputedColumn& column : project_.columns) {
      if (column.expression.Evaluate(from, batch.kind(i), to++)) [[likely]]
        continue;
      result.PopRow();
      return bad_->AddRow(batch, i, column.name + ": " + column.expression.error());
    }
    return Status::Ok();
  }

  Projection project_;
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
  const bool keep_all = options.String("keep") == "all";
  if (columns.empty() && !keep_all) {
    problems.push_back({path, "{}", "at least one column", "a projection without columns would give empty rows"});
  }
  for (const auto& [name, text] : columns) {
    if (const auto problem = ExpressionProblem(text)) {
      problems.push_back({path + "/" + name, QuotedExcerpt(text), "an SQL expression", *problem});
    }
  }
  const auto rename = options.StringMap("rename");
  const auto drop = options.Strings("drop");
  for (const auto& [name, given] : {std::pair("rename", !rename.empty()), std::pair("drop", !drop.empty())}) {
    if (keep_all || !given) continue;
    problems.push_back({options.PathOf(name), "", "`keep`: \"all\"",
                        std::string(name) + " is for columns that are passed on: it needs \"keep\": \"all\""});
  }
  std::set<std::string> names;
  for (const auto& [old_name, new_name] : rename) {
    const std::string at = PathJoin(options.PathOf("rename"), old_name);
    if (!names.insert(new_name).second) {
      problems.push_back(
          {at, Quoted(new_name), "a name for one column", "two columns get the name " + Quoted(new_name)});
    }
    if (std::ranges::find(drop, old_name) != drop.end()) {
      problems.push_back({at, Quoted(old_name), "a column that stays", "the column is also in `drop`"});
    }
  }
  CheckCondition(options, "when", problems);
}

Result<std::unique_ptr<Operator>> CreateProject(const Options& options) {
  Projection projection;
  for (const auto& [name, text] : options.StringMap("columns")) {
    Result<Expression> expression = Expression::Parse(text);
    if (!expression.has_value()) return Error(expression.error().WithContext(options.PathOf("columns") + "/" + name));
    projection.columns.push_back({name, std::move(*expression)});
  }
  projection.keep_all = options.String("keep") == "all";
  for (std::string& name : options.Strings("drop")) projection.drop.insert(std::move(name));
  for (auto& [old_name, new_name] : options.StringMap("rename")) projection.rename.emplace(old_name, new_name);
  WEIR_ASSIGN_OR_RETURN(projection.when, ConditionOf(options, "when"));
  return std::make_unique<ProjectOperator>(std::move(projection), OnError(options));
}

}  // namespace

OperatorType ProjectType() {
  OperatorType type;
  type.name = "project";
  type.doc = "Makes rows of computed columns, with or without the input's other columns.";
  OptionSpec keep{"keep", OptionType::kEnum, false, "none",
                  "Whether the input's other columns are passed on, in front of the new ones."};
  keep.choices = {"none", "all"};
  type.options = {
      {"columns", OptionType::kExpressionMap, false, "",
       "New column name to SQL expression over the input's columns, in order."},
      std::move(keep),
      {"rename", OptionType::kStringMap, false, "",
       "Of the columns that are passed on: old name to new name; one of the new name gives way."},
      {"drop", OptionType::kStringList, false, "", "Columns that are not passed on although `keep` is all."},
      {"when", OptionType::kExpression, false, "",
       "SQL condition: only rows for which it is TRUE are changed, all others pass as they are."},
      OnErrorSpec(),
  };
  type.check = CheckColumns;
  type.create = CreateProject;
  return type;
}

}  // namespace weir::operators
