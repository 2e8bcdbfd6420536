#include "connectors/postgres/options.h"

#include <utility>

#include "connectors/postgres/sql.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problems;

std::vector<OptionSpec> PostgresTargetOptionSpecs() {
  return {
      {.name = "table",
       .type = OptionType::kString,
       .doc =
           "The table to write, schema.table or a table of schema public; it must exist. Case sensitive; a part with "
           "a dot is written in double quotes. Either this or table-column."},
      {.name = "table-column",
       .type = OptionType::kString,
       .doc = "Instead of table: the column in which each row names its table, without a schema. Names of tables and "
              "columns match without regard to case where none is the same to the letter.",
       .min = 1},
      {.name = "schema",
       .type = OptionType::kString,
       .doc = "With table-column: the schema in which the tables are. Default: public.",
       .min = 1},
      {.name = "without-columns", .type = OptionType::kStringList, .doc = "Columns of the rows that are not written."},
      {.name = "key-column",
       .type = OptionType::kString,
       .doc = "With table-column: a column of the rows with the key as a JSON array, in the order of the table's "
              "primary key. A deletion that lacks the key's columns takes them from there. It is not written.",
       .min = 1},
      {.name = "mode",
       .type = OptionType::kEnum,
       .default_text = "upsert",
       .doc = "upsert: +I and +U insert or update by key, -D deletes, -U deletes unless its +U keeps the key. append: "
              "each +I and +U is a new row, -U is left out, -D refused.",
       .choices = {"upsert", "append"}},
      {.name = "key",
       .type = OptionType::kStringList,
       .doc = "With mode upsert: the columns of a unique index by which rows are found. Without: the primary key."},
      {.name = "version-column",
       .type = OptionType::kString,
       .doc = "With mode upsert: a row overwrites another only if its value in this column is not smaller.",
       .min = 1},
  };
}

std::vector<OptionSpec> PostgresConnectionOptionSpecs() {
  return {
      {.name = "connection",
       .type = OptionType::kString,
       .required = true,
       .doc = "Where the database is: libpq's key=value text or a postgresql:// URI. Take a password from the "
              "environment or a file by ${...}, or leave it to libpq's password file.",
       .min = 1,
       .secret = true},
      {.name = "connect-timeout",
       .type = OptionType::kDuration,
       .default_text = "10s",
       .doc = "How long to wait for a connection, in whole seconds.",
       .min = 2'000,
       .max = 600'000},
      {.name = "statement-timeout",
       .type = OptionType::kDuration,
       .default_text = "5m",
       .doc = "How long one statement (at most 1,000 rows) may take at the server.",
       .min = 100,
       .max = 86'400'000},
  };
}

std::vector<OptionSpec> PostgresTablesOptionSpecs() {
  return {
      {.name = "tables",
       .type = OptionType::kObjectMap,
       .doc = "With table-column: what is special about a table, by the name that rows have.",
       .members = PostgresTableRulesSpecs()},
      {.name = "on-missing-table",
       .type = OptionType::kEnum,
       .default_text = "fail",
       .doc = "With table-column: what to do with a row whose table is not there: fail, put it into dead-letter-table, "
              "or ignore it. The same for all sinks of a job on one database.",
       .choices = {"fail", "dead-letter", "ignore"}},
      {.name = "ordering",
       .type = OptionType::kEnum,
       .doc = "foreign-keys: within a transaction first what is inserted and updated, referenced tables before those "
              "that refer to them, then what is deleted, the other way round. arrival: as the rows come. Default: "
              "foreign-keys with table-column, otherwise arrival. The same for all sinks of a job on one database.",
       .choices = {"foreign-keys", "arrival"}},
      {.name = "on-missing-parent",
       .type = OptionType::kEnum,
       .default_text = "fail",
       .doc =
           "What to do with a row that a foreign key refuses. fail: as with other rows that the server refuses. "
           "wait, with mode upsert: it waits in table weir_waiting, beside weir_markers, and is tried again by later "
           "transactions. The same for all sinks of a job on one database.",
       .choices = {"fail", "wait"}},
      {.name = "deleted-retention",
       .type = OptionType::kDuration,
       .doc = "How long table weir_deleted, beside weir_markers, remembers keys that were deleted by a row with a "
              "version, so that an older row never comes back; 0: not at all. Default: 24h with table-column, "
              "otherwise 0. The same for all sinks of a job on one database.",
       .min = 0},
      {.name = "frontier",
       .type = OptionType::kBool,
       .doc = "With delivery exactly-once: the column frontier of weir_markers shows the time up to which the source "
              "has been applied, in the transaction that does so. Default: true with table-column."},
  };
}

}  // namespace

