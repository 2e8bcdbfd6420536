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
      arena_(std::make_unique<operators::Arena>()) {
  if (!target_.upsert) return;  // a new row has no key by which it could be found again
  for (const std::string& column : self_columns) self_columns_.push_back(*cells_.table().Find(column));
}

Status PostgresTableWriter::Add(const SegmentRow& row) {
  if (!cells_.HasColumns(row.columns)) {
    WEIR_RETURN_IF_ERROR(SettleHeld());
    WEIR_RETURN_IF_ERROR(cells_.UseColumns(row.columns));
  }
  Waiting waiting;
  waiting.deletes = target_.upsert && operators::IsRetraction(row.kind);
  waiting.time = row.time;
  if (row.place != 0) {
    waiting.place = waiting.first_place = row.place;
    waiting.replaces = row.replaces && (pass_ == PostgresPass::kArrival || pass_ == PostgresPass::kUpserts);
  } else if (work_.waiting.Concerns(cells_.table())) {
    SegmentRow alone = row;
    if (waiting.deletes) alone.kind = RowKind::kDelete;
    std::string frames;
    AppendWholeSegmentRow(frames, alone);
    waiting.frames = arena_->Copy(frames);
  }
  uid_ = row.uid;
  WEIR_ASSIGN_OR_RETURN(PostgresRowCells::Cells taken, cells_.Take(row, waiting.deletes, *arena_));
  waiting.columns = std::move(taken.columns);
  waiting.cells = std::move(taken.cells);
  if (!target_.upsert) return Insert(std::move(waiting));
  if (taken.missing != nullptr) {
    if (pass_ != PostgresPass::kArrival && pass_ != PostgresPass::kUpserts) return {};
    const std::string table = cells_.table().name.ToString();
    WEIR_RETURN_IF_ERROR(work_.waiting.Drop(row.place));
    return work_.dead_letters.Refuse(RefusedRow::Of(row, table, target_.key),
                                     {.sqlstate = "23502",
                                      .message = std::string("the row has no value in its ") + taken.missing,
                                      .table = table,
                                      .column = taken.missing_column});
  }
  waiting.key = arena_->Copy(taken.key);
  if (row.kind == RowKind::kUpdateAfter && held_.has_value() && held_->key == waiting.key) held_.reset();
  WEIR_RETURN_IF_ERROR(SettleHeld());
  if (row.kind != RowKind::kUpdateBefore) return Insert(std::move(waiting));
  held_ = std::move(waiting);
  return {};
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
        return true;
      }
      if (versioned) versioned_deletes_ = true;
      if (!versioned) deleted_.insert(HashOf(row.key));
      return false;
    }
    case PostgresPass::kUnlink: return row.deletes && (versioned || deleted_.contains(HashOf(row.key)));
    case PostgresPass::kDeletes: return row.deletes && (versioned || deleted_.erase(HashOf(row.key)) > 0);
  }
  return false;
}

Status PostgresTableWriter::Insert(Waiting row) {
  // Rows of a key that wait count as one, so they stay together.
  const bool full = rows_.size() >= kStatementRows || arena_->bytes() >= kStatementBytes;
  if (full && (!work_.waiting.on() || !newest_.contains(row.key))) WEIR_RETURN_IF_ERROR(SendGathered());
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
  std::vector<const Waiting*> rows;
  for (const Waiting& row : rows_) {
    if (!row.superseded) rows.push_back(&row);
  }
  if (!rows.empty()) {
    if (work_.deleted_keys.Keeps(target_)) WEIR_RETURN_IF_ERROR(work_.deleted_keys.Prepare());
    WEIR_RETURN_IF_ERROR(work_.care == PostgresWork::Care::kQuick ? Send(rows) : SendCarefully(rows));
  }
  newest_.clear();
  rows_.clear();
  older_ = std::move(arena_);
  arena_ = std::make_unique<operators::Arena>();
  return {};
}

Status PostgresTableWriter::Send(Rows all) {
  std::vector<const Waiting*> free;
  WEIR_ASSIGN_OR_RETURN(const Rows rows, WithoutWaiting(all, free));
  if (rows.empty()) return {};
  const Statements statements = StatementsFor(rows);
  const auto sent = work_.session.Execute(statements.list);
  if (!sent.has_value()) return sent.error().WithContext("table " + cells_.table().name.ToString());
  Count(statements, *sent);
  return {};
}

