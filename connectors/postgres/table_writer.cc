// The idea: within one flush every key has one row that counts, so that the order of rows no longer matters and all
// deletions can go first, then the upserts, those with the same columns in one statement. Where two rows of a key say
// different things (other columns, a version that only the server can compare) the first is flushed.
//
// Ordered by foreign keys, deletions come last. Which of them count is known when all upserts have been seen: those
// whose key has no upsert behind them. An upsert behind a deletion of its key replaces the row, as what the deletion
// would have taken away must not stay.
#include "connectors/postgres/table_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "connectors/postgres/merge_sql.h"

namespace weir::connectors {
namespace {

using operators::RowKind;

constexpr size_t kStatementRows = 1000;
constexpr size_t kStatementBytes = 4U << 20U;

std::pair<uint64_t, uint64_t> HashOf(std::string_view key) {
  std::string salted(key);
  salted += 'k';
  return {Hash64(key), Hash64(salted)};
}

}  // namespace

PostgresTableWriter::PostgresTableWriter(PostgresWork& work, PostgresTarget target, TargetTable table,
                                         const std::set<std::string>& self_columns)
    : work_(work),
      target_(std::move(target)),
      cells_(target_, work.policies, std::move(table)),
      merge_(work.session, target_, cells_.table(), work.deleted_keys),
      arena_(std::make_unique<operators::Arena>()) {
  if (!target_.upsert) return;  // a new row has no key by which it could be found again
  for (const std::string& column : self_columns) self_columns_.push_back(*cells_.table().Find(column));
}

Status PostgresTableWriter::Add(const SegmentRow& row) {
  if (!cells_.HasColumns(row.columns)) WEIR_RETURN_IF_ERROR(cells_.UseColumns(row.columns));
  Waiting waiting;
  waiting.deletes = target_.upsert && operators::IsRetraction(row.kind);
  waiting.time = row.time;
  if (row.place != 0) {
    waiting.place = waiting.first_place = row.place;
    waiting.replaces = row.replaces && (pass_ == PostgresPass::kArrival || pass_ == PostgresPass::kUpserts);
  } else if (work_.waiting.Concerns(cells_.table())) {
    waiting.frames = FramesOf(row, waiting.deletes ? RowKind::kDelete : row.kind);
    if (row.kind == RowKind::kUpdateBefore && target_.merges()) waiting.image_frames = FramesOf(row, row.kind);
  }
  uid_ = row.uid;
  waiting.origin = arena_->Copy(row.origin);
  Result<PostgresRowCells::Cells> cells = cells_.Take(row, waiting.deletes, *arena_);
  if (!cells.has_value()) {
    if (!work_.policies.dead_letters.has_value()) return cells.error();
    return RefuseAsItCame(row, {.sqlstate = "42703", .message = cells.error().message()});
  }
  PostgresRowCells::Cells& taken = *cells;
  waiting.columns = std::move(taken.columns);
  waiting.cells = std::move(taken.cells);
  if (!target_.upsert) return Insert(std::move(waiting));
  if (taken.missing != nullptr) {
    return RefuseAsItCame(row, {.sqlstate = "23502",
                                .message = std::string("the row has no value in its ") + taken.missing,
                                .column = taken.missing_column});
  }
  waiting.key = arena_->Copy(taken.key);
  if (operators::IsRetraction(row.kind)) TakeImage(row, waiting);
  if (row.kind == RowKind::kUpdateAfter && held_.has_value() && held_->key == waiting.key) TakeBefore(waiting);
  WEIR_RETURN_IF_ERROR(SettleHeld());
  if (row.kind != RowKind::kUpdateBefore) return Insert(std::move(waiting));
  held_ = std::move(waiting);
  return {};
}

void PostgresTableWriter::TakeImage(const SegmentRow& row, Waiting& waiting) {
  if (!target_.merges() || (pass_ != PostgresPass::kArrival && pass_ != PostgresPass::kUpserts)) return;
  PostgresRowCells::Cells image = cells_.TakeImage(row, *arena_);
  waiting.before_columns = std::move(image.columns);
  waiting.before_cells = std::move(image.cells);
}

void PostgresTableWriter::TakeBefore(Waiting& row) {
  row.before_columns = std::move(held_->before_columns);
  for (const PostgresCell& cell : held_->before_cells) {
    row.before_cells.push_back(cell.has_value() ? arena_->Copy(*cell) : PostgresCell());
  }
  if (!row.frames.empty() && !held_->image_frames.empty()) {
    row.frames = arena_->Copy(std::string(held_->image_frames) + std::string(row.frames));
  }
  held_.reset();
}

Status PostgresTableWriter::SettleHeld() {
  if (!held_.has_value()) return {};
  Waiting row = std::move(*held_);
  held_.reset();
  return Insert(std::move(row));
}

bool PostgresTableWriter::HasVersion(const Waiting& row) const {
  return row.deletes && row.columns.size() > target_.key.size();
}

bool PostgresTableWriter::BelongsToPass(Waiting& row) {
  if (row.deletes && target_.rules.keeps_deleted) return false;
  // The row's own version decides, whatever comes behind it.
  const bool versioned = HasVersion(row);
  switch (pass_) {
    case PostgresPass::kArrival: return true;
    case PostgresPass::kUnlinked: {
      if (row.deletes) return false;
      for (const size_t column : self_columns_) {
        const auto cell = std::ranges::find(row.columns, column);
        if (cell == row.columns.end()) continue;
        row.cells.erase(row.cells.begin() + (cell - row.columns.begin()));
        row.columns.erase(cell);
      }
      return true;
    }
    case PostgresPass::kUpserts: {
      if (!target_.upsert) return true;
      if (!row.deletes) {
        row.replaces = !deleted_.empty() && deleted_.erase(HashOf(row.key)) > 0;
        row.is_ours = !unlinked_.empty() && unlinked_.erase(HashOf(row.key)) > 0;
        return true;
      }
      if (versioned) versioned_deletes_ = true;
      row.is_ours = !unlinked_.empty() && unlinked_.contains(HashOf(row.key));
      if (merge_.Compares(row)) return true;
      if (!versioned) deleted_.insert(HashOf(row.key));
      return false;
    }
    case PostgresPass::kUnlink: return row.deletes && (versioned || deleted_.contains(HashOf(row.key)));
    case PostgresPass::kDeletes: return row.deletes && (versioned || deleted_.erase(HashOf(row.key)) > 0);
  }
  return false;
}

Status PostgresTableWriter::Insert(Waiting row) {
  const bool follows = newest_.contains(row.key);
  const bool is_full = rows_.size() >= kStatementRows || arena_->bytes() >= kStatementBytes;
  // Rows of a key that wait count as one, so they stay together. What a row is compared with is what the one before it
  // of its key has left there.
  const bool stays = work_.waiting.on() && follows;
  if ((is_full && !stays) || (target_.compares() && follows)) WEIR_RETURN_IF_ERROR(SendGathered());
  return BelongsToPass(row) ? Gather(std::move(row)) : Status::Ok();
}

Status PostgresTableWriter::Gather(Waiting row) {
  if (!target_.upsert) {
    rows_.push_back(std::move(row));
    return {};
  }
  const auto known = newest_.find(row.key);
  // A deletion stays, in front of the row that comes back.
  if (known != newest_.end() && !rows_[known->second].deletes) {
    Waiting& before = rows_[known->second];
    if (!target_.decided_by_server() && (row.deletes || row.columns == before.columns)) {
      before.superseded = true;
      row.replaces = row.replaces || before.replaces;
      row.first_place = std::min(row.first_place, before.first_place);
    } else if (!target_.decided_by_server() && work_.waiting.on()) {
      before.superseded = true;
      if (!row.replaces) row = Joined(before, row);
    } else {
      WEIR_RETURN_IF_ERROR(SendGathered());
    }
  }
  newest_[row.key] = rows_.size();
  rows_.push_back(std::move(row));
  return {};
}

Status PostgresTableWriter::Flush() {
  WEIR_RETURN_IF_ERROR(SettleHeld());
  return SendGathered();
}

Status PostgresTableWriter::SendGathered() {
  std::vector<Waiting*> rows;
  for (Waiting& row : rows_) {
    if (!row.superseded) rows.push_back(&row);
  }
  if (!rows.empty()) {
    if (work_.deleted_keys.Keeps(target_)) WEIR_RETURN_IF_ERROR(work_.deleted_keys.Prepare());
    WEIR_RETURN_IF_ERROR(work_.care == PostgresWork::Care::kQuick ? Send(rows) : SendCarefully(rows));
  }
  newest_.clear();
  rows_.clear();
  oldest_ = std::move(older_);
  older_ = std::move(arena_);
  arena_ = std::make_unique<operators::Arena>();
  return {};
}

Status PostgresTableWriter::Send(Rows rows) {
  WEIR_ASSIGN_OR_RETURN(const Sent sent, Write(rows));
  return Finish(sent);
}

Status PostgresTableWriter::SendCarefully(Rows rows) {
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer begun, work_.session.ExecuteOne({"SAVEPOINT weir_rows"}));
  const uint64_t waiting = counts_.waiting;
  const Result<Sent> sent = Write(rows);
  if (sent.has_value()) {
    WEIR_ASSIGN_OR_RETURN(const PostgresAnswer kept, work_.session.ExecuteOne({"RELEASE SAVEPOINT weir_rows"}));
    return Finish(*sent);
  }
  const PostgresRefusal refusal = work_.session.refusal();
  if (!IsRowRefusal(refusal)) return sent.error();
  counts_.waiting = waiting;
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer back, work_.session.ExecuteOne({"ROLLBACK TO SAVEPOINT weir_rows"}));
  if (rows.size() == 1) return Refuse(*rows.front(), refusal);
  WEIR_RETURN_IF_ERROR(SendCarefully(rows.first(rows.size() / 2)));
  return SendCarefully(rows.subspan(rows.size() / 2));
}

