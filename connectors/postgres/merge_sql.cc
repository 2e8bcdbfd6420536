// Per column: what the source has not changed stays as the target has it; what the target has as the row before the
// change had it becomes what the source says; what both have made equal stays; the rest is in conflict. Where a row
// brings no old value of a column, the target's NULL counts as one that nobody has written.
#include "connectors/postgres/merge_sql.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace weir::connectors {
namespace {

constexpr std::array<std::string_view, 3> kMergeNames = {"$before", "$target", "$proposed"};

// Where the column is in the list.
std::optional<size_t> PlaceOf(std::span<const size_t> columns, size_t column) {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

// One of the row's columns that may be merged, as SQL.
struct MergeColumn {
  const TableColumn& column;
  size_t number;  // of the table
  std::string target;
  std::string proposed;
  std::string before;  // empty: not known
};

// json has no equality, jsonb's is that of the values; others of no use are compared as text.
std::string_view ComparedAs(std::string_view type) {
  const bool is_array = type.ends_with("[]");
  if (is_array) type.remove_suffix(2);
  if (type == "json") return is_array ? "::jsonb[]" : "::jsonb";
  constexpr std::string_view kTexts[] = {"xml", "point", "line", "lseg", "box", "path", "polygon", "circle"};
  if (std::ranges::find(kTexts, type) == std::end(kTexts)) return "";
  return is_array ? "::text[]" : "::text";
}

std::string OfTarget(const TableColumn& column, const std::string& sql) {
  return sql + std::string(ComparedAs(column.type));
}

// As the target would hold it: a numeric(10,2) with two digits. Longer text is left for the server to refuse.
std::string OfRow(const TableColumn& column, const std::string& sql) {
  const std::string_view as = ComparedAs(column.type);
  const bool is_text =
      column.type.starts_with("character") || column.type.starts_with("bit") || column.type == "bpchar";
  if (!as.empty() || is_text || column.exact_type.empty() || column.exact_type == column.type) {
    return sql + std::string(as);
  }
  return sql + "::" + column.exact_type;
}

std::string Equal(const std::string& a, const std::string& b) { return a + " IS NOT DISTINCT FROM " + b; }
std::string Different(const std::string& a, const std::string& b) { return a + " IS DISTINCT FROM " + b; }

std::string And(const std::string& a, const std::string& b) { return a.empty() ? b : a + " AND " + b; }
std::string Or(const std::string& a, const std::string& b) { return a.empty() ? b : a + " OR " + b; }

bool IsOneOf(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The target's row is "t" with columns t0, t1, ... by their number in the table.
std::vector<MergeColumn> ColumnsOf(const PostgresRowShape& shape, bool with_versions) {
  std::vector<MergeColumn> columns;
  for (size_t i = 0; i < shape.columns.size(); ++i) {
    const size_t number = shape.columns[i];
    const TableColumn& column = shape.table.columns[number];
    if (column.generated || column.always_identity || IsOneOf(shape.target.key, column.name)) continue;
    if (!with_versions && IsOneOf(shape.target.versions(), column.name)) continue;
    MergeColumn& one = columns.emplace_back(column, number, "t.t" + std::to_string(number), "r.c" + std::to_string(i));
    const std::optional<size_t> before = PlaceOf(shape.before, number);
    if (before.has_value()) one.before = "r.b" + std::to_string(*before);
  }
  return columns;
}

std::string Same(const MergeColumn& one) {
  return Equal(OfTarget(one.column, one.target), OfRow(one.column, one.proposed));
}

// The target's value is not the one before the change.
std::string Moved(const MergeColumn& one) {
  if (!one.before.empty()) return Different(OfTarget(one.column, one.target), OfRow(one.column, one.before));
  return "(" + one.target + " IS NOT NULL AND NOT " + "(" + Same(one) + "))";
}

std::string Changed(const MergeColumn& one) {
  return Different(OfRow(one.column, one.before), OfRow(one.column, one.proposed));
}

// Both sides have changed it, and not to the same.
std::string Clashes(const MergeColumn& one) {
  if (one.before.empty()) return Moved(one);
  return Changed(one) + " AND " + Moved(one) + " AND NOT (" + Same(one) + ")";
}

// "(SELECT r.n, r.c0::bigint AS c0, r.b0::text AS b0 ... FROM unnest(...) WITH ORDINALITY AS r(c0, b0, n)) AS r"
std::string TypedRows(const PostgresRowShape& shape, const std::string& more = {}) {
  std::string values;
  std::string arrays;
  std::string names;
  size_t parameter = 0;
  const auto add = [&](size_t column, const std::string& name) {
    values += ", " + CellSql(shape.table.columns[column], shape.target, "r." + name) + " AS " + name;
    arrays += (parameter == 0 ? "$" : ", $") + std::to_string(parameter + 1) + "::text[]";
    names += name + ", ";
    ++parameter;
  };
  for (size_t i = 0; i < shape.columns.size(); ++i) add(shape.columns[i], "c" + std::to_string(i));
  for (size_t i = 0; i < shape.before.size(); ++i) add(shape.before[i], "b" + std::to_string(i));
  return "(SELECT r.n" + values + more + " FROM unnest(" + arrays + ") WITH ORDINALITY AS r(" + names + "n)) AS r";
}

// The target's rows, locked, with the columns' numbers for names. A subquery, as what may be missing can't be locked.
std::string LockedRows(const PostgresRowShape& shape) {
  std::string values = "true";
  std::string names = "there";
  for (size_t i = 0; i < shape.table.columns.size(); ++i) {
    values += ", t." + QuotedIdentifier(shape.table.columns[i].name);
    names += ", t" + std::to_string(i);
  }
  return " LEFT JOIN LATERAL (SELECT " + values + " FROM " + shape.table.name.Quoted() + " AS t WHERE " +
         MatchKeySql(shape.table, shape.target, shape.columns, "t.", "r.c") + " FOR NO KEY UPDATE) AS t(" + names +
         ") ON true";
}

// Whether the row's version is greater than the target's, or may be the same; empty: there is none.
std::string Passes(const PostgresRowShape& shape, bool may_be_same) {
  const std::vector<std::string> versions = shape.target.versions();
  if (versions.empty()) return {};
  std::string there;
  std::string ours;
  for (const std::string& version : versions) {
    const size_t number = *shape.table.Find(version);
    there += (there.empty() ? "" : ", ") + ("t.t" + std::to_string(number));
    ours += (ours.empty() ? "" : ", ") + ("r.c" + std::to_string(*PlaceOf(shape.columns, number)));
  }
  const bool same = may_be_same || shape.target.rules.version_columns.empty();
  return "ROW(" + there + ") IS NULL OR ROW(" + there + (same ? ") <= ROW(" : ") < ROW(") + ours + ")";
}

std::string ClashList(const std::vector<MergeColumn>& columns, std::string (*clashes)(const MergeColumn&)) {
  std::string list;
  for (const MergeColumn& one : columns) {
    list += (list.empty() ? "" : ", ") + ("CASE WHEN " + clashes(one) + " THEN " + std::to_string(one.number) + " END");
  }
  return "array_to_string(ARRAY[" + list + "]::int[], ' ')";
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Gives each "$name" of the text to `take`, and what is between to `keep`.
template <class Keep, class Take>
void ForEachName(std::string_view sql, Keep keep, Take take) {
  while (!sql.empty()) {
    size_t at = sql.find('$');
    while (at != std::string_view::npos && (at + 1 == sql.size() || !IsNamePart(sql[at + 1]))) {
      at = sql.find('$', at + 1);
    }
    keep(sql.substr(0, at));
    if (at == std::string_view::npos) return;
    size_t end = at + 1;
    while (end < sql.size() && IsNamePart(sql[end])) ++end;
    take(sql.substr(at, end - at));
    sql.remove_prefix(end);
  }
}

std::string BothChanged(const PostgresRowShape& shape, const MergeColumn& one) {
  const std::string* const merge = shape.target.rules.MergeOf(one.column.name);
  if (merge == nullptr) return one.proposed;
  std::string sql = "(";
  ForEachName(
      *merge, [&](std::string_view text) { sql += text; },
      [&](std::string_view name) {
        if (name == kMergeNames[0]) sql += one.before.empty() ? "NULL::" + one.column.type : one.before;
        if (name == kMergeNames[1]) sql += one.target;
        if (name == kMergeNames[2]) sql += one.proposed;
      });
  return sql + ")::" + one.column.type;
}

}  // namespace

std::string CompareSql(const PostgresRowShape& shape, std::string_view deleted) {
  const std::vector<MergeColumn> all = ColumnsOf(shape, true);
  const std::vector<MergeColumn> merged = ColumnsOf(shape, false);
  std::string same = "t.there";
  for (const MergeColumn& one : all) same = And(same, Same(one));
  std::string cases = " WHEN " + same + " THEN 'same'";
  const std::string in_time = InTimeSql(shape.table, shape.target, shape.columns);
  std::string more;
  if (!in_time.empty()) {
    more += ", NOT (" + in_time + ") AS old";
    cases += " WHEN r.old THEN 'old'";
  }
  if (!deleted.empty()) {
    more += ", " + std::string(deleted) + " AS deleted";
    cases += " WHEN r.deleted THEN 'deleted'";
  }
  cases += " WHEN t.there IS NULL THEN 'new'";
  const std::string passes = Passes(shape, false);
  if (!passes.empty()) cases += " WHEN " + passes + " THEN 'write'";
  if (!shape.target.merges()) {
    cases += passes.empty() ? " ELSE 'write'" : " ELSE 'refused'";
  } else if (passes.empty()) {
    std::string moved;
    for (const MergeColumn& one : merged) moved = Or(moved, Moved(one));
    cases += " WHEN " + (moved.empty() ? "false" : moved) + " THEN 'moved' ELSE 'clean'";
  } else {
    cases += merged.empty() ? " ELSE 'refused'" : " ELSE 'moved'";
  }
  const std::string clashes = shape.target.merges() ? ClashList(merged, &Clashes) : std::string("''");
  return "SELECT r.n, CASE" + cases + " END, " + clashes + " FROM " + TypedRows(shape, more) + LockedRows(shape);
}

std::string CompareDeletionSql(const PostgresRowShape& shape) {
  std::string cases = " WHEN t.there IS NULL THEN 'write'";
  std::vector<MergeColumn> image;
  if (shape.columns.size() > shape.target.key.size()) {
    cases += " WHEN " + Passes(shape, true) + " THEN 'write' ELSE 'refused'";
  } else {
    std::string moved;
    for (size_t i = 0; i < shape.before.size(); ++i) {
      const size_t number = shape.before[i];
      const std::string before = "r.b" + std::to_string(i);
      image.emplace_back(shape.table.columns[number], number, "t.t" + std::to_string(number), before, before);
      moved = Or(moved, Moved(image.back()));
    }
    cases += " WHEN " + moved + " THEN 'moved' ELSE 'write'";
  }
  return "SELECT r.n, CASE" + cases + " END, " + ClashList(image, &Moved) + " FROM " + TypedRows(shape) +
         LockedRows(shape);
}

std::string MergeSql(const PostgresRowShape& shape) {
  std::string sets;
  for (MergeColumn& one : ColumnsOf(shape, false)) {
    const std::string name = QuotedIdentifier(one.column.name);
    one.target = "t." + name;
    std::string cases;
    if (one.before.empty()) {
      cases = " WHEN " + one.target + " IS NULL THEN " + one.proposed;
    } else {
      cases =
          " WHEN NOT (" + Changed(one) + ") THEN " + one.target + " WHEN NOT (" + Moved(one) + ") THEN " + one.proposed;
    }
    sets += (sets.empty() ? "" : ", ") + name + " = CASE" + cases + " WHEN " + Same(one) + " THEN " + one.target +
            " ELSE " + BothChanged(shape, one) + " END";
  }
  return "UPDATE " + shape.table.name.Quoted() + " AS t SET " + sets + " FROM " + TypedRows(shape) + " WHERE " +
         MatchKeySql(shape.table, shape.target, shape.columns, "t.", "r.c");
}

std::string InsertedSql(const PostgresRowShape& shape, const std::string& insert) {
  std::string returned;
  for (const std::string& column : shape.target.key) {
    returned += (returned.empty() ? "t." : ", t.") + QuotedIdentifier(column);
  }
  return "WITH i AS (" + insert + " RETURNING " + returned + ") SELECT r.n FROM i JOIN " + TypedRows(shape) + " ON " +
         MatchKeySql(shape.table, shape.target, shape.columns, "i.", "r.c");
}

std::string TargetRowsSql(const PostgresRowShape& shape) {
  std::string values;
  for (const TableColumn& column : shape.table.columns) values += ", t." + QuotedIdentifier(column.name) + "::text";
  return "SELECT r.n" + values + " FROM " + TypedRows(shape) + " JOIN " + shape.table.name.Quoted() + " AS t ON " +
         MatchKeySql(shape.table, shape.target, shape.columns, "t.", "r.c");
}

size_t RowNumberOf(const std::vector<std::optional<std::string>>& answer) {
  const std::string text = answer.at(0).value_or("");
  size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number - 1;
}

std::string WrongMergeName(std::string_view sql) {
  std::string wrong;
  ForEachName(
      sql, [](std::string_view) {},
      [&](std::string_view name) {
        if (wrong.empty() && std::ranges::find(kMergeNames, name) == kMergeNames.end()) wrong = name;
      });
  return wrong;
}

}  // namespace weir::connectors
