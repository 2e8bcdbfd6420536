// The simulated server's tables: its catalogue, and the statements that change rows.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "tests/simulation/sim_postgres.h"
#include "tests/simulation/sim_postgres_sql.h"

namespace weir::simulation {

using connectors::PostgresAnswer;
using connectors::PostgresStatement;

SimPostgres::Answer SimPostgres::RunOnCatalogue(const PostgresStatement& statement) const {
  if (statement.sql.contains("FROM pg_constraint")) return ForeignKeys();
  if (statement.sql.starts_with("SELECT c.relname")) {
    PostgresAnswer found;
    const std::string wanted =
        Copy(statement.parameters.at(0).text).value_or("") + "." + Copy(statement.parameters.at(1).text).value_or("");
    for (const auto& [name, table] : tables_) {
      if (std::ranges::equal(name, wanted, {}, ::tolower, ::tolower)) {
        found.rows.push_back({name.substr(name.find('.') + 1)});
      }
    }
    return found;
  }
  const std::string name = TableOfQuoted(statement.parameters.at(0).text.value_or(""));
  const auto table = tables_.find(name);
  if (statement.sql.starts_with("SELECT to_regclass")) return OneCell(table == tables_.end() ? "f" : "t");
  PostgresAnswer answer;
  if (table == tables_.end()) return answer;
  for (const std::string& column : table->second.columns) {
    const auto key = std::ranges::find(table->second.key, column);
    Cell place;
    if (key != table->second.key.end()) place = std::to_string(key - table->second.key.begin() + 1);
    answer.rows.push_back({column, "text", "f", "f", "f", place, "f"});
  }
  return answer;
}

SimPostgres::Answer SimPostgres::ForeignKeys() const {
  PostgresAnswer answer;
  for (const auto& [child, table] : tables_) {
    for (const auto& [column, parent] : table.references) {
      const std::string oid = std::to_string(answer.rows.size());
      const bool is_key = std::ranges::find(table.key, column) != table.key.end();
      answer.rows.push_back({oid, child, parent, column, "f", is_key ? "t" : "f", tables_.at(parent).key.at(0),
                             child + "_" + column, "t", "f", child, parent});
    }
  }
  return answer;
}

// Immediate constraints: in the transaction's view at the end of the statement.
std::optional<SimPostgres::Refused> SimPostgres::Violation(const Backend& backend) const {
  std::map<std::string, Table> seen = tables_;
  for (const Write& write : *backend.transaction) ApplyTo(seen[write.table], write);
  for (const auto& [child, table] : seen) {
    for (const auto& [column, parent] : table.references) {
      const std::string& key = seen.at(parent).key.at(0);
      for (const Row& row : table.rows) {
        const Cell cell = CellOf(row, column);
        if (!cell.has_value()) continue;
        const bool there =
            std::ranges::any_of(seen.at(parent).rows, [&](const Row& other) { return CellOf(other, key) == cell; });
        if (!there) return Refused{"23503", child + "." + column + "=" + *cell + " is not in " + parent};
      }
    }
  }
  return std::nullopt;
}

SimPostgres::Answer SimPostgres::Checked(Backend& backend, PostgresAnswer answer) {
  if (!has_references_) return answer;
  std::optional<Refused> violation = Violation(backend);
  if (!violation.has_value()) return answer;
  return std::unexpected(std::move(*violation));
}

SimPostgres::Answer SimPostgres::RunInsert(Backend& backend, const PostgresStatement& statement) {
  const std::string_view sql = statement.sql;
  const std::string table = TableOf(sql, "INSERT INTO ", " AS t (");
  if (!tables_.contains(table)) return std::unexpected(Refused{"42P01", "relation " + table + " does not exist"});
  const size_t list = sql.find(" AS t (");
  const std::vector<std::string> columns = Names(sql, list, sql.find(") ", list));
  WEIR_CHECK_EQ(columns.size(), statement.parameters.size());
  std::vector<std::string> key;
  std::vector<std::string> updated;  // what the rows do not have gets its default
  if (const size_t conflict = sql.find(" ON CONFLICT ("); conflict != std::string_view::npos) {
    key = Names(sql, conflict, sql.find(')', conflict));
    updated = Names(sql, sql.find(')', conflict), sql.size());
  }
  const size_t count = statement.parameters.front().array.size();
  std::set<std::vector<Cell>> seen;
  for (size_t i = 0; i < count; ++i) {
    Write write{.table = table, .only_new = sql.contains("DO NOTHING"), .key = key, .row = {}};
    for (const std::string& column : updated) write.row[column] = std::nullopt;
    for (size_t c = 0; c < columns.size(); ++c) write.row[columns[c]] = Copy(statement.parameters[c].array[i]);
    std::vector<Cell> key_cells;
    for (const std::string& column : key) key_cells.push_back(CellOf(write.row, column));
    if (!key.empty() && !seen.insert(key_cells).second) {
      return std::unexpected(Refused{"21000", "ON CONFLICT DO UPDATE command cannot affect row a second time"});
    }
    backend.transaction->push_back(std::move(write));
  }
  return Checked(backend, Tagged("INSERT", count));
}

SimPostgres::Answer SimPostgres::RunDelete(Backend& backend, const PostgresStatement& statement) {
  const std::string_view sql = statement.sql;
  const std::string table = TableOf(sql, "DELETE FROM ", " AS t USING");
  if (!tables_.contains(table)) return std::unexpected(Refused{"42P01", "relation " + table + " does not exist"});
  const std::vector<std::string> key = Names(sql, sql.find(" WHERE "), sql.size());
  WEIR_CHECK_EQ(key.size(), statement.parameters.size());
  const size_t count = statement.parameters.front().array.size();
  for (size_t i = 0; i < count; ++i) {
    Write write{.table = table, .deletes = true, .key = key, .row = {}};
    for (size_t c = 0; c < key.size(); ++c) write.row[key[c]] = Copy(statement.parameters[c].array[i]);
    backend.transaction->push_back(std::move(write));
  }
  return Checked(backend, Tagged("DELETE", count));
}

// UPDATE "public"."t" AS t SET "a" = NULL FROM (...) AS d WHERE t."id" = d.c0
SimPostgres::Answer SimPostgres::RunEmpty(Backend& backend, const PostgresStatement& statement) {
  const std::string_view sql = statement.sql;
  const std::string table = TableOf(sql, "UPDATE ", " AS t SET ");
  if (!tables_.contains(table)) return std::unexpected(Refused{"42P01", "relation " + table + " does not exist"});
  const std::vector<std::string> emptied = Names(sql, sql.find(" SET "), sql.find(" FROM "));
  const std::vector<std::string> key = Names(sql, sql.find(" WHERE "), sql.size());
  const size_t count = statement.parameters.front().array.size();
  for (size_t i = 0; i < count; ++i) {
    Write write{.table = table, .only_there = true, .key = key, .row = {}};
    for (size_t c = 0; c < key.size(); ++c) write.row[key[c]] = Copy(statement.parameters[c].array[i]);
    for (const std::string& column : emptied) write.row[column] = std::nullopt;
    backend.transaction->push_back(std::move(write));
  }
  return Checked(backend, Tagged("UPDATE", count));
}

}  // namespace weir::simulation
