#include "connectors/postgres/target_check.h"

#include <algorithm>
#include <utility>

#include "connectors/postgres/foreign_keys.h"

namespace weir::connectors {

Result<TargetTable> FindTarget(const PostgresSinkOptions& options, PostgresClientFactory& factory) {
  WEIR_ASSIGN_OR_RETURN(const auto session, factory.Connect(options.connection));
  if (options.target.named_by_row) {
    if (options.policies.ordering == PostgresOrdering::kForeignKeys) {
      WEIR_ASSIGN_OR_RETURN(const std::vector<ForeignKey> keys, LoadForeignKeys(*session));
      WEIR_RETURN_IF_ERROR(CheckNoCycle(ForeignKeyOrder::Of(keys), options.target.table.schema));
    }
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
