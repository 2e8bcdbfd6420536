// The SQL text of the sink's statements, and what it is made from: the target's columns by its catalogue. Identifiers
// are always quoted, values always bound: each column's values are one array of texts that the server casts to the
// column's type. Pure functions; any thread.
//
//   INSERT INTO "public"."t" AS t ("id", "n") SELECT r.c0::bigint, r.c1::text FROM unnest($1::text[], $2::text[])
//   AS r(c0, c1) ON CONFLICT ("id") DO UPDATE SET "n" = EXCLUDED."n"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"

namespace weir::connectors {

std::string QuotedIdentifier(std::string_view name);

struct TableColumn {
  std::string name;
  std::string type;              // as a cast names it, without a length: "bigint", "character varying"
  bool generated = false;        // computed by the server: never written
  bool always_identity = false;  // written by OVERRIDING SYSTEM VALUE, never updated
  bool is_number = false;
  bool required = false;  // NOT NULL without a default
  bool is_integer() const { return type == "bigint" || type == "integer" || type == "smallint"; }
};

struct TargetTable {
  PostgresTableName name;
  std::vector<TableColumn> columns = {};
  std::vector<std::string> primary_key = {};

  std::optional<size_t> Find(std::string_view column) const;
  // The only one that is the same but for case.
  std::optional<size_t> FindInAnyCase(std::string_view column) const;
  std::string ColumnList() const;  // "id, n", for messages
};

// Asks the catalogue. FailedPrecondition if there is no such table.
Result<TargetTable> LoadTargetTable(PostgresSession& session, const PostgresTableName& name);

// The table of `name.schema` with that name, or the only one whose name is the same but for case. Nothing: there is
// none, or several.
Result<std::optional<PostgresTableName>> FindTable(PostgresSession& session, const PostgresTableName& name);

Result<bool> TableExists(PostgresSession& session, const PostgresTableName& name);

// 'it''s'
std::string QuotedLiteral(std::string_view text);

// SELECT r.c0::bigint AS c0, ... FROM unnest($1::text[], ...) AS r(c0, ...); numbered: also r.o, from 1.
std::string RowsSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                    bool numbered = false);
// "r.c0::bigint, ...": the columns `names`, all among `columns`, of these rows.
std::string ValuesSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                      const std::vector<std::string>& names);

// What an upsert does with a row that is there. What the new row lacks is left alone, or gets its default.
enum class OnConflict : uint8_t {
  kUpdate,      // unless its version forbids that
  kUpdateSame,  // the same, but also one of the same version
  kReplace,     // also what the new row lacks, and whatever the versions are
  kNothing,
};
// `columns`: of `table`, those that the rows have. `target.key` is not empty if it is an upsert. Rows "r" for which the
// condition `without` holds are left out.
std::string InsertSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                      OnConflict on_conflict = OnConflict::kUpdate, std::string_view without = {});
// "(...) AS d WHERE t.id = d.c0 AND ...": which rows "t" of the table DeleteSql deletes.
std::string DeletedRowsSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                           bool numbered = false);
// Whether a row "r", of RowsSql with these columns, is one that InsertSql leaves out for its version or its deadline.
// Empty: none is.
std::string TooOldSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns);
// `columns`: the key's, and then the version column if older deletions must not remove newer rows.
std::string DeleteSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns);
// Sets `emptied` to NULL where DeleteSql would delete.
std::string EmptySql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                     std::span<const size_t> emptied);

}  // namespace weir::connectors
