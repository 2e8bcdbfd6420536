#include "connectors/postgres/merge.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "connectors/postgres/merge_sql.h"

namespace weir::connectors {
namespace {

size_t NumberOf(std::string_view text) {
  size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

const char* ReasonOf(std::string_view verdict) {
  if (verdict == "old") return "conflict: it is past its deadline";
  if (verdict == "deleted") return "conflict: its key was deleted by a version that is not smaller";
  return "conflict: the target's row has a version that is not smaller";
}

}  // namespace

std::vector<PostgresParameter> PostgresArrays::Of(std::span<const PostgresGatheredRow* const> rows, bool with_before) {
  std::vector<PostgresParameter> parameters;
  const auto add = [&](size_t count, const std::vector<PostgresCell> PostgresGatheredRow::* cells) {
    for (size_t i = 0; i < count; ++i) {
      std::vector<PostgresCell>& array = arrays_.emplace_back();
      for (const PostgresGatheredRow* row : rows) array.push_back((row->*cells)[i]);
      parameters.push_back(PostgresParameter::Array(array));
    }
  };
  add(rows.front()->columns.size(), &PostgresGatheredRow::cells);
  if (with_before) add(rows.front()->before_columns.size(), &PostgresGatheredRow::before_cells);
  return parameters;
}

bool PostgresMerge::Compares(const Row& row) const {
  if (!target_.compares() || row.replaces || row.is_ours) return false;
  if (!row.deletes) return true;
  const bool has_version = row.columns.size() > target_.key.size();
  return has_version || (target_.merges() && !row.before_columns.empty());
}

PostgresStatement PostgresMerge::StatementFor(const Group& group, PostgresArrays& arrays) const {
  const Row& row = *group.front();
  const PostgresRowShape shape = {table_, target_, row.columns, row.before_columns};
  std::string deleted;
  if (!row.deletes && deleted_keys_.Keeps(target_)) deleted = deleted_keys_.DeletedSql(table_, target_, row.columns);
  return {.sql = row.deletes ? CompareDeletionSql(shape) : CompareSql(shape, deleted),
          .parameters = arrays.Of(std::vector<const Row*>(group.begin(), group.end()), true)};
}

Result<PostgresMerge::Compared> PostgresMerge::Compare(std::span<Row* const> rows) const {
  Compared compared;
  std::vector<Group> groups;
  for (Row* const row : rows) {
    row->as = Row::As::kUpsert;
    if (!Compares(*row)) {
      compared.written.push_back(row);
      continue;
    }
    const auto same = std::ranges::find_if(groups, [row](const Group& group) {
      const Row& other = *group.front();
      return other.deletes == row->deletes && other.columns == row->columns &&
             other.before_columns == row->before_columns;
    });
    if (same == groups.end()) {
      groups.push_back({row});
    } else {
      same->push_back(row);
    }
  }
  if (groups.empty()) return compared;
  PostgresArrays arrays;
  std::vector<PostgresStatement> statements;
  for (const Group& group : groups) statements.push_back(StatementFor(group, arrays));
  WEIR_ASSIGN_OR_RETURN(const std::vector<PostgresAnswer> answers, session_.Execute(statements));
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const auto& answer : answers[i].rows) {
      Take(*groups[i].at(RowNumberOf(answer)), answer, compared);
    }
  }
  return compared;
}

void PostgresMerge::Take(Row& row, const std::vector<std::optional<std::string>>& answer, Compared& compared) const {
  const std::string verdict = answer.at(1).value_or("");
  if (verdict == "same") {
    ++compared.counts.same;
  } else if (verdict == "moved") {
    TakeMoved(row, answer.at(2).value_or(""), compared);
  } else if (verdict == "write" || verdict == "new" || verdict == "clean") {
    if (verdict == "new") row.as = Row::As::kNew;
    if (verdict == "clean") row.as = Row::As::kMerge;
    compared.written.push_back(&row);
  } else {
    compared.conflicts.push_back({&row, ReasonOf(verdict)});
  }
}

void PostgresMerge::TakeMoved(Row& row, const std::string& clashes, Compared& compared) const {
  const std::string unmerged = Unmerged(row, clashes);
  const bool overwrites = target_.rules.conflict_end() == PostgresOnConflict::kOverwrite;
  if (!unmerged.empty() && !overwrites) {
    compared.conflicts.push_back(
        {&row, "conflict: the target's row has other values in " + unmerged +
                   (row.before_columns.empty()
                        ? ", and it has no old image to tell its changes (changefeeds WITH diff have one)"
                        : " than before the change")});
    return;
  }
  if (!row.deletes) row.as = Row::As::kMerge;
  compared.written.push_back(&row);
  ++compared.counts.conflicts;
  ++(unmerged.empty() ? compared.counts.merges : compared.counts.overwritten);
}

std::string PostgresMerge::Unmerged(const Row& row, const std::string& clashes) const {
  std::string names;
  for (size_t at = 0; at < clashes.size();) {
    const size_t end = std::min(clashes.find(' ', at), clashes.size());
    const std::string& name = table_.columns.at(NumberOf(std::string_view(clashes).substr(at, end - at))).name;
    // A deletion leaves no column that could be merged.
    if (row.deletes || target_.rules.MergeOf(name) == nullptr) names += (names.empty() ? "" : ", ") + name;
    at = end + 1;
  }
  return names;
}

Status PostgresMerge::End(std::span<const Conflict> conflicts, std::vector<RefusedRow> refused,
                          PostgresDeadLetters& dead_letters) const {
  const PostgresOnConflict end = target_.rules.conflict_end();
  if (end == PostgresOnConflict::kDrop || end == PostgresOnConflict::kOverwrite) return {};
  for (size_t i = 0; i < conflicts.size(); ++i) {
    const Row& row = *conflicts[i].row;
    const PostgresRowShape shape = {table_, target_, row.columns};
    PostgresArrays arrays;
    const Row* const one[] = {&row};
    WEIR_ASSIGN_OR_RETURN(const PostgresAnswer there,
                          session_.ExecuteOne({.sql = TargetRowsSql(shape), .parameters = arrays.Of(one, false)}));
    RefusedRow::Conflict& conflict = refused[i].conflict.emplace();
    for (size_t c = 0; c < row.before_columns.size(); ++c) {
      conflict.before.emplace_back(table_.columns[row.before_columns[c]].name, row.before_cells[c]);
    }
    for (size_t c = 0; !there.rows.empty() && c < table_.columns.size(); ++c) {
      conflict.target.emplace_back(table_.columns[c].name, there.rows[0].at(c + 1));
    }
    const PostgresRefusal refusal = {.message = conflicts[i].reason, .table = refused[i].table};
    if (end == PostgresOnConflict::kFail) return PostgresDeadLetters::Error(refused[i], refusal);
    WEIR_RETURN_IF_ERROR(dead_letters.Refuse(refused[i], refusal));
  }
  return {};
}

}  // namespace weir::connectors
