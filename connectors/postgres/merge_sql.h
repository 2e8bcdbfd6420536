// The SQL by which rows are compared with their target's rows and merged into them (merge.h). Rows are arrays of texts,
// as in sql.h: first a parameter for each column, then one for each column of the old image, where rows have one. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/postgres/options.h"
#include "connectors/postgres/sql.h"

namespace weir::connectors {

// What rows of one statement have in common.
struct PostgresRowShape {
  const TargetTable& table;
  const PostgresTarget& target;
  std::span<const size_t> columns;      // of the table, the key's among them
  std::span<const size_t> before = {};  // of the old image, none of the key
};

// Locks the target's rows and answers for each row its number, from 1, then
//   same     the target has all of it         new      the target has no row with its key
//   write    nothing forbids to write it      refused  its version is not greater
//   old      it is past a deadline            deleted  a deletion with a version that is not smaller was before it
//   clean    nobody but the source has changed the target's row
//   moved    somebody has
// and the table's columns, by number with blanks between, that both sides have changed. `deleted`: the condition on
// rows "r" for that, or empty.
std::string CompareSql(const PostgresRowShape& shape, std::string_view deleted);
// The same for deletions: write, refused, or moved. `columns`: the key's, and then the versions', if they decide.
std::string CompareDeletionSql(const PostgresRowShape& shape);
// Updates the target's rows: each column that only the source has changed, and by the rules' SQL those that both have;
// a column without SQL is overwritten.
std::string MergeSql(const PostgresRowShape& shape);
// `insert`, a statement of InsertSql that does nothing where a row is there, answering the numbers of the rows that it
// has inserted.
std::string InsertedSql(const PostgresRowShape& shape, const std::string& insert);
// The target's rows with these keys as they are: number, and all columns as texts.
std::string TargetRowsSql(const PostgresRowShape& shape);

// A row's place among those asked about, from 0, by the first cell of the answer.
size_t RowNumberOf(const std::vector<std::optional<std::string>>& answer);

// What stands in `sql` as a value and is none of $before, $target and $proposed; empty: nothing.
std::string WrongMergeName(std::string_view sql);

}  // namespace weir::connectors
