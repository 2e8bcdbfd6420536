#include "connectors/postgres/apply.h"

#include <algorithm>
#include <utility>

namespace weir::connectors {
namespace {

constexpr size_t kWaitingBytesMax = 32U << 20U;

}  // namespace

Result<PostgresApply::Entry> PostgresApply::WithoutTable(const PostgresTarget& target) const {
  const std::string name = target.table.ToString();
  Entry entry;
  entry.refusal = {.sqlstate = "42P01", .message = "there is no table " + name, .table = name};
  entry.ignored = work_.policies.missing_table == PostgresMissingTable::kIgnore;
  if (work_.policies.missing_table == PostgresMissingTable::kFail) {
    return Error(Status::FailedPrecondition(entry.refusal.message));
  }
  return entry;
}

Result<PostgresApply::Entry> PostgresApply::Resolve(const PostgresTarget& sealed) {
  PostgresTarget target = sealed;
  if (target.named_by_row) {
    if (target.table.table.contains('\0')) return WithoutTable(target);
    WEIR_ASSIGN_OR_RETURN(const std::optional<PostgresTableName> found, FindTable(work_.session, target.table));
    if (!found.has_value()) return WithoutTable(target);
    target.table = *found;
  }
  WEIR_ASSIGN_OR_RETURN(TargetTable table, LoadTargetTable(work_.session, target.table));
  if (target.upsert && target.key.empty()) target.key = table.primary_key;
  const std::string name = table.name.ToString();
  Entry entry;
  if (target.upsert && target.key.empty()) {
    const std::string message =
        "table " + name + " has no primary key: mode upsert needs one, or key columns with a unique index";
    if (!target.named_by_row) return Error(Status::FailedPrecondition(message));
    entry.refusal = {.sqlstate = "42P10", .message = message, .table = name};
    return entry;
  }
  if (order_.InCycle(name)) WEIR_RETURN_IF_ERROR(CheckNoCycle(order_, target.table.schema));
  entry.level = order_.LevelOf(name);
  entry.writer =
      std::make_unique<PostgresTableWriter>(work_, std::move(target), std::move(table), order_.SelfColumnsOf(name));
  return entry;
}

Result<PostgresApply::Entry*> PostgresApply::Find(const SegmentRow& row) {
  if (newest_ != nullptr && *newest_target_ == row.target) return newest_;
  std::string bytes;
  AppendSegmentTarget(bytes, row.target);
  auto known = entries_.find(bytes);
  if (known == entries_.end()) {
    WEIR_ASSIGN_OR_RETURN(Entry entry, Resolve(row.target));
    entry.table = entry.writer != nullptr ? entry.writer->table().name.ToString() : row.target.table.ToString();
    entry.uid = row.uid;
    known = entries_.emplace(std::move(bytes), std::move(entry)).first;
  }
  newest_target_ = row.target;
  newest_ = &known->second;
  return newest_;
}

Status PostgresApply::Run(const ReadSegmentRows& read) {
  const bool ordered = work_.policies.ordering == PostgresOrdering::kForeignKeys;
  if (ordered || work_.waiting.on()) {
    WEIR_ASSIGN_OR_RETURN(std::vector<ForeignKey> keys, LoadForeignKeys(work_.session));
    if (ordered) order_ = ForeignKeyOrder::Of(keys);
    work_.waiting.UseForeignKeys(std::move(keys), order_.defers());
  }
  if (ordered) {
    WEIR_RETURN_IF_ERROR(RunOrdered(read));
  } else {
    WEIR_RETURN_IF_ERROR(read([this](const SegmentRow& row) { return AddInOrder(row); }));
    WEIR_RETURN_IF_ERROR(FlushAll());
  }
  const auto checked = work_.session.ExecuteOne({"SET CONSTRAINTS ALL IMMEDIATE"});
  return checked.has_value() ? Status::Ok() : checked.error();
}

// The row of another table sends what waits for the one before.
Status PostgresApply::AddInOrder(const SegmentRow& row) {
  Entry* const before = newest_;
  WEIR_ASSIGN_OR_RETURN(Entry* const entry, Find(row));
  if (before != nullptr && before != entry && before->writer != nullptr) {
    failed_ = before;
    WEIR_RETURN_IF_ERROR(before->writer->Flush());
  }
  if (entry->writer == nullptr) return SetAside(*entry, row);
  failed_ = entry;
  return entry->writer->Add(row);
}

Status PostgresApply::RunOrdered(const ReadSegmentRows& read) {
  if (order_.defers()) {
    const auto deferred = work_.session.ExecuteOne({"SET CONSTRAINTS ALL DEFERRED"});
    if (!deferred.has_value()) return deferred.error();
  }
  // Which tables there are.
  WEIR_RETURN_IF_ERROR(read([this](const SegmentRow& row) -> Status {
    WEIR_ASSIGN_OR_RETURN(Entry* const entry, Find(row));
    return entry->writer == nullptr ? SetAside(*entry, row) : Status::Ok();
  }));
  std::set<size_t> levels;
  for (const auto& [target, entry] : entries_) {
    if (entry.writer != nullptr) levels.insert(entry.level);
  }
  for (const size_t level : levels) {
    if (AnyOf(level, &PostgresTableWriter::refers_to_itself)) {
      WEIR_RETURN_IF_ERROR(RunPass(read, level, PostgresPass::kUnlinked));
    }
    WEIR_RETURN_IF_ERROR(RunPass(read, level, PostgresPass::kUpserts));
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (!AnyOf(*level, &PostgresTableWriter::has_deletes)) continue;
    if (AnyOf(*level, &PostgresTableWriter::refers_to_itself)) {
      WEIR_RETURN_IF_ERROR(RunPass(read, *level, PostgresPass::kUnlink));
    }
    WEIR_RETURN_IF_ERROR(RunPass(read, *level, PostgresPass::kDeletes));
  }
  return {};
}

bool PostgresApply::AnyOf(size_t level, bool (PostgresTableWriter::*is)() const) const {
  return std::ranges::any_of(entries_, [&](const auto& one) {
    const Entry& entry = one.second;
    return entry.writer != nullptr && entry.level == level && (entry.writer.get()->*is)();
  });
}

Status PostgresApply::RunPass(const ReadSegmentRows& read, size_t level, PostgresPass pass) {
  const bool of_self = pass == PostgresPass::kUnlinked || pass == PostgresPass::kUnlink;
  for (auto& [target, entry] : entries_) {
    if (entry.writer != nullptr) entry.writer->Begin(pass);
  }
  WEIR_RETURN_IF_ERROR(read([&](const SegmentRow& row) -> Status {
    WEIR_ASSIGN_OR_RETURN(Entry* const entry, Find(row));
    if (entry->writer == nullptr || entry->level != level) return {};
    if (of_self && !entry->writer->refers_to_itself()) return {};
    return Add(*entry, row);
  }));
  return FlushAll();
}

Status PostgresApply::Add(Entry& entry, const SegmentRow& row) {
  const size_t before = entry.writer->bytes();
  failed_ = &entry;
  WEIR_RETURN_IF_ERROR(entry.writer->Add(row));
  waiting_bytes_ += entry.writer->bytes() - before;
  return waiting_bytes_ < kWaitingBytesMax ? Status::Ok() : FlushAll(&PostgresTableWriter::SendGathered);
}

Status PostgresApply::SetAside(Entry& entry, const SegmentRow& row) {
  WEIR_RETURN_IF_ERROR(work_.waiting.Drop(row.place));
  if (entry.ignored) {
    ++entry.rows_ignored;
    return {};
  }
  failed_ = &entry;
  return work_.dead_letters.Refuse(RefusedRow::Of(row, entry.table, {}), entry.refusal);
}

Status PostgresApply::FlushAll(Status (PostgresTableWriter::*flush)()) {
  waiting_bytes_ = 0;
  for (auto& [target, entry] : entries_) {
    if (entry.writer == nullptr) continue;
    failed_ = &entry;
    WEIR_RETURN_IF_ERROR((entry.writer.get()->*flush)());
  }
  failed_ = nullptr;
  return {};
}

void PostgresApply::CountInto(operators::NamedMetrics& metrics) const {
  for (const auto& [target, entry] : entries_) {
    const operators::MetricLabels labels = {{"table", entry.table}};
    const auto count = [&](std::string_view name, uint64_t rows) {
      metrics.Counter(entry.uid, name, labels).fetch_add(rows, std::memory_order_relaxed);
    };
    if (entry.writer == nullptr) {
      if (entry.ignored) count("rows_ignored", entry.rows_ignored);
      continue;
    }
    count("upserts", entry.writer->counts().upserts);
    count("deletes", entry.writer->counts().deletes);
    count("conflicts", entry.writer->counts().conflicts);
    if (entry.writer->compares()) {
      count("merges", entry.writer->counts().merges);
      count("conflicts_dropped", entry.writer->counts().dropped);
      count("conflicts_dead_lettered", entry.writer->counts().dead_lettered);
      count("conflicts_overwritten", entry.writer->counts().overwritten);
    }
    if (work_.waiting.on()) count("rows_waited", entry.writer->counts().waiting);
    count("apply_errors", 0);
  }
}

uint64_t PostgresApply::rows() const {
  uint64_t rows = 0;
  for (const auto& [target, entry] : entries_) {
    if (entry.writer != nullptr) rows += entry.writer->counts().upserts + entry.writer->counts().deletes;
  }
  return rows;
}

void PostgresApply::CountErrorInto(operators::NamedMetrics& metrics) const {
  if (failed_ == nullptr) return;
  metrics.Counter(failed_->uid, "apply_errors", {{"table", failed_->table}}).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir::connectors
