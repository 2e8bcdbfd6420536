#include "connectors/postgres/deleted_keys.h"

#include <utility>
#include <vector>

namespace weir::connectors {
namespace {

constexpr char kSweptMax[] = "1000";

// "ROW(d.version[1]::bigint)": texts as what they stand for.
std::string Version(const TargetTable& table, const PostgresTarget& target, const std::string& of) {
  std::string sql = "ROW(";
  size_t i = 0;
  for (const std::string& column : target.versions()) {
    sql += (i == 0 ? "" : ", ") + of + ".version[" + std::to_string(i + 1) +
           "]::" + table.columns[*table.Find(column)].type;
    ++i;
  }
  return sql + ")";
}

}  // namespace

Status PostgresDeletedKeys::Prepare() {
  if (std::exchange(prepared_, true)) return {};
  WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(session_, *policies_.deleted_keys));
  if (there) return {};
  const std::string table = policies_.deleted_keys->Quoted();
  const std::vector<PostgresStatement> statements = {
      {"CREATE TABLE IF NOT EXISTS " + table +
       " (target text, key jsonb, version text[] NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (target, key))"},
      {"CREATE INDEX ON " + table + " (at)"}};
  const auto made = session_.Execute(statements);
  return made.has_value() ? Status::Ok() : made.error().WithContext("table " + policies_.deleted_keys->ToString());
}

Status PostgresDeletedKeys::Sweep() {
  if (!prepared_) return {};
  const std::string table = policies_.deleted_keys->Quoted();
  const auto swept =
      session_.ExecuteOne({"DELETE FROM " + table + " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " + table +
                           " WHERE at < now() - interval '" + std::to_string(policies_.deleted_retention_ms) +
                           " ms' LIMIT " + kSweptMax + " FOR UPDATE SKIP LOCKED))"});
  return swept.has_value() ? Status::Ok() : swept.error();
}

std::string PostgresDeletedKeys::DeletedSql(const TargetTable& table, const PostgresTarget& target,
                                            std::span<const size_t> columns) const {
  return "EXISTS (SELECT FROM " + policies_.deleted_keys->Quoted() +
         " AS x WHERE x.target = " + QuotedLiteral(table.name.ToString()) + " AND x.key = jsonb_build_array(" +
         ValuesSql(table, target, columns, target.key) + ") AND " + Version(table, target, "x") + " >= ROW(" +
         ValuesSql(table, target, columns, target.versions()) + "))";
}

std::string PostgresDeletedKeys::RememberSql(const TargetTable& table, const PostgresTarget& target,
                                             std::span<const size_t> columns) const {
  std::string key;
  std::string version;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::string& list = i < target.key.size() ? key : version;
    list += (list.empty() ? "d.c" : ", d.c") + std::to_string(i);
    if (i >= target.key.size()) list += "::text";
  }
  return "INSERT INTO " + policies_.deleted_keys->Quoted() +
         " AS x (target, key, version, at) SELECT DISTINCT ON (d.key) d.target, d.key, d.version, now() FROM (SELECT " +
         QuotedLiteral(table.name.ToString()) + " AS target, jsonb_build_array(" + key + ") AS key, ARRAY[" + version +
         "] AS version FROM (" + RowsSql(table, target, columns) + ") AS d) AS d ORDER BY d.key, " +
         Version(table, target, "d") +
         " DESC ON CONFLICT (target, key) DO UPDATE SET version = EXCLUDED.version, at = EXCLUDED.at WHERE " +
         Version(table, target, "x") + " <= " + Version(table, target, "EXCLUDED");
}

}  // namespace weir::connectors
