// What sim_postgres.h reads out of the text of statements, and its answers. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/sim_postgres.h"

namespace weir::simulation {

inline SimPostgres::Cell Copy(const connectors::PostgresCell& cell) {
  return cell.has_value() ? SimPostgres::Cell(std::string(*cell)) : std::nullopt;
}

// Quoted identifiers of `sql` from `begin` up to `end`: ("a", "b""c").
inline std::vector<std::string> Names(std::string_view sql, size_t begin, size_t end) {
  std::vector<std::string> names;
  for (size_t at = begin; at < end; ++at) {
    if (sql[at] != '"') continue;
    std::string& name = names.emplace_back();
    for (++at; at < end; ++at) {
      if (sql[at] == '"' && (at + 1 >= end || sql[at + 1] != '"')) break;
      if (sql[at] == '"') ++at;
      name += sql[at];
    }
  }
  return names;
}

// "public.t" of a statement that has its table between `before` and `after`.
inline std::string TableOf(std::string_view sql, std::string_view before, std::string_view after) {
  const std::vector<std::string> names = Names(sql, before.size(), sql.find(after));
  return names.size() == 2 ? names[0] + "." + names[1] : std::string();
}

inline std::string TableOfQuoted(std::string_view quoted) {
  const std::vector<std::string> names = Names(quoted, 0, quoted.size());
  return names.size() == 2 ? names[0] + "." + names[1] : std::string();
}

inline connectors::PostgresAnswer Tagged(std::string tag, uint64_t affected = 0) {
  connectors::PostgresAnswer answer;
  answer.tag = std::move(tag);
  answer.affected = affected;
  return answer;
}

inline connectors::PostgresAnswer OneCell(SimPostgres::Cell cell) {
  connectors::PostgresAnswer answer;
  answer.rows.push_back({std::move(cell)});
  return answer;
}

inline SimPostgres::Cell CellOf(const SimPostgres::Row& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? std::nullopt : found->second;
}

}  // namespace weir::simulation
