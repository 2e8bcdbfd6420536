#include "connectors/postgres/sql.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::connectors {
namespace {

// Appends `one(i)` for each i below `count`, with `between` between them.
template <class F>
void AppendJoined(std::string& out, size_t count, std::string_view between, F one) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += between;
    out += one(i);
  }
}

// SELECT r.c0::bigint AS c0, ... FROM unnest($1::text[], ...) AS r(c0, ...)
std::string CastRows(const TargetTable& table, std::span<const size_t> columns) {
  std::string sql = "SELECT ";
  AppendJoined(sql, columns.size(), ", ", [&](size_t i) {
    const std::string number = std::to_string(i);
    return "r.c" + number + "::" + table.columns[columns[i]].type + " AS c" + number;
  });
  sql += " FROM unnest(";
  AppendJoined(sql, columns.size(), ", ", [](size_t i) { return "$" + std::to_string(i + 1) + "::text[]"; });
  sql += ") AS r(";
  AppendJoined(sql, columns.size(), ", ", [](size_t i) { return "c" + std::to_string(i); });
  return sql + ")";
}

std::string ConflictClause(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) {
  std::string sql = " ON CONFLICT (";
  AppendJoined(sql, target.key.size(), ", ", [&](size_t i) { return QuotedIdentifier(target.key[i]); });
  std::vector<std::string> updates;
  for (const size_t column : columns) {
    const TableColumn& one = table.columns[column];
    if (one.always_identity || std::ranges::find(target.key, one.name) != target.key.end()) continue;
    updates.push_back(QuotedIdentifier(one.name) + " = EXCLUDED." + QuotedIdentifier(one.name));
  }
  if (updates.empty()) return sql + ") DO NOTHING";
  sql += ") DO UPDATE SET ";
  AppendJoined(sql, updates.size(), ", ", [&](size_t i) { return updates[i]; });
  if (!target.version_column.empty()) {
    const std::string version = QuotedIdentifier(target.version_column);
    sql += " WHERE t." + version + " IS NULL OR t." + version + " <= EXCLUDED." + version;
  }
  return sql;
}

}  // namespace

std::string QuotedIdentifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

std::optional<size_t> TargetTable::Find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &TableColumn::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

std::string TargetTable::ColumnList() const {
  std::string list;
  AppendJoined(list, columns.size(), ", ", [this](size_t i) { return columns[i].name; });
  return list;
}

Result<TargetTable> LoadTargetTable(PostgresSession& session, const PostgresTableName& name) {
  const std::string quoted = name.Quoted();
  WEIR_ASSIGN_OR_RETURN(
      const PostgresAnswer answer,
      session.ExecuteOne({.sql = "SELECT a.attname, format_type(a.atttypid, -1), a.attgenerated <> '', "
                                 "a.attidentity = 'a', y.typcategory = 'N', "
                                 "array_position((i.indkey::int2[])[0:i.indnkeyatts - 1], a.attnum) "
                                 "FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid "
                                 "LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary "
                                 "WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped "
                                 "ORDER BY a.attnum",
                          .parameters = {PostgresParameter::Text(quoted)}}));
  if (answer.rows.empty()) return Error(Status::FailedPrecondition("there is no table " + name.ToString()));
  TargetTable table{.name = name};
  std::vector<std::pair<int, std::string>> key;
  for (const auto& row : answer.rows) {
    const auto text = [&](size_t i) { return row[i].value_or(std::string()); };
    table.columns.push_back({.name = text(0),
                             .type = text(1),
                             .generated = text(2) == "t",
                             .always_identity = text(3) == "t",
                             .is_number = text(4) == "t"});
    int place = 0;
    const std::string position = text(5);
    std::from_chars(position.data(), position.data() + position.size(), place);
    if (!position.empty()) key.emplace_back(place, text(0));
  }
  std::ranges::sort(key);
  for (auto& [place, column] : key) table.primary_key.push_back(std::move(column));
  return table;
}

Result<bool> TableExists(PostgresSession& session, const PostgresTableName& name) {
  const std::string quoted = name.Quoted();
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session.ExecuteOne({.sql = "SELECT to_regclass($1) IS NOT NULL",
                                            .parameters = {PostgresParameter::Text(quoted)}}));
  return answer.rows.at(0).at(0) == "t";
}

std::string InsertSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) {
  std::string sql = "INSERT INTO " + table.name.Quoted() + " AS t (";
  AppendJoined(sql, columns.size(), ", ", [&](size_t i) { return QuotedIdentifier(table.columns[columns[i]].name); });
  sql += ") ";
  const auto identity = [&](size_t column) { return table.columns[column].always_identity; };
  if (std::ranges::any_of(columns, identity)) sql += "OVERRIDING SYSTEM VALUE ";
  sql += CastRows(table, columns);
  if (target.upsert) sql += ConflictClause(table, target, columns);
  return sql;
}

std::string DeleteSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) {
  std::string sql = "DELETE FROM " + table.name.Quoted() + " AS t USING (" + CastRows(table, columns) + ") AS d WHERE ";
  AppendJoined(sql, target.key.size(), " AND ",
               [&](size_t i) { return "t." + QuotedIdentifier(target.key[i]) + " = d.c" + std::to_string(i); });
  if (columns.size() > target.key.size()) {
    const std::string version = "t." + QuotedIdentifier(target.version_column);
    sql += " AND (" + version + " IS NULL OR " + version + " <= d.c" + std::to_string(target.key.size()) + ")";
  }
  return sql;
}

}  // namespace weir::connectors
