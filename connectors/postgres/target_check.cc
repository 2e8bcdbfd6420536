#include "connectors/postgres/target_check.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "connectors/postgres/foreign_keys.h"
#include "operators/raw_value.h"

namespace weir::connectors {

namespace {

// What `tables` says of one that is there: names and SQL that can only be wrong.
Status CheckRules(PostgresSession& session, const TargetTable& table, const std::string& path,
                  const PostgresTableRules& rules) {
  const auto check_column = [&](const std::string& option, const std::string& column) -> Status {
    if (table.Find(column).has_value()) return {};
    return Status::FailedPrecondition(path + "/" + option + ": table " + table.name.ToString() + " has no column \"" +
                                      column + "\"; its columns: " + table.ColumnList());
  };
  const auto check_sql = [&](const std::string& option, const std::string& column, std::string sql,
                             std::initializer_list<std::string_view> names) -> Status {
    WEIR_RETURN_IF_ERROR(check_column(option, column));
    const std::string shown = operators::QuotedExcerpt(sql);
    const std::string value = "NULL::" + table.columns[*table.Find(column)].type;
    for (const std::string_view name : names) {
      for (size_t at = sql.find(name); at != std::string::npos; at = sql.find(name, at + value.size())) {
        sql.replace(at, name.size(), value);
      }
    }
    const auto asked = session.ExecuteOne({"SELECT (" + sql + ") WHERE false"});
    if (asked.has_value() || asked.error().code() == StatusCode::kUnavailable) return {};
    return Status::FailedPrecondition(path + "/" + option + "/" + column + ": " + shown +
                                      " is no SQL for a column of " + table.name.ToString() + ": " +
                                      asked.error().message());
  };
  for (const std::string& column : rules.version_columns) {
    WEIR_RETURN_IF_ERROR(check_column("version-columns", column));
  }
  for (const auto& [column, ms] : rules.deadlines) WEIR_RETURN_IF_ERROR(check_column("deadlines", column));
  if (!rules.extras_column.empty()) WEIR_RETURN_IF_ERROR(check_column("extras-column", rules.extras_column));
  for (const auto& [column, sql] : rules.expressions) {
    WEIR_RETURN_IF_ERROR(check_sql("expressions", column, sql, {"$0"}));
  }
  for (const auto& [column, sql] : rules.merged) {
    WEIR_RETURN_IF_ERROR(check_sql("merge/columns", column, sql, {"$before", "$target", "$proposed"}));
  }
  return {};
}

// Those of one that is not there, which may still come, are looked at when its first row is.
Status CheckRules(PostgresSession& session, const PostgresSinkOptions& options) {
  for (const auto& [name, rules] : options.columns.tables) {
    PostgresTableName of = options.target.table;
    of.table = rules.table.empty() ? name : rules.table;
    WEIR_ASSIGN_OR_RETURN(const std::optional<PostgresTableName> found, FindTable(session, of));
    if (!found.has_value()) {
      LogWarning("tables/" + name + " of a postgres sink: there is no table " + of.ToString() + " yet");
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(const TargetTable table, LoadTargetTable(session, *found));
    WEIR_RETURN_IF_ERROR(CheckRules(session, table, "tables/" + name, rules));
  }
  return {};
}

}  // namespace

Result<TargetTable> FindTarget(const PostgresSinkOptions& options, PostgresClientFactory& factory) {
  WEIR_ASSIGN_OR_RETURN(const auto session, factory.Connect(options.connection));
  if (options.target.named_by_row) {
    if (options.policies.ordering == PostgresOrdering::kForeignKeys) {
      WEIR_ASSIGN_OR_RETURN(const std::vector<ForeignKey> keys, LoadForeignKeys(*session));
      WEIR_RETURN_IF_ERROR(CheckNoCycle(ForeignKeyOrder::Of(keys), options.target.table.schema));
    }
    WEIR_RETURN_IF_ERROR(CheckRules(*session, options));
    return TargetTable{};
  }
  WEIR_ASSIGN_OR_RETURN(TargetTable table, LoadTargetTable(*session, options.target.table));
  if (options.target.upsert && options.target.key.empty() && table.primary_key.empty()) {
    return Error(Status::FailedPrecondition("table " + table.name.ToString() +
                                            " has no primary key: mode upsert needs one, or the option key"));
  }
  std::vector<std::string> needed = options.target.key;
  if (!options.target.version_column.empty()) needed.push_back(options.target.version_column);
  if (!options.policies.extras_column.empty()) needed.push_back(options.policies.extras_column);
  for (const std::string& column : needed) {
    if (table.Find(column).has_value()) continue;
    return Error(Status::FailedPrecondition("table " + table.name.ToString() + " has no column \"" + column +
                                            "\"; its columns: " + table.ColumnList()));
  }
  return table;
}

PostgresTargetCheck::PostgresTargetCheck(const PostgresSinkOptions& options, PostgresClientFactory& factory,
                                         const operators::WriterContext& context)
    : options_(options),
      factory_(factory),
      answer_(*context.wakeup),
      worker_(context.workers->NewWorker("postgres-table")) {
  worker_->Submit([this] { answer_.Post(FindTarget(options_, factory_)); });
}

PostgresTargetCheck::~PostgresTargetCheck() = default;

Status PostgresTargetCheck::Take() {
  if (std::optional<Result<TargetTable>> answer = answer_.Take()) result_ = std::move(*answer);
  if (!result_.has_value() || result_->has_value()) return {};
  return result_->error().code() == StatusCode::kUnavailable ? Status::Ok() : result_->error();
}

Status PostgresTargetCheck::CheckColumns(const operators::Schema& schema) {
  WEIR_RETURN_IF_ERROR(Take());
  if (!result_.has_value() || !result_->has_value()) return {};
  if (options_.policies.unknown_columns != PostgresUnknownColumns::kFail || options_.target.named_by_row) return {};
  const TargetTable& table = **result_;
  for (const std::string& column : schema.columns()) {
    const std::vector<std::string>& without = options_.columns.without_columns;
    if (table.Find(column).has_value() || std::ranges::find(without, column) != without.end()) continue;
    return Status::FailedPrecondition("table " + table.name.ToString() + " has no column \"" + column +
                                      "\", which the rows have; its columns: " + table.ColumnList() +
                                      " (unknown-columns says what else may become of it)");
  }
  return {};
}

}  // namespace weir::connectors
