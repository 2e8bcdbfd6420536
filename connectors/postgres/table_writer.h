// Writes the rows of one table within the transaction that is open on a session: gathered to statements of up to 1,000
// rows, of which only the last version of a key is sent. One object a table and transaction, on its session's thread.
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
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "connectors/format/json_reader.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/dead_letters.h"
#include "connectors/postgres/deleted_keys.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/row_cells.h"
#include "connectors/postgres/segment.h"
#include "connectors/postgres/sql.h"
#include "connectors/postgres/waiting_rows.h"
#include "operators/batch.h"

namespace weir::connectors {

// What the writers of one transaction share.
struct PostgresWork {
  enum class Care : uint8_t { kQuick, kCareful };
  PostgresSession& session;
  const PostgresPolicies& policies;
  Care care;
  PostgresDeadLetters& dead_letters;
  PostgresDeletedKeys& deleted_keys;
  PostgresWaitingRows& waiting;
};

// Where a transaction's rows are ordered by foreign keys, they are read once for each of these that its tables need.
enum class PostgresPass : uint8_t {
  kArrival,   // the only one: everything, as it comes
  kUnlinked,  // inserts and updates without the columns by which the table refers to itself
  kUpserts,   // inserts and updates; afterwards it is known which deletions are a key's last word
  kUnlink,    // empties those columns of the rows that are deleted next
  kDeletes,
};

class PostgresTableWriter {
 public:
  // `target`: with its key filled in. `self_columns`: those by which the table refers to itself.
  PostgresTableWriter(PostgresWork& work, PostgresTarget target, TargetTable table,
                      const std::set<std::string>& self_columns);

  // Nothing waits.
  void Begin(PostgresPass pass) { pass_ = pass; }
  // Rows of a key must come in their order.
  Status Add(const SegmentRow& row);
  // What is gathered goes out.
  Status Flush();
  size_t bytes() const { return arena_->bytes(); }  // that wait

  bool refers_to_itself() const { return !self_columns_.empty(); }
  bool has_deletes() const { return !deleted_.empty() || versioned_deletes_; }

  // Of what the server took.
  struct Counts {
    uint64_t upserts = 0;
    uint64_t deletes = 0;
    uint64_t conflicts = 0;  // rows that were older than what is there
    uint64_t waiting = 0;    // rows that have begun to wait for their parents
  };
  const Counts& counts() const { return counts_; }
  const TargetTable& table() const { return cells_.table(); }

 private:
  // A row that waits; its text is in arena_.
  struct Waiting {
    bool deletes = false;
    bool replaces = false;                 // nothing of what was there before stays
    bool superseded = false;               // a later row of the key says it all
    std::vector<size_t> columns = {};      // of the table; of a deletion the key's, and the version column
    std::vector<PostgresCell> cells = {};  // one for each
    std::string_view key = {};             // of an upsert
    operators::EventTime time = {};
    int64_t place = PostgresWaitingRows::kNewPlace;        // among the rows that wait
    int64_t first_place = PostgresWaitingRows::kNewPlace;  // of the oldest row that it stands for
    std::string_view frames = {};                          // as it would wait; empty: it does already, or never can
  };
  using Rows = std::span<const Waiting* const>;
  // The arrays behind a statement's parameters.
  struct Statements {
    std::vector<PostgresStatement> list;
    std::vector<const Waiting*> first;  // of the rows of each; null: it writes none of the table
    std::vector<size_t> rows;           // how many
    std::deque<std::vector<PostgresCell>> arrays;
  };
  using KeyHash = std::pair<uint64_t, uint64_t>;
  struct HashOfKeyHash {
    size_t operator()(const KeyHash& key) const { return key.first; }
  };

  Waiting Take(const SegmentRow& row);
  Status Insert(Waiting row);
  // Whether the row is one of this pass, and as what.
  bool BelongsToPass(Waiting& row);
  Status Gather(Waiting row);
  // The -U that was held back has no +U of its key: it deletes.
  Status SettleHeld();
  // Both rows' columns, the later one's where both have them.
  Waiting Joined(const Waiting& before, const Waiting& after);
  Status SendGathered();
  Status Send(Rows rows);
  Status SendCarefully(Rows rows);
  using Groups = std::vector<std::vector<const Waiting*>>;
  Groups GroupsOf(Rows rows) const;  // of those with the same columns; deletions first
  Statements StatementsFor(Rows rows) const;
  std::string SqlFor(const Waiting& row) const;
  bool HasVersion(const Waiting& row) const;  // a deletion
  // The rows that need not wait for their parents, which `free` holds if they are not all; the others wait.
  Result<Rows> WithoutWaiting(Rows rows, std::vector<const Waiting*>& free);
  // Those of a group without the `blocked`, which begin to wait if they do not already.
  Status MakeWait(Rows group, const std::map<size_t, std::string>& blocked, std::vector<const Waiting*>& free);
  Status MakeWait(const Waiting& row, const PostgresRefusal& refusal);
  bool CanWait(const PostgresRefusal& refusal) const;
  // For rows "r" with this one's columns: whether they are too old to be written.
  std::string IdleSql(const Waiting& row) const;
  PostgresRowGroup GroupOf(Rows group, std::deque<std::vector<PostgresCell>>& arrays) const;
  void Count(const Statements& statements, std::span<const PostgresAnswer> answers);
  Status Refuse(const Waiting& row, const PostgresRefusal& refusal);

  PostgresWork& work_;
  const PostgresTarget target_;
  PostgresRowCells cells_;
  std::vector<size_t> self_columns_;  // of the table
  PostgresPass pass_ = PostgresPass::kArrival;
  Counts counts_;

  std::unordered_set<KeyHash, HashOfKeyHash> deleted_;  // keys whose last row is a deletion; never iterated
  bool versioned_deletes_ = false;                      // there are deletions that their version decides on
  std::optional<Waiting> held_;                         // a -U: the row behind it decides
  std::vector<Waiting> rows_;
  std::unordered_map<std::string_view, size_t> newest_;  // key -> of rows_; never iterated
  // Text of rows since the last flush, and since the one before it: the row that caused a flush is older than it.
  std::string uid_;  // of the newest row
  std::unique_ptr<operators::Arena> arena_;
  std::unique_ptr<operators::Arena> older_;
};

}  // namespace weir::connectors
