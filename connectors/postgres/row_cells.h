// Which of a row's values go into which columns of its table, by their names and the sink's policies. One object a
// table and transaction, on its session's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connectors/format/json_reader.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/sql.h"
#include "operators/batch.h"

namespace weir::connectors {

class PostgresRowCells {
 public:
  // What one row writes: columns of the table, with a value for each; `key` is the same for all spellings of a number.
  struct Cells {
    std::vector<size_t> columns = {};
    std::vector<PostgresCell> cells = {};
    std::string key = {};
    const char* missing = nullptr;  // what the row lacks; null: nothing
    std::string missing_column = {};
  };

  // `target`: with its key filled in; it and the policies outlive this.
  PostgresRowCells(const PostgresTarget& target, const PostgresPolicies& policies, TargetTable table)
      : target_(target), policies_(policies), table_(std::move(table)) {}

  // The names of the rows that follow.
  Status UseColumns(const std::vector<std::string>& columns);
  bool HasColumns(const std::vector<std::string>& columns) const { return mapped_ && columns_ == columns; }
  // `deletes`: only the key's columns, and the version's if there is one. Text is copied to `arena`.
  Result<Cells> Take(const SegmentRow& row, bool deletes, operators::Arena& arena);
  // What an old image says of the table's columns, without the key's. Nothing if it has only a key.
  Cells TakeImage(const SegmentRow& row, operators::Arena& arena) const;
  const TargetTable& table() const { return table_; }

 private:
  // Where the values of `columns` go.
  Status MapColumns(const std::vector<std::string>& columns);
  std::optional<size_t> Find(const std::vector<std::string>& columns, size_t cell) const;
  Status FindExtras();
  // The cell that goes into the table's column `name`.
  std::optional<size_t> CellOf(const std::string& name) const;
  void TakeKey(const SegmentRow& row, operators::Arena& arena, Cells& cells);
  // From the JSON array that the row has for its key.
  bool TakeKeyArray(const SegmentRow& row, operators::Arena& arena, Cells& cells);
  void AddKeyCell(const std::string& column, std::string_view text, operators::Arena& arena, Cells& cells);
  // That the row has no value for a column that the table lacks, if that is refused.
  Status CheckUnknown(const SegmentRow& row) const;
  // The object of a row's values that have no column of their own; nothing: there are none.
  PostgresCell Extras(const SegmentRow& row, operators::Arena& arena) const;

  const PostgresTarget& target_;
  const PostgresPolicies& policies_;
  const TargetTable table_;

  bool mapped_ = false;
  std::vector<std::string> columns_;                  // of the rows
  std::vector<std::optional<size_t>> table_columns_;  // for each of columns_; nothing: not written
  std::vector<size_t> unknown_cells_;                 // of columns_: those that the table lacks
  std::optional<size_t> extras_;                      // of table_, if they go there
  std::vector<std::optional<size_t>> key_cells_;      // of columns_, one for each of the key; nothing: not among them
  std::optional<size_t> key_array_cell_;              // of columns_: the whole key as JSON
  std::vector<std::optional<size_t>> version_cells_;  // of columns_, one for each version; nothing: not among them
  JsonReader reader_;
  std::vector<operators::Value> array_;
};

}  // namespace weir::connectors
