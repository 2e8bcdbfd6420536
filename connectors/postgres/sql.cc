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

bool SameButForCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string ValueSql(const TableColumn& column, const PostgresTarget& target, const std::string& number) {
  const std::string value = "r.c" + number + "::" + column.type;
  const std::string* const expression = target.rules.ExpressionOf(column.name);
  if (expression == nullptr) return value;
  std::string sql = "(" + *expression + ")";
  for (size_t at = sql.find("$0"); at != std::string::npos; at = sql.find("$0", at + value.size())) {
    sql.replace(at, 2, value);
  }
  return sql;
}

// " WHERE (r.c2::date > now() - interval '300000 ms') IS NOT FALSE AND NOT ...", for rows that are not too old.
std::string RowsFilter(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                       std::string_view without) {
  std::string sql;
  for (const auto& [column, ms] : target.rules.deadlines) {
    const auto cell = std::ranges::find(columns, table.Find(column).value_or(table.columns.size()));
    if (cell == columns.end()) continue;
    const std::string number = std::to_string(cell - columns.begin());
    sql += (sql.empty() ? " WHERE (r.c" : " AND (r.c") + number + "::" + table.columns[*cell].type +
           " > now() - interval '" + ms + " ms') IS NOT FALSE";
  }
  if (!without.empty()) sql += (sql.empty() ? " WHERE NOT " : " AND NOT ") + std::string(without);
  return sql;
}

std::string RowOf(const std::vector<std::string>& columns, std::string_view of) {
  std::string sql = "ROW(";
  AppendJoined(sql, columns.size(), ", ", [&](size_t i) { return std::string(of) + QuotedIdentifier(columns[i]); });
  return sql + ")";
}

std::string ConflictClause(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                           OnConflict on_conflict) {
  std::string sql = " ON CONFLICT (";
  AppendJoined(sql, target.key.size(), ", ", [&](size_t i) { return QuotedIdentifier(target.key[i]); });
  std::vector<std::string> updates;
  const auto update = [&](const TableColumn& one) {
    if (one.generated || one.always_identity || std::ranges::find(target.key, one.name) != target.key.end()) return;
    updates.push_back(QuotedIdentifier(one.name) + " = EXCLUDED." + QuotedIdentifier(one.name));
  };
  if (on_conflict == OnConflict::kReplace) {
    std::ranges::for_each(table.columns, update);
  } else {
    for (const size_t column : columns) update(table.columns[column]);
  }
  if (updates.empty() || on_conflict == OnConflict::kNothing) return sql + ") DO NOTHING";
  sql += ") DO UPDATE SET ";
  AppendJoined(sql, updates.size(), ", ", [&](size_t i) { return updates[i]; });
  if (on_conflict == OnConflict::kReplace) return sql;
  if (!target.rules.version_columns.empty()) {
    const std::string there = RowOf(target.rules.version_columns, "t.");
    sql += " WHERE " + there + " IS NULL OR " + there + (on_conflict == OnConflict::kUpdateSame ? " <= " : " < ") +
           RowOf(target.rules.version_columns, "EXCLUDED.");
  } else if (!target.version_column.empty()) {
    const std::string version = QuotedIdentifier(target.version_column);
    sql += " WHERE t." + version + " IS NULL OR t." + version + " <= EXCLUDED." + version;
  }
  return sql;
}

// Columns that a new row needs and these rows lack: what is in the table stands in for them.
std::vector<size_t> LackedColumns(const TargetTable& table, std::span<const size_t> columns) {
  std::vector<size_t> lacked;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].required && std::ranges::find(columns, i) == columns.end()) lacked.push_back(i);
  }
  return lacked;
}

std::string MatchKey(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                     std::string_view of_table, std::string_view of_rows) {
  std::string sql;
  AppendJoined(sql, target.key.size(), " AND ", [&](size_t i) {
    const auto cell = std::ranges::find(
        columns, target.key[i], [&](size_t column) -> const std::string& { return table.columns[column].name; });
    return std::string(of_table) + QuotedIdentifier(target.key[i]) + " = " + std::string(of_rows) +
           std::to_string(cell - columns.begin());
  });
  return sql;
}

// Of an upsert of rows that lack needed columns.
std::string FilledRows(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                       std::span<const size_t> lacked, std::string_view without) {
  std::string sql = "SELECT n.*";
  for (const size_t column : lacked) sql += ", o." + QuotedIdentifier(table.columns[column].name);
  return sql + " FROM (" + RowsSql(table, target, columns) + RowsFilter(table, target, columns, without) +
         ") AS n LEFT JOIN " + table.name.Quoted() + " AS o ON " + MatchKey(table, target, columns, "o.", "n.c");
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
                                 "array_position((i.indkey::int2[])[0:i.indnkeyatts - 1], a.attnum), "
                                 "a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' "
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
                             .is_number = text(4) == "t",
                             .required = text(6) == "t"});
    int place = 0;
    const std::string position = text(5);
    std::from_chars(position.data(), position.data() + position.size(), place);
    if (!position.empty()) key.emplace_back(place, text(0));
  }
  std::ranges::sort(key);
  for (auto& [place, column] : key) table.primary_key.push_back(std::move(column));
  return table;
}

std::optional<size_t> TargetTable::FindInAnyCase(std::string_view column) const {
  std::optional<size_t> only;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!SameButForCase(columns[i].name, column)) continue;
    if (only.has_value()) return std::nullopt;
    only = i;
  }
  return only;
}