Result<PostgresTableWriter::Sent> PostgresTableWriter::Write(Rows rows) {
  const std::string table = "table " + cells_.table().name.ToString();
  WEIR_ASSIGN_OR_RETURN(std::vector<Waiting*> free, WithoutWaiting(rows));
  Sent sent;
  if (pass_ == PostgresPass::kArrival || pass_ == PostgresPass::kUpserts) {
    Result<PostgresMerge::Compared> compared = merge_.Compare(free);
    if (!compared.has_value()) return Error(compared.error().WithContext(table));
    sent.compared = std::move(*compared);
    std::erase_if(free, [&](Waiting* row) {
      return std::ranges::find(sent.compared.written, row) != sent.compared.written.end();
    });
    WEIR_RETURN_IF_ERROR(Settle(free));
  } else {
    sent.compared.written = std::move(free);
  }
  Statements statements = StatementsFor(sent.compared.written);
  if (statements.list.empty()) return sent;
  Result<std::vector<PostgresAnswer>> answers = work_.session.Execute(statements.list);
  if (!answers.has_value()) return Error(answers.error().WithContext(table));
  sent.rows = std::move(statements.rows);
  sent.answers = std::move(*answers);
  return sent;
}

std::string PostgresTableWriter::SqlFor(const Waiting& row) const {
  const TargetTable& table = cells_.table();
  if (!row.deletes) {
    // In two steps: the first is for those that are not there, the second comes to what the first has written.
    OnConflict on_conflict = refers_to_itself() ? OnConflict::kUpdateSame : OnConflict::kUpdate;
    if (pass_ == PostgresPass::kUnlinked) on_conflict = OnConflict::kNothing;
    if (row.replaces) on_conflict = OnConflict::kReplace;
    std::string without;
    if (!row.replaces && work_.deleted_keys.Keeps(target_)) {
      without = work_.deleted_keys.DeletedSql(table, target_, row.columns);
    }
    const PostgresRowShape shape = {table, target_, row.columns, row.before_columns};
    if (row.as == Waiting::As::kMerge) return MergeSql(shape);
    const bool only_new = row.as == Waiting::As::kNew || pass_ == PostgresPass::kUnlinked;
    if (!target_.compares() || !only_new) return InsertSql(table, target_, row.columns, on_conflict, without);
    return InsertedSql({table, target_, row.columns},
                       InsertSql(table, target_, row.columns, OnConflict::kNothing, without));
  }
  if (pass_ == PostgresPass::kUnlink) return EmptySql(table, target_, row.columns, self_columns_);
  return DeleteSql(table, target_, row.columns);
}

