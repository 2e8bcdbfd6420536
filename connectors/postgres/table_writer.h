// Writes rows into their tables within the transaction that is open on a session: gathered to statements of up to 1,000
// rows, of which only the last version of a key is sent. One object a transaction, on its session's thread.
//
// Quick is how it begins: no savepoints, and a row that the server refuses fails the whole. Careful is what its owner
// tries next: each statement behind a savepoint, one that is refused is halved until a single row is left, which is
// then named, or goes to the dead-letter table.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/sql.h"
#include "operators/batch.h"

namespace weir::connectors {

class PostgresTableWriter {
 public:
  enum class Care : uint8_t { kQuick, kCareful };
  PostgresTableWriter(PostgresSession& session, const PostgresPolicies& policies, Care care);

  // Rows of a key must come in their order.
  Status Add(const SegmentRow& row);
  // What is gathered goes out, and constraints that wait for the end of the transaction are checked now.
  Status Finish();
  uint64_t dead_letters() const { return dead_letters_; }

 private:
  // A row that waits; its text is in arena_.
  struct Waiting {
    bool deletes = false;
    bool superseded = false;               // a later row of the key says it all
    std::vector<size_t> columns = {};      // of table_; of a deletion the key's, and the version column
    std::vector<PostgresCell> cells = {};  // one for each
    std::string_view key = {};             // of an upsert
  };
  using Rows = std::span<const Waiting* const>;
  // The arrays behind a statement's parameters.
  struct Statements {
    std::vector<PostgresStatement> list;
    std::deque<std::vector<PostgresCell>> arrays;
  };

  Status UseTarget(const SegmentRow& row);
  Status UseColumns(const std::vector<std::string>& columns);
  // Where the values of `columns` go.
  Status MapColumns(const std::vector<std::string>& columns);
  Result<Waiting> Take(const SegmentRow& row);
  // The object of a row's values that have no column of their own; nothing: there are none.
  PostgresCell Extras(const SegmentRow& row);
  PostgresCell Copy(const TableColumn& column, std::string_view text);
  // Appends the key's cells as one text, the same for all spellings of a number. False: one of them is missing.
  bool AppendKey(const SegmentRow& row, std::string& key) const;
  Status Insert(Waiting row);
  // The -U that was held back has no +U of its key: it deletes.
  Status SettleHeld();
  Status Flush();
  Status Send(Rows rows);
  Status SendCarefully(Rows rows);
  Statements StatementsFor(Rows rows) const;
  // To the dead letters, or an error that names table, key and cause.
  Status Refuse(const Waiting& row, const PostgresRefusal& refusal);
  Status WriteDeadLetter(const Waiting& row, const PostgresRefusal& refusal);
  std::string RowText(const Waiting& row) const;  // a JSON object of texts
  std::string KeyText(const Waiting& row) const;

  PostgresSession& session_;
  const PostgresPolicies& policies_;
  const Care care_;
  std::map<std::string, TargetTable> tables_;  // by quoted name
  bool dead_letters_made_ = false;
  uint64_t dead_letters_ = 0;

  // Of the newest row.
  std::optional<PostgresTarget> sealed_;              // as its segment says
  PostgresTarget target_;                             // with the key filled in
  const TargetTable* table_ = nullptr;                // in tables_
  std::vector<std::string> columns_;                  // of the rows
  std::vector<std::optional<size_t>> table_columns_;  // for each of columns_; nothing: not written
  std::vector<size_t> unknown_cells_;                 // of columns_: those that the table lacks
  std::optional<size_t> extras_;                      // of table_, if they go there
  std::vector<size_t> key_cells_;                     // of columns_: the key's
  std::optional<size_t> version_cell_;                // of columns_

  std::optional<Waiting> held_;  // a -U: the row behind it decides
  std::vector<Waiting> rows_;
  std::unordered_map<std::string_view, size_t> newest_;  // key -> of rows_; never iterated
  // Text of rows since the last flush, and since the one before it: the row that caused a flush is older than it.
  std::unique_ptr<operators::Arena> arena_;
  std::unique_ptr<operators::Arena> older_;
};

}  // namespace weir::connectors
