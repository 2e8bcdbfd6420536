// What the option `tables` of a sink of many tables says of one of them: other names, columns that are left out or
// computed, which row wins. Sealed with the rows. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/options.h"

namespace weir::connectors {

// What becomes of a row that its target's row does not suit (merge.h). The numbers stand in segments.
enum class PostgresOnConflict : uint8_t { kDrop = 0, kFail = 1, kDeadLetter = 2, kMerge = 3, kOverwrite = 4 };

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
  PostgresOnConflict on_conflict = PostgresOnConflict::kDrop;
  Pairs merged = {};  // of kMerge: table's column, SQL with $before, $target, $proposed
  PostgresOnConflict unmerged = PostgresOnConflict::kFail;  // of kMerge: what can't be merged
  friend bool operator==(const PostgresTableRules&, const PostgresTableRules&) = default;

  bool empty() const { return *this == PostgresTableRules(); }
  const std::string& NameOf(const std::string& column) const;  // renamed
  bool Ignores(std::string_view column) const;
  // Null: none.
  const std::string* ExpressionOf(std::string_view column) const;
  const std::string* MergeOf(std::string_view column) const;
  // What becomes of a conflict if nothing merges it.
  PostgresOnConflict conflict_end() const { return on_conflict == PostgresOnConflict::kMerge ? unmerged : on_conflict; }
};

std::vector<operators::OptionSpec> PostgresTableRulesSpecs();
// What the sink says besides.
struct PostgresRulesPlace {
  bool exactly_once = true;
  std::string version_column = {};  // empty: none
  bool has_dead_letters = false;
};
void CheckPostgresTableRules(const operators::Options& of_table, const PostgresRulesPlace& place,
                             operators::Problems& problems);
// Of options that passed the check.
PostgresTableRules ParsePostgresTableRules(const operators::Options& of_table);

}  // namespace weir::connectors
