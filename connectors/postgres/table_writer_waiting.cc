// What becomes of rows whose parents are missing: the part of PostgresTableWriter that knows waiting_rows.h.
#include <algorithm>

#include "connectors/postgres/table_writer.h"

namespace weir::connectors {

PostgresTableWriter::Waiting PostgresTableWriter::Joined(const Waiting& before, const Waiting& after) {
  Waiting row = before;
  row.superseded = false;
  row.time = after.time;
  row.key = after.key;
  row.place = after.place;
  row.first_place = std::min(before.first_place, after.first_place);
  for (size_t i = 0; i < after.columns.size(); ++i) {
    const auto same = std::ranges::find(row.columns, after.columns[i]);
    if (same == row.columns.end()) {
      row.columns.push_back(after.columns[i]);
      row.cells.push_back(after.cells[i]);
    } else {
      row.cells[static_cast<size_t>(same - row.columns.begin())] = after.cells[i];
    }
  }
  row.frames = arena_->Copy(std::string(before.frames) + std::string(after.frames));
  return row;
}

PostgresRowGroup PostgresTableWriter::GroupOf(Rows group, std::deque<std::vector<PostgresCell>>& arrays) const {
  const Waiting& first = *group.front();
  PostgresRowGroup of_group{.table = cells_.table(), .target = target_, .columns = first.columns};
  of_group.deletes = first.deletes;
  of_group.by_version = first.deletes ? HasVersion(first) : !target_.versions().empty();
  for (size_t i = 0; i < first.columns.size(); ++i) {
    std::vector<PostgresCell>& cells = arrays.emplace_back();
    for (const Waiting* row : group) cells.push_back(row->cells[i]);
    of_group.cells.push_back(PostgresParameter::Array(cells));
  }
  for (const Waiting* row : group) {
    of_group.places.push_back(row->place);
    of_group.first_places.push_back(row->replaces ? 0 : row->first_place);
  }
  return of_group;
}

std::string PostgresTableWriter::IdleSql(const Waiting& row) const {
  if (row.replaces) return {};
  std::string sql = TooOldSql(cells_.table(), target_, row.columns);
  if (work_.deleted_keys.Keeps(target_)) {
    sql += (sql.empty() ? "" : " OR ") + work_.deleted_keys.DeletedSql(cells_.table(), target_, row.columns);
  }
  return sql;
}

Result<PostgresTableWriter::Rows> PostgresTableWriter::WithoutWaiting(Rows rows, std::vector<const Waiting*>& free) {
  if (!target_.upsert || !work_.waiting.Concerns(cells_.table())) return rows;
  const bool of_itself = pass_ != PostgresPass::kUnlinked && pass_ != PostgresPass::kUnlink;
  bool all = true;
  for (const std::vector<const Waiting*>& group : GroupsOf(rows)) {
    std::deque<std::vector<PostgresCell>> arrays;
    PostgresRowGroup of_group = GroupOf(group, arrays);
    if (!of_group.deletes) of_group.idle = IdleSql(*group.front());
    WEIR_ASSIGN_OR_RETURN(const auto blocked, work_.waiting.Blocked(of_group, of_itself));
    all = all && blocked.empty();
    WEIR_RETURN_IF_ERROR(MakeWait(group, blocked, free));
  }
  return all ? rows : Rows(free);
}

Status PostgresTableWriter::MakeWait(Rows group, const std::map<size_t, std::string>& blocked,
                                     std::vector<const Waiting*>& free) {
  std::vector<const Waiting*> fresh;
  std::vector<PostgresWaitingRows::Entry> entries;
  for (size_t i = 0; i < group.size(); ++i) {
    const auto why = blocked.find(i);
    if (why == blocked.end()) {
      free.push_back(group[i]);
      continue;
    }
    // In a first step it is only left out: it comes again, whole, in the pass that counts.
    if (group[i]->frames.empty() || pass_ == PostgresPass::kUnlinked || pass_ == PostgresPass::kUnlink) continue;
    fresh.push_back(group[i]);
    entries.push_back({.uid = uid_,
                       .frames = std::string(group[i]->frames),
                       .why = why->second,
                       .replaces = group[i]->replaces,
                       .time = group[i]->time});
  }
  if (fresh.empty()) return {};
  std::deque<std::vector<PostgresCell>> arrays;
  WEIR_RETURN_IF_ERROR(work_.waiting.Add(GroupOf(fresh, arrays), entries));
  counts_.waiting += fresh.size();
  return {};
}

bool PostgresTableWriter::CanWait(const PostgresRefusal& refusal) const {
  return target_.upsert && refusal.sqlstate == kPostgresForeignKeyViolation && work_.waiting.Concerns(cells_.table());
}

Status PostgresTableWriter::MakeWait(const Waiting& row, const PostgresRefusal& refusal) {
  std::vector<const Waiting*> free;
  const Waiting* const one = &row;
  return MakeWait(Rows(&one, 1), {{0, RefusalText(refusal)}}, free);
}

}  // namespace weir::connectors