PostgresTableWriter::Groups PostgresTableWriter::GroupsOf(Rows rows) const {
  Groups groups;
  const auto group_all = [&](bool deletes) {
    const size_t first = groups.size();
    for (Waiting* row : rows) {
      if (row->deletes != deletes) continue;
      // New rows keep their order.
      const size_t from = target_.upsert || groups.size() == first ? first : groups.size() - 1;
      const auto same = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(from), groups.end(),
                                     [row](const auto& group) { return group.front()->SharesStatement(*row); });
      if (same == groups.end()) {
        groups.push_back({row});
      } else {
        same->push_back(row);
      }
    }
  };
  // Among upserts there are deletions only to be compared.
  if (pass_ != PostgresPass::kUpserts) group_all(true);
  group_all(false);
  return groups;
}

PostgresTableWriter::Statements PostgresTableWriter::StatementsFor(Rows rows) const {
  Statements statements;
  const auto add_without_rows = [&statements](PostgresStatement statement) {
    statements.list.push_back(std::move(statement));
    statements.rows.emplace_back();
  };
  for (std::vector<Waiting*>& group : GroupsOf(rows)) {
    const Waiting& row = *group.front();
    const PostgresRowGroup of_group = GroupOf(group, statements.arrays);
    const std::vector<const Waiting*> all(group.begin(), group.end());
    statements.list.push_back(
        {.sql = SqlFor(row), .parameters = statements.arrays.Of(all, row.as == Waiting::As::kMerge)});
    statements.rows.push_back(std::move(group));
    if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) continue;
    if (HasVersion(row) && work_.deleted_keys.Keeps(target_)) {
      add_without_rows({.sql = work_.deleted_keys.RememberSql(cells_.table(), target_, row.columns),
                        .parameters = statements.list.back().parameters});
    }
    if (target_.upsert && work_.waiting.Settles(of_group)) add_without_rows(work_.waiting.Settled(of_group));
  }
  return statements;
}

