// What the tests of filter and project share: an operator made from options, rows in, rows out as text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/expression/conversion.h"
#include "operators/registry.h"

namespace weir::operators {

using TextOptions = std::vector<std::pair<std::string, std::string>>;

inline Options MakeOptions(const TextOptions& texts, const TextOptions& columns, bool with_columns) {
  OptionValue object;
  object.type = OptionType::kObject;
  object.path = "/operators/0";
  for (const auto& [name, text] : texts) {
    OptionValue value;
    value.type = name == "where" ? OptionType::kExpression : OptionType::kEnum;
    value.text = text;
    object.members.emplace_back(name, value);
  }
  if (with_columns) {
    OptionValue map;
    map.type = OptionType::kExpressionMap;
    for (const auto& [name, text] : columns) {
      OptionValue value;
      value.type = OptionType::kExpression;
      value.text = text;
      map.members.emplace_back(name, value);
    }
    object.members.emplace_back("columns", map);
  }
  return Options(object);
}

struct CollectingOutput final : Output {
  Status Emit(Batch batch) override {
    main.push_back(std::move(batch));
    return Status::Ok();
  }
  Status EmitSide(std::string_view, Batch batch) override {
    side.push_back(std::move(batch));
    return Status::Ok();
  }
  bool HasSide(std::string_view) const override { return true; }

  std::vector<Batch> main;
  std::vector<Batch> side;
};

class ExpressionOperator {
 public:
  ExpressionOperator(const OperatorType& type, const TextOptions& texts, const TextOptions& columns = {})
      : operator_(*type.create(MakeOptions(texts, columns, type.name == "project"))) {
    OperatorContext context;
    context.uid = "op";
    context.metrics = &metrics_;
    const Status opened = operator_->Open(context);
    WEIR_CHECK(opened.ok());
  }

  Status Process(Batch batch) { return operator_->ProcessBatch(0, std::move(batch), output_); }
  const CollectingOutput& output() const { return output_; }
  const SubtaskMetrics& metrics() const { return metrics_; }

  // "+I id=1 amount=2" for each row that came out.
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows;
    Arena arena;
    for (const Batch& batch : output_.main) {
      for (size_t i = 0; i < batch.rows(); ++i) {
        std::string text(RowKindName(batch.kind(i)));
        for (size_t c = 0; c < batch.columns(); ++c) {
          text.append(" ")
              .append(batch.schema()->columns()[c])
              .append("=")
              .append(expression::ToText(batch.at(i, c), arena));
        }
        rows.push_back(text);
      }
    }
    return rows;
  }

 private:
  SubtaskMetrics metrics_;
  CollectingOutput output_;
  std::unique_ptr<Operator> operator_;
};

inline std::string FirstProblem(const OperatorType& type, const TextOptions& texts, const TextOptions& columns = {}) {
  Problems problems;
  type.check(MakeOptions(texts, columns, type.name == "project"), problems);
  return problems.empty() ? "" : problems[0].message;
}

inline SchemaPtr OrdersSchema() {
  static const auto schema = std::make_shared<const Schema>(std::vector<std::string>{"id", "amount"});
  return schema;
}

inline void AddOrder(Batch& batch, int64_t id, Value amount) {
  Value* row = batch.AddRow(RowKind::kInsert, {});
  row[0] = Value::Int64(id);
  row[1] = amount.has_text() ? Value::Text(amount.type(), batch.arena().Copy(amount.text())) : amount;
}

}  // namespace weir::operators
