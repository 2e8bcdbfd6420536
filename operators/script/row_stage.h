// The rows that one call of a script gives, until it is known that all of them are good; then they join the output's
// batches, in order, one batch for each run of rows with the same columns. The task's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/output.h"

namespace weir::operators::script {

class RowStage {
 public:
  struct Column {
    std::string_view name;
    size_t rank = 0;  // among the input's columns; behind them for a new one
    Value value;
  };

  // Rows of `input` follow; it outlives them.
  void Begin(const Batch& input);
  const Batch& input() const { return *input_; }

  // A row with the input row's own columns and values.
  void AddWhole(size_t input_row);
  // A row of these columns, in the input's order, then by name. Text of values must be the input's or come from Keep.
  void Add(std::vector<Column>& columns);
  // A copy that lives as long as the rows.
  std::string_view Keep(std::string_view text);

  // Of what was added since the last Commit or Drop.
  size_t bytes() const { return bytes_; }
  void Drop();
  // With kind and time of that row of the input.
  Status Commit(size_t input_row, Output& output);
  // What is not yet emitted leaves; the input is let go.
  Status Finish(Output& output);

 private:
  struct Row {
    SchemaPtr schema;
    size_t begin = 0;  // in values_
  };
  SchemaPtr SchemaOf(const std::vector<Column>& columns);
  Status MakeRoom(const SchemaPtr& schema, Output& output);

  const Batch* input_ = nullptr;
  Batch text_;  // has no rows: its arena holds the texts of the current input's rows
  std::vector<Row> rows_;
  std::vector<Value> values_;
  size_t bytes_ = 0;
  Batch out_;
  size_t capacity_ = 0;
  SchemaCache schemas_;
  size_t schemas_asked_ = 0;
  SchemaPtr last_schema_;
  std::vector<std::string_view> names_;  // kept for its room
};

}  // namespace weir::operators::script
