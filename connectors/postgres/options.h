// What a definition may say about a postgres sink. The structs' members are the JSON keys; OptionSpecs carry the
// documentation. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/table_rules.h"
#include "operators/options.h"

namespace weir::connectors {

// `orders` is public.orders; parts are case sensitive, and one with a dot or a quote is written in double quotes, as in
// SQL: sales."Q1.2026".
struct PostgresTableName {
  std::string schema;
  std::string table;
  static Result<PostgresTableName> Parse(std::string_view text);
  std::string Quoted() const;  // "sales"."Q1.2026", each part in quotes
  std::string ToString() const { return schema + "." + table; }
  friend bool operator==(const PostgresTableName&, const PostgresTableName&) = default;
};

// Where rows go and how: sealed with them into their segment.
struct PostgresTarget {
  PostgresTableName table = {};
  bool upsert = false;                // otherwise append
  std::vector<std::string> key = {};  // of an upsert; empty: the table's primary key
  std::string version_column = {};    // of an upsert: a row never overwrites one with a greater value here; empty: none
  // The row itself named the table: its name and its columns' match without regard to case where none is the same to
  // the letter, and `key_column`, if not empty, holds the key as a JSON array for deletions that have only that.
  bool named_by_row = false;
  std::string key_column = {};
  PostgresTableRules rules = {};

  // Columns that say which of two rows of a key is newer; empty: the one that comes later.
  std::vector<std::string> versions() const;
  // Whether a row is written is known by the server alone.
  bool decided_by_server() const;
  friend bool operator==(const PostgresTarget&, const PostgresTarget&) = default;
};

inline constexpr char kPostgresDeletedTable[] = "weir_deleted";
inline constexpr char kPostgresWaitingTable[] = "weir_waiting";

enum class PostgresUnknownColumns : uint8_t { kFail, kIgnore, kExtras };
enum class PostgresMissingTable : uint8_t { kFail, kDeadLetter, kIgnore };
enum class PostgresOrdering : uint8_t { kArrival, kForeignKeys };

// Of the whole connection: all sinks of a job on one database say the same.
struct PostgresPolicies {
  // A row's column that the table lacks refuses the row, is left out, or goes into one object with others of its kind.
  PostgresUnknownColumns unknown_columns = PostgresUnknownColumns::kFail;
  std::string extras_column = {};                   // of kExtras: that object's column
  std::optional<PostgresTableName> dead_letters{};  // nothing: a row that the server refuses stops the job
  std::optional<PostgresTableName> deleted_keys{};  // nothing: deletions leave no trace
  int64_t deleted_retention_ms = 0;
  std::optional<PostgresTableName> waiting{};  // nothing: a row that a foreign key refuses is refused as others are
  PostgresMissingTable missing_table = PostgresMissingTable::kFail;
  PostgresOrdering ordering = PostgresOrdering::kArrival;  // of the rows of a transaction
};

// What a row's columns are for.
struct PostgresRowColumns {
  std::string table_column = {};                       // holds the row's table; empty: all rows have the target's
  std::vector<std::string> without_columns{};          // not written
  bool times = false;                                  // event times are wanted also where rows name no table
  std::map<std::string, PostgresTableRules> tables{};  // by the name that rows have
};

struct PostgresSinkOptions {
  PostgresConnection connection;
  PostgresTarget target;
  PostgresRowColumns columns;
  PostgresPolicies policies;
  bool frontier = false;  // the marker shows how far the source has been applied
  std::string marker_schema;
  Duration fence_timeout{};  // how long a fence waits for the holder of the marker's row before it ends it
  bool exactly_once = true;
};

std::vector<operators::OptionSpec> PostgresSinkOptionSpecs();
void CheckPostgresSinkOptions(const operators::Options& options, const PostgresClientFactory& factory,
                              operators::Problems& problems);
// Of options that passed the check.
PostgresSinkOptions ParsePostgresSinkOptions(const operators::Options& options);

}  // namespace weir::connectors