Result<std::optional<PostgresTableName>> FindTable(PostgresSession& session, const PostgresTableName& name) {
  WEIR_ASSIGN_OR_RETURN(
      const PostgresAnswer answer,
      session.ExecuteOne({.sql = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                                 "WHERE n.nspname = $1 AND lower(c.relname) = lower($2) AND c.relkind IN ('r', 'p', "
                                 "'v', 'f')",
                          .parameters = {PostgresParameter::Text(name.schema), PostgresParameter::Text(name.table)}}));
  const bool only = answer.rows.size() == 1;
  for (const auto& row : answer.rows) {
    if (only || row[0] == name.table) return PostgresTableName{name.schema, row[0].value_or("")};
  }
  return std::optional<PostgresTableName>();
}

Result<bool> TableExists(PostgresSession& session, const PostgresTableName& name) {
  const std::string quoted = name.Quoted();
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer answer,
                        session.ExecuteOne({.sql = "SELECT to_regclass($1) IS NOT NULL",
                                            .parameters = {PostgresParameter::Text(quoted)}}));
  return answer.rows.at(0).at(0) == "t";
}

std::string QuotedLiteral(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + "'";
}

std::string RowsSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                    bool numbered) {
  std::string sql = "SELECT ";
  AppendJoined(sql, columns.size(), ", ", [&](size_t i) {
    const std::string number = std::to_string(i);
    return ValueSql(table.columns[columns[i]], target, number) + " AS c" + number;
  });
  sql += numbered ? ", r.o FROM unnest(" : " FROM unnest(";
  AppendJoined(sql, columns.size(), ", ", [](size_t i) { return "$" + std::to_string(i + 1) + "::text[]"; });
  sql += numbered ? ") WITH ORDINALITY AS r(" : ") AS r(";
  AppendJoined(sql, columns.size(), ", ", [](size_t i) { return "c" + std::to_string(i); });
  return sql + (numbered ? ", o)" : ")");
}

std::string ValuesSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                      const std::vector<std::string>& names) {
  std::string sql;
  AppendJoined(sql, names.size(), ", ", [&](size_t i) {
    const auto cell = std::ranges::find(columns, *table.Find(names[i]));
    return ValueSql(table.columns[*cell], target, std::to_string(cell - columns.begin()));
  });
  return sql;
}

std::string InsertSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                      OnConflict on_conflict, std::string_view without) {
  std::vector<size_t> named(columns.begin(), columns.end());
  std::vector<size_t> lacked;
  if (target.upsert && on_conflict != OnConflict::kReplace) lacked = LackedColumns(table, columns);
  named.insert(named.end(), lacked.begin(), lacked.end());
  std::string sql = "INSERT INTO " + table.name.Quoted() + " AS t (";
  AppendJoined(sql, named.size(), ", ", [&](size_t i) { return QuotedIdentifier(table.columns[named[i]].name); });
  sql += ") ";
  const auto identity = [&](size_t column) { return table.columns[column].always_identity; };
  if (std::ranges::any_of(columns, identity)) sql += "OVERRIDING SYSTEM VALUE ";
  sql += lacked.empty() ? RowsSql(table, target, columns) + RowsFilter(table, target, columns, without)
                        : FilledRows(table, target, columns, lacked, without);
  if (target.upsert) sql += ConflictClause(table, target, columns, on_conflict);
  return sql;
}

std::string DeletedRowsSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                           bool numbered) {
  std::string sql =
      "(" + RowsSql(table, target, columns, numbered) + ") AS d WHERE " + MatchKey(table, target, columns, "t.", "d.c");
  if (columns.size() == target.key.size()) return sql;
  if (!target.rules.version_columns.empty()) {
    const std::string there = RowOf(target.rules.version_columns, "t.");
    sql += " AND (" + there + " IS NULL OR " + there + " <= ROW(";
    AppendJoined(sql, columns.size() - target.key.size(), ", ",
                 [&](size_t i) { return "d.c" + std::to_string(target.key.size() + i); });
    return sql + "))";
  }
  const std::string version = "t." + QuotedIdentifier(target.version_column);
  sql += " AND (" + version + " IS NULL OR " + version + " <= d.c" + std::to_string(target.key.size()) + ")";
  return sql;
}

std::string TooOldSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) {
  std::string sql;
  const auto add = [&sql](const std::string& condition) { sql += (sql.empty() ? "" : " OR ") + condition; };
  if (const std::string due = RowsFilter(table, target, columns, {}); !due.empty()) {
    add("NOT (" + due.substr(std::string_view(" WHERE ").size()) + ")");
  }
  if (target.versions().empty()) return sql;
  const std::vector<std::string> versions = target.versions();
  std::string key;
  AppendJoined(key, target.key.size(), " AND ", [&](size_t i) {
    return "t." + QuotedIdentifier(target.key[i]) + " = " + ValuesSql(table, target, columns, {target.key[i]});
  });
  // As ConflictClause has it.
  const std::string there = RowOf(versions, "t.");
  const std::string older = target.rules.version_columns.empty() ? " <= " : " < ";
  add("EXISTS (SELECT FROM " + table.name.Quoted() + " AS t WHERE " + key + " AND (" + there + " IS NULL OR " + there +
      older + "ROW(" + ValuesSql(table, target, columns, versions) + ")) IS NOT TRUE)");
  return sql;
}

std::string DeleteSql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns) {
  return "DELETE FROM " + table.name.Quoted() + " AS t USING " + DeletedRowsSql(table, target, columns);
}

std::string EmptySql(const TargetTable& table, const PostgresTarget& target, std::span<const size_t> columns,
                     std::span<const size_t> emptied) {
  std::string sql = "UPDATE " + table.name.Quoted() + " AS t SET ";
  AppendJoined(sql, emptied.size(), ", ",
               [&](size_t i) { return QuotedIdentifier(table.columns[emptied[i]].name) + " = NULL"; });
  return sql + " FROM " + DeletedRowsSql(table, target, columns);
}

}  // namespace weir::connectors