Result<PostgresTableName> PostgresTableName::Parse(std::string_view text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      parts.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() == 1) parts.insert(parts.begin(), "public");
  if (quoted || parts.size() != 2 || parts[0].empty() || parts[1].empty() || text.contains('\0')) {
    return Error(Status::InvalidArgument(std::string(text) + " is not a table like orders or sales.orders"));
  }
  return PostgresTableName{std::move(parts[0]), std::move(parts[1])};
}

std::vector<std::string> PostgresTarget::versions() const {
  if (!rules.version_columns.empty() || version_column.empty()) return rules.version_columns;
  return {version_column};
}

bool PostgresTarget::decided_by_server() const {
  return !version_column.empty() || !rules.version_columns.empty() || !rules.deadlines.empty();
}

std::string PostgresTableName::Quoted() const { return QuotedIdentifier(schema) + "." + QuotedIdentifier(table); }

std::vector<OptionSpec> PostgresSinkOptionSpecs() {
  std::vector<OptionSpec> specs = PostgresConnectionOptionSpecs();
  for (OptionSpec& spec : PostgresTargetOptionSpecs()) specs.push_back(std::move(spec));
  for (OptionSpec& spec : PostgresTablesOptionSpecs()) specs.push_back(std::move(spec));
  const std::vector<OptionSpec> more = {
      {.name = "delivery",
       .type = OptionType::kEnum,
       .default_text = "exactly-once",
       .doc =
           "exactly-once: the rows of a checkpoint appear in one transaction when it is durable. at-least-once: rows "
           "are written as they come; a restart writes some again, which an upsert does not show.",
       .choices = {"exactly-once", "at-least-once"}},
      {.name = "unknown-columns",
       .type = OptionType::kEnum,
       .default_text = "fail",
       .doc = "What to do with a row's column that the table does not have: fail, ignore it, or put all of them as one "
              "JSON object into extras-column. The same for all sinks of a job on one database.",
       .choices = {"fail", "ignore", "extras"}},
      {.name = "extras-column",
       .type = OptionType::kString,
       .doc =
           "With unknown-columns extras: a column of the table, of type json, jsonb or text; NULL where a row has no "
           "others.",
       .min = 1},
      {.name = "dead-letter-table",
       .type = OptionType::kString,
       .doc = "A table for rows that the server refuses (values and constraints), made if it is missing and written in "
              "the same transaction; without it such a row stops the job. The same for all sinks of a job on one "
              "database.",
       .min = 1},
      {.name = "marker-schema",
       .type = OptionType::kString,
       .default_text = "public",
       .doc = "The schema of the table weir_markers, which holds how far each job's output has come; it is made if it "
              "is missing.",
       .min = 1},
      {.name = "fence-timeout",
       .type = OptionType::kDuration,
       .default_text = "5s",
       .doc = "How long a start waits for an older process that holds the job's marker before it ends its session.",
       .min = 100,
       .max = 600'000},
  };
  specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}

namespace {

void CheckNames(const Options& options, Problems& problems) {
  for (const std::string_view name : {"table", "dead-letter-table"}) {
    if (!options.Has(name)) continue;
    const Result<PostgresTableName> table = PostgresTableName::Parse(options.String(name));
    if (!table.has_value()) {
      problems.push_back({options.PathOf(name), options.String(name), "a table like orders or sales.orders",
                          std::string(name) + ": " + table.error().message()});
    }
  }
  if (options.Has("table") == options.Has("table-column")) {
    problems.push_back({options.PathOf("table"), "", "either table or table-column",
                        options.Has("table") ? "table and table-column exclude each other"
                                             : "table is missing: expected table, or table-column"});
  }
}

// Members that have a meaning only if another one is there, or has a certain value.
void CheckCompany(const Options& options, Problems& problems) {
  const auto needs = [&](std::string_view name, bool has_meaning, const std::string& where) {
    if (!options.Has(name) || has_meaning) return;
    problems.push_back(
        {options.PathOf(name), "", "no such member", std::string(name) + " has a meaning only with " + where});
  };
  const bool many = options.Has("table-column");
  for (const std::string_view name : {"schema", "key-column", "tables"}) needs(name, many, "table-column");
  needs("key", !many, "table: with table-column it is each table's primary key");
  needs("frontier", options.String("delivery") == "exactly-once", "delivery exactly-once");
  const bool upsert = options.String("mode") == "upsert";
  for (const std::string_view name : {"key", "version-column", "key-column", "tables"})
    needs(name, upsert, "mode upsert");
  if (options.String("on-missing-table") != "fail") needs("on-missing-table", many, "table-column");
  if (options.String("on-missing-table") == "dead-letter" && !options.Has("dead-letter-table")) {
    problems.push_back({options.PathOf("dead-letter-table"), "", "a table's name",
                        "dead-letter-table is needed with on-missing-table dead-letter"});
  }
  if (options.String("on-missing-parent") == "wait") needs("on-missing-parent", upsert, "mode upsert");
  const bool extras = options.String("unknown-columns") == "extras";
  if (extras && !options.Has("extras-column")) {
    problems.push_back({options.PathOf("extras-column"), "", "a column's name",
                        "extras-column is needed with unknown-columns extras"});
  }
  needs("extras-column", extras, "unknown-columns extras");
}

PostgresPolicies ParsePolicies(const Options& options) {
  PostgresPolicies policies;
  const std::string& unknown = options.String("unknown-columns");
  if (unknown == "ignore") policies.unknown_columns = PostgresUnknownColumns::kIgnore;
  if (unknown == "extras") policies.unknown_columns = PostgresUnknownColumns::kExtras;
  if (options.Has("extras-column")) policies.extras_column = options.String("extras-column");
  if (options.Has("dead-letter-table")) {
    const auto table = PostgresTableName::Parse(options.String("dead-letter-table"));
    if (table.has_value()) policies.dead_letters = *table;
  }
  const std::string& missing = options.String("on-missing-table");
  if (missing == "dead-letter") policies.missing_table = PostgresMissingTable::kDeadLetter;
  if (missing == "ignore") policies.missing_table = PostgresMissingTable::kIgnore;
  const int64_t retention_ms =
      options.Has("deleted-retention")
          ? std::chrono::duration_cast<std::chrono::milliseconds>(options.Time("deleted-retention")).count()
          : (options.Has("table-column") ? 86'400'000 : 0);
  if (retention_ms > 0) {
    policies.deleted_retention_ms = retention_ms;
    policies.deleted_keys = PostgresTableName{options.String("marker-schema"), kPostgresDeletedTable};
  }
  if (options.String("on-missing-parent") == "wait") {
    policies.waiting = PostgresTableName{options.String("marker-schema"), kPostgresWaitingTable};
  }
  const bool by_keys =
      options.Has("ordering") ? options.String("ordering") == "foreign-keys" : options.Has("table-column");
  if (by_keys) policies.ordering = PostgresOrdering::kForeignKeys;
  return policies;
}

}  // namespace

void CheckPostgresSinkOptions(const Options& options, const PostgresClientFactory& factory, Problems& problems) {
  if (!factory.AddressOf(options.String("connection")).has_value()) {
    problems.push_back({options.PathOf("connection"), "<secret>", "a libpq connection text or postgresql:// URI",
                        "connection is no libpq connection text or URI"});
  }
  CheckNames(options, problems);
  CheckCompany(options, problems);
  for (const auto& [table, rules] : options.ObjectMap("tables")) CheckPostgresTableRules(rules, problems);
}

PostgresSinkOptions ParsePostgresSinkOptions(const Options& options) {
  PostgresSinkOptions result;
  result.connection = {.conninfo = options.String("connection"),
                       .connect_timeout = options.Time("connect-timeout"),
                       .statement_timeout = options.Time("statement-timeout")};
  const bool many = options.Has("table-column");
  if (many) {
    result.target.named_by_row = true;
    result.target.table.schema = options.Has("schema") ? options.String("schema") : "public";
    result.columns.table_column = options.String("table-column");
  } else {
    result.target.table = PostgresTableName::Parse(options.String("table")).value_or(PostgresTableName{});
  }
  if (options.Has("without-columns")) result.columns.without_columns = options.Strings("without-columns");
  for (const auto& [table, rules] : options.ObjectMap("tables")) {
    result.columns.tables[table] = ParsePostgresTableRules(rules);
  }
  if (options.Has("key-column")) result.target.key_column = options.String("key-column");
  result.target.upsert = options.String("mode") == "upsert";
  if (options.Has("key")) result.target.key = options.Strings("key");
  if (options.Has("version-column")) result.target.version_column = options.String("version-column");
  result.policies = ParsePolicies(options);
  result.marker_schema = options.String("marker-schema");
  result.fence_timeout = options.Time("fence-timeout");
  result.exactly_once = options.String("delivery") == "exactly-once";
  result.frontier = result.exactly_once && (options.Has("frontier") ? options.Bool("frontier") : many);
  result.columns.times = result.frontier || result.policies.waiting.has_value();
  return result;
}

}  // namespace weir::connectors
