#include "connectors/postgres/row_cells.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/json_escape.h"
#include "connectors/format/row_collector.h"
#include "operators/decimal.h"

namespace weir::connectors {
namespace {

PostgresCell Copy(const TableColumn& column, std::string_view text, operators::Arena& arena) {
  // The server takes no "5.00" or "7E+3" for an integer, though the number is one.
  if (column.is_integer() && text.find_first_of(".eE") != std::string_view::npos && operators::IsNumberText(text)) {
    if (const std::optional<int64_t> integer = operators::NumberAsInt64(text)) {
      return arena.Copy(std::to_string(*integer));
    }
  }
  return arena.Copy(text);
}

}  // namespace

// To the letter first. In any case only where the sink has not named the table itself, and never two cells for one.
std::optional<size_t> PostgresRowCells::Find(const std::vector<std::string>& columns, size_t cell) const {
  const std::optional<size_t> exact = table_.Find(columns[cell]);
  if (exact.has_value() || !target_.named_by_row) return exact;
  const std::optional<size_t> found = table_.FindInAnyCase(columns[cell]);
  if (!found.has_value()) return found;
  const auto takes_it = [&](const std::string& other) {
    return other == table_.columns[*found].name ||
           (&other < &columns[cell] && !table_.Find(other).has_value() && table_.FindInAnyCase(other) == found);
  };
  return std::ranges::any_of(columns, takes_it) ? std::nullopt : found;
}

Status PostgresRowCells::FindExtras() {
  extras_.reset();
  const std::string& name = target_.rules.extras_column.empty() ? policies_.extras_column : target_.rules.extras_column;
  if (name.empty()) return {};
  extras_ = table_.Find(name);
  if (extras_.has_value()) return {};
  return Status::FailedPrecondition("table " + table_.name.ToString() + " has no column \"" + name +
                                    "\", which extras-column names");
}

Status PostgresRowCells::MapColumns(const std::vector<std::string>& columns) {
  table_columns_.clear();
  unknown_cells_.clear();
  key_array_cell_.reset();
  WEIR_RETURN_IF_ERROR(FindExtras());
  std::vector<std::string> names;  // as the table has them
  for (const std::string& column : columns) names.push_back(target_.rules.NameOf(column));
  for (size_t cell = 0; cell < columns.size(); ++cell) {
    const std::string& column = columns[cell];
    std::optional<size_t>& found = table_columns_.emplace_back();
    if (!target_.key_column.empty() && column == target_.key_column) {
      key_array_cell_ = cell;
      continue;
    }
    if (target_.rules.Ignores(column)) continue;
    found = Find(names, cell);
    if (found.has_value() && found == extras_) {
      return Status::FailedPrecondition("the rows for table " + table_.name.ToString() + " have a column \"" + column +
                                        "\" of their own, which extras-column names: expected another name");
    }
    if (!found.has_value()) unknown_cells_.push_back(cell);
    if (found.has_value() && table_.columns[*found].generated) found.reset();
  }
  return {};
}

std::optional<size_t> PostgresRowCells::CellOf(const std::string& name) const {
  const std::optional<size_t> column = table_.Find(name);
  const auto found = std::ranges::find(table_columns_, column);
  if (!column.has_value() || found == table_columns_.end()) return std::nullopt;
  return static_cast<size_t>(found - table_columns_.begin());
}

Status PostgresRowCells::UseColumns(const std::vector<std::string>& columns) {
  mapped_ = false;
  WEIR_RETURN_IF_ERROR(MapColumns(columns));
  const auto lacks = [&](const std::string& column) {
    return Status::FailedPrecondition("the rows for table " + table_.name.ToString() + " have no column \"" + column +
                                      "\", which is part of its key or its version");
  };
  key_cells_.clear();
  version_cells_.clear();
  if (target_.upsert) {
    for (const std::string& column : target_.key) {
      key_cells_.push_back(CellOf(column));
      if (!key_cells_.back().has_value() && !target_.named_by_row) return lacks(column);
    }
    for (const std::string& column : target_.versions()) {
      version_cells_.push_back(CellOf(column));
      if (!version_cells_.back().has_value() && !target_.named_by_row) return lacks(column);
    }
  }
  columns_ = columns;
  mapped_ = true;
  return {};
}

// Rows of several tables may share their names: what a row lacks its table may lack as well.
Status PostgresRowCells::CheckUnknown(const SegmentRow& row) const {
  if (extras_.has_value() || policies_.unknown_columns != PostgresUnknownColumns::kFail) return {};
  const auto cell = std::ranges::find_if(unknown_cells_, [&](size_t each) { return !row.values[each].absent; });
  if (cell == unknown_cells_.end()) return {};
  return Status::FailedPrecondition("table " + table_.name.ToString() + " has no column \"" +
                                    target_.rules.NameOf(row.columns[*cell]) +
                                    "\", which the rows have; its columns: " + table_.ColumnList());
}

PostgresCell PostgresRowCells::Extras(const SegmentRow& row, operators::Arena& arena) const {
  std::string object;
  for (const size_t cell : unknown_cells_) {
    const SegmentValue& value = row.values[cell];
    if (value.absent) continue;
    object += object.empty() ? '{' : ',';
    AppendJsonString(object, row.columns[cell]);
    object += ':';
    if (!value.text.has_value()) {
      object += "null";
    } else if (value.json) {
      object += *value.text;
    } else {
      AppendJsonString(object, *value.text);
    }
  }
  if (object.empty()) return std::nullopt;
  return arena.Copy(object + '}');
}

void PostgresRowCells::AddKeyCell(const std::string& column, std::string_view text, operators::Arena& arena,
                                  Cells& cells) {
  const size_t place = *table_.Find(column);
  cells.columns.push_back(place);
  cells.cells.push_back(Copy(table_.columns[place], text, arena));
  if (table_.columns[place].is_number && operators::IsNumberText(text)) {
    std::string number;
    operators::AppendCanonicalNumber(number, text);
    AppendLengthPrefixed(cells.key, number);
  } else {
    AppendLengthPrefixed(cells.key, text);
  }
}

bool PostgresRowCells::TakeKeyArray(const SegmentRow& row, operators::Arena& arena, Cells& cells) {
  if (!key_array_cell_.has_value() || !row.values[*key_array_cell_].text.has_value()) return false;
  const std::string_view text = *row.values[*key_array_cell_].text;
  char* copy = arena.Allocate(text.size() + RowCollector::kPaddingBytes);
  text.copy(copy, text.size());
  if (!reader_.ReadArray({copy, text.size()}, arena, array_).ok() || array_.size() != target_.key.size()) return false;
  for (size_t i = 0; i < array_.size(); ++i) {
    if (array_[i].missing()) return false;
    std::string value;
    AppendPostgresText(value, array_[i]);
    AddKeyCell(target_.key[i], value, arena, cells);
  }
  return true;
}

void PostgresRowCells::TakeKey(const SegmentRow& row, operators::Arena& arena, Cells& cells) {
  const bool whole = std::ranges::all_of(
      key_cells_, [&](const auto& cell) { return cell.has_value() && row.values[*cell].text.has_value(); });
  if (whole) {
    for (size_t i = 0; i < key_cells_.size(); ++i) {
      AddKeyCell(target_.key[i], *row.values[*key_cells_[i]].text, arena, cells);
    }
  } else if (!TakeKeyArray(row, arena, cells)) {
    cells.missing = "key";
  }
}

Result<PostgresRowCells::Cells> PostgresRowCells::Take(const SegmentRow& row, bool deletes, operators::Arena& arena) {
  Cells cells;
  if (target_.upsert) TakeKey(row, arena, cells);
  const auto keys = static_cast<std::ptrdiff_t>(cells.columns.size());
  const auto has_value = [&](const auto& cell) { return cell.has_value() && row.values[*cell].text.has_value(); };
  const auto lacking = std::ranges::find_if_not(version_cells_, has_value);
  const auto add = [&](size_t cell) {
    const SegmentValue& value = row.values[cell];
    const size_t column = *table_columns_[cell];
    if (std::find(cells.columns.begin(), cells.columns.begin() + keys, column) != cells.columns.begin() + keys) return;
    cells.columns.push_back(column);
    cells.cells.push_back(value.text.has_value() ? Copy(table_.columns[column], *value.text, arena) : PostgresCell());
  };
  if (deletes) {
    if (lacking != version_cells_.end()) return cells;
    for (const std::optional<size_t>& cell : version_cells_) add(*cell);
    return cells;
  }
  if (lacking != version_cells_.end() && cells.missing == nullptr) {
    cells.missing = "version column";
    cells.missing_column = target_.versions()[static_cast<size_t>(lacking - version_cells_.begin())];
  }
  WEIR_RETURN_IF_ERROR(CheckUnknown(row));
  for (size_t cell = 0; cell < row.values.size(); ++cell) {
    if (!row.values[cell].absent && table_columns_[cell].has_value()) add(cell);
  }
  if (extras_.has_value()) {
    cells.columns.push_back(*extras_);
    cells.cells.push_back(Extras(row, arena));
  }
  if (!cells.columns.empty()) return cells;
  return Error(Status::FailedPrecondition("a row for table " + table_.name.ToString() +
                                          " has none of its columns: " + table_.ColumnList()));
}

PostgresRowCells::Cells PostgresRowCells::TakeImage(const SegmentRow& row, operators::Arena& arena) const {
  Cells image;
  for (size_t cell = 0; cell < row.values.size(); ++cell) {
    const SegmentValue& value = row.values[cell];
    if (value.absent || !table_columns_[cell].has_value()) continue;
    const size_t column = *table_columns_[cell];
    if (std::ranges::find(target_.key, table_.columns[column].name) != target_.key.end()) continue;
    image.columns.push_back(column);
    image.cells.push_back(value.text.has_value() ? Copy(table_.columns[column], *value.text, arena) : PostgresCell());
  }
  if (!extras_.has_value() || image.columns.empty()) return image;
  image.columns.push_back(*extras_);
  image.cells.push_back(Extras(row, arena));
  return image;
}

}  // namespace weir::connectors