// Then also dead letters, which no savepoint of the rows takes back.
Status PostgresTableWriter::Finish(const Sent& sent) {
  if (pass_ == PostgresPass::kUpserts) {
    for (const Waiting* row : sent.compared.written) {
      if (row->deletes && !HasVersion(*row)) deleted_.insert(HashOf(row->key));
    }
  }
  std::vector<Waiting*> again;
  for (size_t i = 0; i < sent.rows.size(); ++i) {
    if (sent.rows[i].empty()) continue;
    const bool is_new = sent.rows[i].front()->as == Waiting::As::kNew;
    if (is_new || (pass_ == PostgresPass::kUnlinked && target_.compares())) {
      CountNew(sent.rows[i], sent.answers[i], again);
    }
  }
  Count(sent);
  WEIR_RETURN_IF_ERROR(EndConflicts(sent.compared.conflicts));
  if (again.empty()) return {};
  return work_.care == PostgresWork::Care::kQuick ? Send(again) : SendCarefully(again);
}

void PostgresTableWriter::CountNew(const std::vector<Waiting*>& rows, const PostgresAnswer& inserted,
                                   std::vector<Waiting*>& again) {
  constexpr int kTries = 3;  // more: a trigger of the table's leaves them out
  std::vector<bool> is_there(rows.size());
  for (const auto& row : inserted.rows) is_there.at(RowNumberOf(row)) = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (pass_ == PostgresPass::kUnlinked) {
      if (is_there[i]) unlinked_.insert(HashOf(rows[i]->key));
      continue;
    }
    if (is_there[i]) ++counts_.upserts;
    if (!is_there[i] && ++rows[i]->tries < kTries) again.push_back(rows[i]);
  }
}

