#include "connectors/postgres/table_rules.h"

#include <algorithm>

#include "operators/options_check.h"

namespace weir::connectors {
namespace {

using operators::OptionType;

const std::string* Find(const PostgresTableRules::Pairs& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == pairs.end() ? nullptr : &found->second;
}

}  // namespace

const std::string& PostgresTableRules::NameOf(const std::string& column) const {
  const std::string* const other = Find(renames, column);
  return other == nullptr ? column : *other;
}

bool PostgresTableRules::Ignores(std::string_view column) const {
  return std::ranges::find(ignored, column) != ignored.end();
}

const std::string* PostgresTableRules::ExpressionOf(std::string_view column) const { return Find(expressions, column); }

std::vector<operators::OptionSpec> PostgresTableRulesSpecs() {
  return {
      {.name = "table",
       .type = OptionType::kString,
       .doc = "The table's name in the database, in the sink's schema. Default: as the rows name it.",
       .min = 1},
      {.name = "rename",
       .type = OptionType::kStringMap,
       .doc = "Columns of the rows with another name in the table: {name in the row: name in the table}."},
      {.name = "ignore", .type = OptionType::kStringList, .doc = "Columns of the rows that are not written."},
      {.name = "extras-column",
       .type = OptionType::kString,
       .doc = "A column of type json, jsonb or text for all that the table has no column for, as one JSON object.",
       .min = 1},
      {.name = "expressions",
       .type = OptionType::kStringMap,
       .doc = "SQL of the database for a column of the table, $0 is the row's value as the column's type: {total: "
              "\"round($0, 2)\"}. A row without a value there is not touched by it."},
      {.name = "version-columns",
       .type = OptionType::kStringList,
       .doc = "A row is written only if there is none with its key, or its values in these columns, in this order, are "
              "greater; a deletion that has them deletes nothing that is greater. What loses is counted in conflicts."},
      {.name = "deadlines",
       .type = OptionType::kStringMap,
       .doc = "Columns of type date or timestamp with a duration: {placed: 5m} leaves out rows whose value is older "
              "than 5 minutes at the server when it is written, counted in conflicts."},
      {.name = "delete",
       .type = OptionType::kEnum,
       .default_text = "apply",
       .doc = "ignore: rows that the source deletes stay.",
       .choices = {"apply", "ignore"}},
  };
}

void CheckPostgresTableRules(const operators::Options& of_table, operators::Problems& problems) {
  for (const auto& [column, duration] : of_table.StringMap("deadlines")) {
    if (operators::ParseDurationMs(duration).value_or(0) > 0) continue;
    problems.push_back({of_table.PathOf("deadlines") + "/" + column, duration, "a duration like 5m",
                        "deadlines: \"" + duration + "\" is no duration like 5m"});
  }
}

PostgresTableRules ParsePostgresTableRules(const operators::Options& of_table) {
  PostgresTableRules rules;
  if (of_table.Has("table")) rules.table = of_table.String("table");
  rules.renames = of_table.StringMap("rename");
  rules.ignored = of_table.Strings("ignore");
  if (of_table.Has("extras-column")) rules.extras_column = of_table.String("extras-column");
  rules.expressions = of_table.StringMap("expressions");
  rules.version_columns = of_table.Strings("version-columns");
  for (const auto& [column, duration] : of_table.StringMap("deadlines")) {
    rules.deadlines.emplace_back(column, std::to_string(operators::ParseDurationMs(duration).value_or(0)));
  }
  rules.keeps_deleted = of_table.String("delete") == "ignore";
  return rules;
}

}  // namespace weir::connectors
