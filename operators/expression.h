// An expression over a row's columns in SQL's spelling (docs/expressions.md): parsed and checked once, evaluated for
// the rows of batches whose schemas may vary. Types are the values' own, so what a definition can't know shows when
// rows come.
//
//   Result<Expression> filter = Expression::Parse("status = 'paid' AND amount > 10");
//   filter->Bind(batch.schema(), arena);
//   for (size_t i = 0; i < batch.rows(); ++i) {
//     if (!filter->Evaluate(batch.row(i), batch.kind(i), &value)) Report(filter->error());
//   }
//
// An Expression belongs to one thread (a task's); Parse is pure. Nothing here allocates for a row but an error's text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/schema.h"
#include "operators/value.h"

namespace weir::operators {

class Expression {
 public:
  static constexpr size_t kTextBytesMax = 64 * 1024;

  // Invalid argument: "column 17: expected ..., found ..." and below it the line with a caret, or
  // some 100 characters of it.
  static Result<Expression> Parse(std::string_view text);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  const std::string& text() const;
  // The columns that it reads, each once. Of "a.b" that is "a".
  const std::vector<std::string>& columns() const;
  // Known without a row; nothing where it depends on a column's values.
  std::optional<ValueType> type() const;
  // The column, if the expression is nothing but its name.
  std::optional<std::string_view> bare_column() const;

  // For the rows of that schema from here on; text that is made goes to `arena`, which must outlive the values. A
  // column that the schema lacks is absent. Cheap if the schema is that of the call before.
  void Bind(const SchemaPtr& schema, Arena& arena);
  // The value of one row of the bound schema; `kind` is what row_kind() gives. Text of columns and literals is not
  // copied: literals live as long as the Expression. False: error() says why and `out` is unspecified.
  bool Evaluate(const Value* row, RowKind kind, Value* out);
  // "column 5: division by zero, in: a / b". Of the last Evaluate that failed.
  const std::string& error() const;

  // Whole batch, one value a row at out[0], out[stride], ...; stops at the first row that fails.
  Status Evaluate(const Batch& batch, Arena& arena, Value* out, size_t stride = 1);

 private:
  struct State;
  explicit Expression(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// What is wrong with the text, or nothing: for the check of definitions.
std::optional<std::string> ExpressionProblem(std::string_view text);

}  // namespace weir::operators
