// What the option `tables` of a sink of many tables says of one of them: other names, columns that are left out or
// computed, which row wins. Sealed with the rows. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/options.h"

namespace weir::connectors {

struct PostgresTableRules {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string table = {};                         // its name in the database; empty: as the rows name it
  Pairs renames = {};                             // row's column, table's column
  std::vector<std::string> ignored = {};          // row's columns
  std::string extras_column = {};                 // empty: as the sink says
  Pairs expressions = {};                         // table's column, SQL with $0 for the row's value
  std::vector<std::string> version_columns = {};  // of the table; a row is written only if it is greater
  Pairs deadlines = {};                           // table's column, ms: what is older is left out
  bool keeps_deleted = false;                     // deletions are left out
  friend bool operator==(const PostgresTableRules&, const PostgresTableRules&) = default;

  bool empty() const { return *this == PostgresTableRules(); }
  const std::string& NameOf(const std::string& column) const;  // renamed
  bool Ignores(std::string_view column) const;
  // Null: none.
  const std::string* ExpressionOf(std::string_view column) const;
};

std::vector<operators::OptionSpec> PostgresTableRulesSpecs();
void CheckPostgresTableRules(const operators::Options& of_table, operators::Problems& problems);
// Of options that passed the check.
PostgresTableRules ParsePostgresTableRules(const operators::Options& of_table);

}  // namespace weir::connectors
