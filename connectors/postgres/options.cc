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
       .required = true,
       .doc =
           "The table to write, schema.table or a table of schema public; it must exist. Case sensitive; a part with "
           "a dot is written in double quotes."},
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

std::string PostgresTableName::Quoted() const { return QuotedIdentifier(schema) + "." + QuotedIdentifier(table); }

std::vector<OptionSpec> PostgresSinkOptionSpecs() {
  std::vector<OptionSpec> specs = PostgresConnectionOptionSpecs();
  for (OptionSpec& spec : PostgresTargetOptionSpecs()) specs.push_back(std::move(spec));
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

void CheckPostgresSinkOptions(const Options& options, const PostgresClientFactory& factory, Problems& problems) {
  if (!factory.AddressOf(options.String("connection")).has_value()) {
    problems.push_back({options.PathOf("connection"), "<secret>", "a libpq connection text or postgresql:// URI",
                        "connection is no libpq connection text or URI"});
  }
  for (const std::string_view name : {"table", "dead-letter-table"}) {
    if (!options.Has(name)) continue;
    const Result<PostgresTableName> table = PostgresTableName::Parse(options.String(name));
    if (!table.has_value()) {
      problems.push_back({options.PathOf(name), options.String(name), "a table like orders or sales.orders",
                          std::string(name) + ": " + table.error().message()});
    }
  }
  const bool extras = options.String("unknown-columns") == "extras";
  if (extras != options.Has("extras-column")) {
    problems.push_back({options.PathOf("extras-column"), "", extras ? "a column's name" : "no such member",
                        extras ? "extras-column is needed with unknown-columns extras"
                               : "extras-column has a meaning only with unknown-columns extras"});
  }
  if (options.String("mode") != "append") return;
  for (const std::string_view name : {"key", "version-column"}) {
    if (!options.Has(name)) continue;
    problems.push_back(
        {options.PathOf(name), "", "no such member", std::string(name) + " has a meaning only with mode upsert"});
  }
}

PostgresSinkOptions ParsePostgresSinkOptions(const Options& options) {
  PostgresSinkOptions result;
  result.connection = {.conninfo = options.String("connection"),
                       .connect_timeout = options.Time("connect-timeout"),
                       .statement_timeout = options.Time("statement-timeout")};
  result.target.table = PostgresTableName::Parse(options.String("table")).value_or(PostgresTableName{});
  result.target.upsert = options.String("mode") == "upsert";
  if (options.Has("key")) result.target.key = options.Strings("key");
  if (options.Has("version-column")) result.target.version_column = options.String("version-column");
  const std::string& unknown = options.String("unknown-columns");
  if (unknown == "ignore") result.policies.unknown_columns = PostgresUnknownColumns::kIgnore;
  if (unknown == "extras") result.policies.unknown_columns = PostgresUnknownColumns::kExtras;
  if (options.Has("extras-column")) result.policies.extras_column = options.String("extras-column");
  if (options.Has("dead-letter-table")) {
    const auto table = PostgresTableName::Parse(options.String("dead-letter-table"));
    if (table.has_value()) result.policies.dead_letters = *table;
  }
  result.marker_schema = options.String("marker-schema");
  result.fence_timeout = options.Time("fence-timeout");
  result.exactly_once = options.String("delivery") == "exactly-once";
  return result;
}

}  // namespace weir::connectors
