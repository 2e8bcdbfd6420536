// The keys of rows that were deleted by version, so that an older row never comes back: a table weir_deleted of all
// jobs on a database, beside their markers. Its rows are older than the retention, or count. One object a transaction,
// on its session's thread.
//
//   target         | key                  | version                          | at
//   "schema.table" | JSON array of values | the version columns', as texts   | when it was written
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/sql.h"

namespace weir::connectors {

class PostgresDeletedKeys {
 public:
  PostgresDeletedKeys(PostgresSession& session, const PostgresPolicies& policies)
      : session_(session), policies_(policies) {}

  bool Keeps(const PostgresTarget& target) const {
    return policies_.deleted_keys.has_value() && target.upsert && !target.versions().empty();
  }
  // The table is there. Before the first statement that names it.
  Status Prepare();
  // Removes some of what is older than the retention, if Prepare was called.
  Status Sweep();

  // Whether the key of a row "r", of RowsSql with these columns, was deleted by a version that is not smaller.
  std::string DeletedSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) const;
  // Remembers what DeleteSql with these columns, versions among them, deletes.
  std::string RememberSql(const TargetTable& table, const PostgresTarget& target,
                          std::span<const size_t> columns) const;

 private:
  PostgresSession& session_;
  const PostgresPolicies& policies_;
  bool prepared_ = false;
};

}  // namespace weir::connectors
