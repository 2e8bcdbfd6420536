// Conflicts: rows that their target's row does not suit. Before they are written the server compares them with it, and
// locks it, in one statement for all rows of a shape; what it says decides whether a row is written, merged into what
// is there, or goes the way of the table's rules. Within a transaction, on its session's thread.
//
//   before (-U)   proposed (+U)  target             becomes
//   a=1 b=1       a=2 b=1        a=1 b=1            a=2 b=1      clean
//   a=1 b=1       a=2 b=1        a=1 b=7            a=2 b=7      merged
//   a=1 b=1       a=2 b=1        a=7 b=1            both have changed a: by the rules' SQL for a, or else a conflict
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/dead_letters.h"
#include "connectors/postgres/deleted_keys.h"
#include "connectors/postgres/gathered_row.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/sql.h"

namespace weir::connectors {

class PostgresMerge {
 public:
  using Row = PostgresGatheredRow;

  struct Conflict {
    const Row* row = nullptr;
    std::string reason = {};
  };
  struct Counts {
    uint64_t conflicts = 0;
    uint64_t merges = 0;  // of them
    uint64_t dropped = 0;
    uint64_t dead_lettered = 0;
    uint64_t overwritten = 0;
    uint64_t same = 0;  // rows that the target has already
  };
  struct Compared {
    std::vector<Row*> written = {};        // `as` says how
    std::vector<Conflict> conflicts = {};  // that end the table's way
    Counts counts = {};
  };

  // All outlive this.
  PostgresMerge(PostgresSession& session, const PostgresTarget& target, const TargetTable& table,
                const PostgresDeletedKeys& deleted_keys)
      : session_(session), target_(target), table_(table), deleted_keys_(deleted_keys) {}

  // Whether the row has to be compared before it is written.
  bool Compares(const Row& row) const;
  // Each key is there once, as one of a deletion and an upsert. Nothing is written.
  Result<Compared> Compare(std::span<Row* const> rows) const;
  // Conflicts end: an error, dead letters, or nothing. `refused`: each as a row of its table, to which the target's row
  // is added here.
  Status End(std::span<const Conflict> conflicts, std::vector<RefusedRow> refused,
             PostgresDeadLetters& dead_letters) const;

 private:
  using Group = std::vector<Row*>;  // of one shape

  PostgresStatement StatementFor(const Group& group, PostgresArrays& arrays) const;
  // What the server says of the row.
  void Take(Row& row, const std::vector<std::optional<std::string>>& answer, Compared& compared) const;
  void TakeMoved(Row& row, const std::string& clashes, Compared& compared) const;
  // "qty, note": those of the columns that nothing merges.
  std::string Unmerged(const Row& row, const std::string& clashes) const;

  PostgresSession& session_;
  const PostgresTarget& target_;
  const TargetTable& table_;
  const PostgresDeletedKeys& deleted_keys_;
};

}  // namespace weir::connectors