Status PostgresTableWriter::RefuseAsItCame(const SegmentRow& row, PostgresRefusal refusal) {
  if (pass_ != PostgresPass::kArrival && pass_ != PostgresPass::kUpserts) return {};
  refusal.table = cells_.table().name.ToString();
  WEIR_RETURN_IF_ERROR(work_.waiting.Drop(row.place));
  return work_.dead_letters.Refuse(RefusedRow::Of(row, refusal.table, target_.key), refusal);
}

void PostgresTableWriter::Count(const Sent& sent) {
  if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) return;
  const PostgresMerge::Counts& compared = sent.compared.counts;
  counts_.upserts += compared.same;
  counts_.conflicts += compared.conflicts;
  counts_.merges += compared.merges;
  counts_.overwritten += compared.overwritten;
  for (size_t i = 0; i < sent.rows.size(); ++i) {
    if (sent.rows[i].empty() || sent.rows[i].front()->as == Waiting::As::kNew) continue;
    const uint64_t affected = sent.answers[i].affected;
    const bool deletes = sent.rows[i].front()->deletes;
    if (deletes) counts_.deletes += affected;
    // A row that has only its key is not touched again, which is no conflict.
    const bool decided = target_.decided_by_server() && !target_.compares();
    if (!deletes) counts_.upserts += decided ? affected : sent.rows[i].size();
    if (!deletes && decided) counts_.conflicts += sent.rows[i].size() - affected;
  }
}

Status PostgresTableWriter::EndConflicts(const std::vector<PostgresMerge::Conflict>& conflicts) {
  std::vector<RefusedRow> refused;
  for (const PostgresMerge::Conflict& conflict : conflicts) refused.push_back(RefusedOf(*conflict.row));
  WEIR_RETURN_IF_ERROR(merge_.End(conflicts, std::move(refused), work_.dead_letters));
  counts_.conflicts += conflicts.size();
  const bool kept = target_.rules.conflict_end() == PostgresOnConflict::kDeadLetter;
  (kept ? counts_.dead_lettered : counts_.dropped) += conflicts.size();
  return {};
}

RefusedRow PostgresTableWriter::RefusedOf(const Waiting& row) const {
  RefusedRow refused{
      .table = cells_.table().name.ToString(), .deletes = row.deletes, .time = row.time, .origin = row.origin};
  refused.key = target_.upsert ? target_.key : cells_.table().primary_key;
  for (size_t i = 0; i < row.columns.size(); ++i) {
    refused.cells.emplace_back(cells_.table().columns[row.columns[i]].name, row.cells[i]);
  }
  return refused;
}

Status PostgresTableWriter::Refuse(Waiting& row, const PostgresRefusal& refusal) {
  // It comes again, whole, in the pass that counts.
  if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) return {};
  if (CanWait(refusal)) return MakeWait(row, refusal);
  const RefusedRow refused = RefusedOf(row);
  if (refers_to_itself() && !row.deletes && refusal.sqlstate == kPostgresForeignKeyViolation) {
    // Its key stands there already, without its parent: it can't be set aside, only all be taken back.
    return work_.dead_letters.Error(refused, refusal);
  }
  Waiting* const one = &row;
  WEIR_RETURN_IF_ERROR(Settle(Rows(&one, 1)));
  return work_.dead_letters.Refuse(refused, refusal);
}

}  // namespace weir::connectors