Status PostgresTableWriter::SendCarefully(Rows rows) {
  const auto execute = [this](const char* sql) {
    const auto done = work_.session.ExecuteOne({sql});
    return done.has_value() ? Status::Ok() : done.error();
  };
  WEIR_RETURN_IF_ERROR(execute("SAVEPOINT weir_rows"));
  const uint64_t waiting = counts_.waiting;
  const Status status = Send(rows);
  if (status.ok()) return execute("RELEASE SAVEPOINT weir_rows");
  const PostgresRefusal refusal = work_.session.refusal();
  if (!IsRowRefusal(refusal)) return status;
  counts_.waiting = waiting;
  WEIR_RETURN_IF_ERROR(execute("ROLLBACK TO SAVEPOINT weir_rows"));
  if (rows.size() == 1) return Refuse(*rows.front(), refusal);
  WEIR_RETURN_IF_ERROR(SendCarefully(rows.first(rows.size() / 2)));
  return SendCarefully(rows.subspan(rows.size() / 2));
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
    return InsertSql(table, target_, row.columns, on_conflict, without);
  }
  if (pass_ == PostgresPass::kUnlink) return EmptySql(table, target_, row.columns, self_columns_);
  return DeleteSql(table, target_, row.columns);
}

PostgresTableWriter::Groups PostgresTableWriter::GroupsOf(Rows rows) const {
  Groups groups;
  const auto group_all = [&](bool deletes) {
    const size_t first = groups.size();
    for (const Waiting* row : rows) {
      if (row->deletes != deletes) continue;
      // New rows keep their order.
      const size_t from = target_.upsert || groups.size() == first ? first : groups.size() - 1;
      const auto same =
          std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(from), groups.end(), [row](const auto& group) {
            return group.front()->columns == row->columns && group.front()->replaces == row->replaces;
          });
      if (same == groups.end()) {
        groups.push_back({row});
      } else {
        same->push_back(row);
      }
    }
  };
  group_all(true);
  group_all(false);
  return groups;
}

PostgresTableWriter::Statements PostgresTableWriter::StatementsFor(Rows rows) const {
  Statements statements;
  const auto add_without_rows = [&statements](PostgresStatement statement) {
    statements.list.push_back(std::move(statement));
    statements.first.push_back(nullptr);
    statements.rows.push_back(0);
  };
  for (const std::vector<const Waiting*>& group : GroupsOf(rows)) {
    PostgresStatement& statement = statements.list.emplace_back();
    statement.sql = SqlFor(*group.front());
    for (size_t i = 0; i < group.front()->columns.size(); ++i) {
      std::vector<PostgresCell>& cells = statements.arrays.emplace_back();
      for (const Waiting* row : group) cells.push_back(row->cells[i]);
      statement.parameters.push_back(PostgresParameter::Array(cells));
    }
    statements.first.push_back(group.front());
    statements.rows.push_back(group.size());
    if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) continue;
    if (HasVersion(*group.front()) && work_.deleted_keys.Keeps(target_)) {
      add_without_rows({.sql = work_.deleted_keys.RememberSql(cells_.table(), target_, group.front()->columns),
                        .parameters = statements.list.back().parameters});
    }
    if (!target_.upsert) continue;
    const PostgresRowGroup of_group = GroupOf(group, statements.arrays);
    if (work_.waiting.Settles(of_group)) add_without_rows(work_.waiting.Settled(of_group));
  }
  return statements;
}

void PostgresTableWriter::Count(const Statements& statements, std::span<const PostgresAnswer> answers) {
  if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) return;
  for (size_t i = 0; i < statements.first.size(); ++i) {
    if (statements.first[i] == nullptr) continue;
    const uint64_t affected = answers[i].affected;
    const bool deletes = statements.first[i]->deletes;
    if (deletes) counts_.deletes += affected;
    // A row that has only its key is not touched again, which is no conflict.
    const bool decided = target_.decided_by_server();
    if (!deletes) counts_.upserts += decided ? affected : statements.rows[i];
    if (!deletes && decided) counts_.conflicts += statements.rows[i] - affected;
  }
}

Status PostgresTableWriter::Refuse(const Waiting& row, const PostgresRefusal& refusal) {
  // It comes again, whole, in the pass that counts.
  if (pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) return {};
  if (CanWait(refusal)) return MakeWait(row, refusal);
  RefusedRow refused{.table = cells_.table().name.ToString(), .deletes = row.deletes, .time = row.time};
  refused.key = target_.upsert ? target_.key : cells_.table().primary_key;
  for (size_t i = 0; i < row.columns.size(); ++i) {
    refused.cells.emplace_back(cells_.table().columns[row.columns[i]].name, row.cells[i]);
  }
  if (refers_to_itself() && !row.deletes && refusal.sqlstate == kPostgresForeignKeyViolation) {
    // Its key stands there already, without its parent: it can't be set aside, only all be taken back.
    return work_.dead_letters.Error(refused, refusal);
  }
  if (target_.upsert) {
    std::deque<std::vector<PostgresCell>> arrays;
    const Waiting* const one = &row;
    const PostgresRowGroup group = GroupOf(Rows(&one, 1), arrays);
    if (work_.waiting.Settles(group)) {
      const auto settled = work_.session.ExecuteOne(work_.waiting.Settled(group));
      if (!settled.has_value()) return settled.error();
    }
  }
  return work_.dead_letters.Refuse(refused, refusal);
}

}  // namespace weir::connectors
