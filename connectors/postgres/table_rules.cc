#include "connectors/postgres/table_rules.h"

#include <algorithm>

#include "connectors/postgres/merge_sql.h"
#include "operators/options_check.h"

namespace weir::connectors {
namespace {

using operators::OptionSpec;
using operators::OptionType;

const std::string* Find(const PostgresTableRules::Pairs& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == pairs.end() ? nullptr : &found->second;
}

PostgresOnConflict ConflictOf(const std::string& name) {
  if (name == "fail") return PostgresOnConflict::kFail;
  if (name == "dead-letter") return PostgresOnConflict::kDeadLetter;
  if (name == "merge") return PostgresOnConflict::kMerge;
  return name == "overwrite" ? PostgresOnConflict::kOverwrite : PostgresOnConflict::kDrop;
}

OptionSpec MergeSpec() {
  return {
      .name = "merge",
      .type = OptionType::kObject,
      .doc = "With on-conflict merge: what to do with columns that both sides have changed.",
      .members = {
          {.name = "columns",
           .type = OptionType::kStringMap,
           .doc = "SQL of the database for a column that both sides have changed, of the table's name for it: {qty: "
                  "\"$target + $proposed - $before\"}. $before is NULL where the row brings no old value."},
          {.name = "otherwise",
           .type = OptionType::kEnum,
           .default_text = "fail",
           .doc = "What to do with a row if both sides have changed another column: fail, drop the row and keep the "
                  "target's, put it into dead-letter-table, or overwrite that column.",
           .choices = {"fail", "drop", "dead-letter", "overwrite"}},
      }};
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

const std::string* PostgresTableRules::MergeOf(std::string_view column) const { return Find(merged, column); }

std::vector<OptionSpec> PostgresTableRulesSpecs() {
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
      {.name = "on-conflict",
       .type = OptionType::kEnum,
       .default_text = "drop",
       .doc =
           "With delivery exactly-once: what to do with a row that its version or a deadline refuses: drop it, fail, "
           "or put it into dead-letter-table. merge: a row is written where it changes what nobody else has changed "
           "in the target, which its old image (-U) tells; see merge.",
       .choices = {"drop", "fail", "dead-letter", "merge"}},
      MergeSpec(),
  };
}

namespace {

void CheckConflict(const operators::Options& of_table, const PostgresRulesPlace& place, operators::Problems& problems) {
  const std::string& on_conflict = of_table.String("on-conflict");
  const auto problem = [&](const std::string& expected, const std::string& message) {
    problems.push_back({of_table.PathOf("on-conflict"), on_conflict, expected, message});
  };
  if (on_conflict == "drop") return;
  if (!place.exactly_once) {
    problem("delivery exactly-once, or drop",
            "on-conflict " + on_conflict +
                " needs delivery exactly-once: rows that are written a second time would look like conflicts");
  }
  const bool refuses = !place.version_column.empty() || !of_table.Strings("version-columns").empty() ||
                       !of_table.StringMap("deadlines").empty();
  if (on_conflict != "merge" && !refuses) {
    problem("version-columns, version-column or deadlines, or merge",
            "on-conflict " + on_conflict + " has a meaning only with versions or deadlines, which refuse rows");
  }
  if (on_conflict == "dead-letter" && !place.has_dead_letters) {
    problem("dead-letter-table", "dead-letter-table is needed with on-conflict dead-letter");
  }
}

void CheckMerge(const operators::Options& of_table, const PostgresRulesPlace& place, operators::Problems& problems) {
  if (!of_table.Has("merge")) return;
  if (of_table.String("on-conflict") != "merge") {
    problems.push_back({of_table.PathOf("merge"), "", "on-conflict: merge, or no such member",
                        "merge has a meaning only with on-conflict merge"});
  }
  const operators::Options merge = of_table.Object("merge");
  if (merge.String("otherwise") == "dead-letter" && !place.has_dead_letters) {
    problems.push_back({merge.PathOf("otherwise"), "dead-letter", "dead-letter-table",
                        "dead-letter-table is needed with otherwise dead-letter"});
  }
  std::vector<std::string> versions = of_table.Strings("version-columns");
  if (versions.empty()) versions.push_back(place.version_column);
  for (const auto& [column, sql] : merge.StringMap("columns")) {
    const std::string path = merge.PathOf("columns") + "/" + column;
    if (std::ranges::find(versions, column) != versions.end()) {
      problems.push_back({path, sql, "a column that is no version",
                          "columns: \"" + column + "\" is a version column, which keeps the greater value"});
    }
    if (sql.find_first_not_of(' ') == std::string::npos) {
      problems.push_back(
          {path, sql, "SQL with $before, $target and $proposed", "columns: \"" + column + "\" has no SQL"});
    }
    if (const std::string wrong = WrongMergeName(sql); !wrong.empty()) {
      problems.push_back({path, sql, "SQL with $before, $target and $proposed",
                          "columns: " + wrong + " in \"" + sql + "\" is none of $before, $target and $proposed"});
    }
  }
}

}  // namespace

void CheckPostgresTableRules(const operators::Options& of_table, const PostgresRulesPlace& place,
                             operators::Problems& problems) {
  for (const auto& [column, duration] : of_table.StringMap("deadlines")) {
    if (operators::ParseDurationMs(duration).value_or(0) > 0) continue;
    problems.push_back({of_table.PathOf("deadlines") + "/" + column, duration, "a duration like 5m",
                        "deadlines: \"" + duration + "\" is no duration like 5m"});
  }
  CheckConflict(of_table, place, problems);
  CheckMerge(of_table, place, problems);
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
  rules.on_conflict = ConflictOf(of_table.String("on-conflict"));
  if (of_table.Has("merge")) {
    const operators::Options merge = of_table.Object("merge");
    rules.merged = merge.StringMap("columns");
    rules.unmerged = ConflictOf(merge.String("otherwise"));
  }
  return rules;
}

}  // namespace weir::connectors
