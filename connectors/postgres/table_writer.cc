// The idea: within one flush every key has one row that counts, so that the order of rows no longer matters and all
// deletions can go first, then the upserts, those with the same columns in one statement. Where two rows of a key say
// different things (other columns, a version that only the server can compare) the first is flushed.
#include "connectors/postgres/table_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/json_escape.h"
#include "connectors/format/json_text.h"
#include "operators/decimal.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

using operators::RowKind;

constexpr size_t kStatementRows = 1000;
constexpr size_t kStatementBytes = 4U << 20U;

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// For people, and for a column of text: what is no text in hexadecimal digits.
std::string Readable(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string bytes;
  AppendPostgresText(bytes, operators::Value::Text(operators::ValueType::kBytes, text));
  return bytes;
}

// At most 100 bytes of it.
std::string Excerpt(std::string text) {
  size_t size = 100;
  if (text.size() <= size) return text;
  while ((static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
  return text.substr(0, size) + "...";
}

PostgresRefusal MissingValue(const TargetTable& table, const std::string& column, const std::string& what) {
  return {.sqlstate = "23502",
          .message = "the row has no value in its " + what,
          .table = table.name.ToString(),
          .column = column};
}

}  // namespace

PostgresTableWriter::PostgresTableWriter(PostgresSession& session, const PostgresPolicies& policies, Care care)
    : session_(session), policies_(policies), care_(care), arena_(std::make_unique<operators::Arena>()) {}

Status PostgresTableWriter::UseTarget(const SegmentRow& row) {
  sealed_.reset();
  columns_.clear();
  target_ = row.target;
  const std::string name = target_.table.Quoted();
  if (!tables_.contains(name)) {
    WEIR_ASSIGN_OR_RETURN(tables_[name], LoadTargetTable(session_, target_.table));
  }
  table_ = &tables_[name];
  if (target_.upsert && target_.key.empty()) target_.key = table_->primary_key;
  if (target_.upsert && target_.key.empty()) {
    return Status::FailedPrecondition("table " + table_->name.ToString() +
                                      " has no primary key: mode upsert needs one, or key columns with a unique index");
  }
  sealed_ = row.target;
  return {};
}

Status PostgresTableWriter::MapColumns(const std::vector<std::string>& columns) {
  table_columns_.clear();
  unknown_cells_.clear();
  extras_.reset();
  if (policies_.unknown_columns == PostgresUnknownColumns::kExtras) {
    extras_ = table_->Find(policies_.extras_column);
    if (!extras_.has_value()) {
      return Status::FailedPrecondition("table " + table_->name.ToString() + " has no column \"" +
                                        policies_.extras_column + "\", which extras-column names");
    }
  }
  for (const std::string& column : columns) {
    std::optional<size_t> found = table_->Find(column);
    if (found.has_value() && found == extras_) {
      return Status::FailedPrecondition("the rows for table " + table_->name.ToString() + " have a column \"" + column +
                                        "\" of their own, which extras-column names: expected another name");
    }
    if (!found.has_value() && policies_.unknown_columns == PostgresUnknownColumns::kFail) {
      return Status::FailedPrecondition("table " + table_->name.ToString() + " has no column \"" + column +
                                        "\", which the rows have; its columns: " + table_->ColumnList());
    }
    if (!found.has_value()) unknown_cells_.push_back(table_columns_.size());
    if (found.has_value() && table_->columns[*found].generated) found.reset();
    table_columns_.push_back(found);
  }
  return {};
}

Status PostgresTableWriter::UseColumns(const std::vector<std::string>& columns) {
  columns_.clear();
  WEIR_RETURN_IF_ERROR(MapColumns(columns));
  const auto cell_of = [&](const std::string& column) -> Result<size_t> {
    const auto found = std::ranges::find(columns, column);
    if (found != columns.end() && table_columns_[static_cast<size_t>(found - columns.begin())].has_value()) {
      return static_cast<size_t>(found - columns.begin());
    }
    return Error(Status::FailedPrecondition("the rows for table " + table_->name.ToString() + " have no column \"" +
                                            column + "\", which is part of its key or its version"));
  };
  key_cells_.clear();
  version_cell_.reset();
  if (target_.upsert) {
    for (const std::string& column : target_.key) {
      WEIR_ASSIGN_OR_RETURN(key_cells_.emplace_back(), cell_of(column));
    }
    if (!target_.version_column.empty()) {
      WEIR_ASSIGN_OR_RETURN(version_cell_, cell_of(target_.version_column));
    }
  }
  columns_ = columns;
  return {};
}

PostgresCell PostgresTableWriter::Extras(const SegmentRow& row) {
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
  return arena_->Copy(object + '}');
}

PostgresCell PostgresTableWriter::Copy(const TableColumn& column, std::string_view text) {
  // The server takes no "5.00" or "7E+3" for an integer, though the number is one.
  if (column.is_integer() && text.find_first_of(".eE") != std::string_view::npos && operators::IsNumberText(text)) {
    if (const std::optional<int64_t> integer = operators::NumberAsInt64(text)) {
      return arena_->Copy(std::to_string(*integer));
    }
  }
  return arena_->Copy(text);
}

bool PostgresTableWriter::AppendKey(const SegmentRow& row, std::string& key) const {
  for (const size_t cell : key_cells_) {
    const SegmentValue& value = row.values[cell];
    if (!value.text.has_value()) return false;
    if (table_->columns[*table_columns_[cell]].is_number && operators::IsNumberText(*value.text)) {
      std::string number;
      operators::AppendCanonicalNumber(number, *value.text);
      AppendLengthPrefixed(key, number);
    } else {
      AppendLengthPrefixed(key, *value.text);
    }
  }
  return true;
}

Result<PostgresTableWriter::Waiting> PostgresTableWriter::Take(const SegmentRow& row) {
  Waiting waiting;
  waiting.deletes = target_.upsert && operators::IsRetraction(row.kind);
  const auto add = [&](size_t cell) {
    const SegmentValue& value = row.values[cell];
    const size_t column = *table_columns_[cell];
    waiting.columns.push_back(column);
    waiting.cells.push_back(value.text.has_value() ? Copy(table_->columns[column], *value.text) : PostgresCell());
  };
  if (waiting.deletes) {
    for (const size_t cell : key_cells_) add(cell);
    if (version_cell_.has_value() && row.values[*version_cell_].text.has_value()) add(*version_cell_);
    return waiting;
  }
  for (size_t cell = 0; cell < row.values.size(); ++cell) {
    if (!row.values[cell].absent && table_columns_[cell].has_value()) add(cell);
  }
  if (extras_.has_value()) {
    waiting.columns.push_back(*extras_);
    waiting.cells.push_back(Extras(row));
  }
  if (!waiting.columns.empty()) return waiting;
  return Error(Status::FailedPrecondition("a row for table " + table_->name.ToString() +
                                          " has none of its columns: " + table_->ColumnList()));
}

Status PostgresTableWriter::Add(const SegmentRow& row) {
  const bool other_target = !sealed_.has_value() || *sealed_ != row.target;
  if (other_target || columns_ != row.columns) {
    WEIR_RETURN_IF_ERROR(SettleHeld());
    if (other_target) {
      WEIR_RETURN_IF_ERROR(Flush());
      WEIR_RETURN_IF_ERROR(UseTarget(row));
    }
    WEIR_RETURN_IF_ERROR(UseColumns(row.columns));
  }
  WEIR_ASSIGN_OR_RETURN(Waiting waiting, Take(row));
  if (!target_.upsert) return Insert(std::move(waiting));
  std::string key;
  if (!AppendKey(row, key)) return Refuse(waiting, MissingValue(*table_, "", "key"));
  if (version_cell_.has_value() && !waiting.deletes && !row.values[*version_cell_].text.has_value()) {
    return Refuse(waiting, MissingValue(*table_, target_.version_column, "version column"));
  }
  waiting.key = arena_->Copy(key);
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

Status PostgresTableWriter::Insert(Waiting row) {
  if (rows_.size() >= kStatementRows || arena_->bytes() >= kStatementBytes) WEIR_RETURN_IF_ERROR(Flush());
  if (!target_.upsert) {
    rows_.push_back(std::move(row));
    return {};
  }
  const auto known = newest_.find(row.key);
  // A deletion stays, in front of the row that comes back.
  if (known != newest_.end() && !rows_[known->second].deletes) {
    Waiting& before = rows_[known->second];
    if (!version_cell_.has_value() && (row.deletes || row.columns == before.columns)) {
      before.superseded = true;
    } else {
      WEIR_RETURN_IF_ERROR(Flush());
    }
  }
  newest_[row.key] = rows_.size();
  rows_.push_back(std::move(row));
  return {};
}

Status PostgresTableWriter::Finish() {
  WEIR_RETURN_IF_ERROR(SettleHeld());
  WEIR_RETURN_IF_ERROR(Flush());
  const auto checked = session_.ExecuteOne({"SET CONSTRAINTS ALL IMMEDIATE"});
  return checked.has_value() ? Status::Ok() : checked.error();
}

Status PostgresTableWriter::Flush() {
  std::vector<const Waiting*> rows;
  for (const Waiting& row : rows_) {
    if (!row.superseded) rows.push_back(&row);
  }
  if (!rows.empty()) WEIR_RETURN_IF_ERROR(care_ == Care::kQuick ? Send(rows) : SendCarefully(rows));
  newest_.clear();
  rows_.clear();
  older_ = std::move(arena_);
  arena_ = std::make_unique<operators::Arena>();
  return {};
}

Status PostgresTableWriter::Send(Rows rows) {
  const auto sent = session_.Execute(StatementsFor(rows).list);
  return sent.has_value() ? Status::Ok() : sent.error().WithContext("table " + table_->name.ToString());
}

Status PostgresTableWriter::SendCarefully(Rows rows) {
  Statements statements = StatementsFor(rows);
  statements.list.insert(statements.list.begin(), PostgresStatement{"SAVEPOINT weir_rows"});
  statements.list.push_back({"RELEASE SAVEPOINT weir_rows"});
  const auto sent = session_.Execute(statements.list);
  if (sent.has_value()) return {};
  const Status status = sent.error().WithContext("table " + table_->name.ToString());
  const PostgresRefusal refusal = session_.refusal();
  if (!IsRowRefusal(refusal)) return status;
  WEIR_ASSIGN_OR_RETURN(const PostgresAnswer back, session_.ExecuteOne({"ROLLBACK TO SAVEPOINT weir_rows"}));
  if (rows.size() == 1) return Refuse(*rows.front(), refusal);
  WEIR_RETURN_IF_ERROR(SendCarefully(rows.first(rows.size() / 2)));
  return SendCarefully(rows.subspan(rows.size() / 2));
}

PostgresTableWriter::Statements PostgresTableWriter::StatementsFor(Rows rows) const {
  std::vector<std::vector<const Waiting*>> groups;  // of rows with the same columns
  const auto group_all = [&](bool deletes) {
    const size_t first = groups.size();
    for (const Waiting* row : rows) {
      if (row->deletes != deletes) continue;
      // New rows keep their order.
      const size_t from = target_.upsert || groups.size() == first ? first : groups.size() - 1;
      const auto same = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(from), groups.end(),
                                     [row](const auto& group) { return group.front()->columns == row->columns; });
      if (same == groups.end()) {
        groups.push_back({row});
      } else {
        same->push_back(row);
      }
    }
  };
  group_all(true);
  group_all(false);
  Statements statements;
  for (const std::vector<const Waiting*>& group : groups) {
    const std::vector<size_t>& columns = group.front()->columns;
    PostgresStatement& statement = statements.list.emplace_back();
    statement.sql =
        group.front()->deletes ? DeleteSql(*table_, target_, columns) : InsertSql(*table_, target_, columns);
    for (size_t i = 0; i < columns.size(); ++i) {
      std::vector<PostgresCell>& cells = statements.arrays.emplace_back();
      for (const Waiting* row : group) cells.push_back(row->cells[i]);
      statement.parameters.push_back(PostgresParameter::Array(cells));
    }
  }
  return statements;
}

std::string PostgresTableWriter::RowText(const Waiting& row) const {
  std::string text = "{";
  for (size_t i = 0; i < row.columns.size(); ++i) {
    if (i > 0) text += ',';
    AppendJsonString(text, table_->columns[row.columns[i]].name);
    text += ':';
    if (!row.cells[i].has_value()) {
      text += "null";
    } else {
      AppendJsonString(text, Readable(*row.cells[i]));
    }
  }
  return text + '}';
}

// "(id)=(5)"; where the rows have no key, the row itself, cut off.
std::string PostgresTableWriter::KeyText(const Waiting& row) const {
  std::string names;
  std::string values;
  for (const std::string& column : target_.upsert ? target_.key : table_->primary_key) {
    const std::optional<size_t> place = table_->Find(column);
    if (!place.has_value()) continue;
    const auto cell = std::ranges::find(row.columns, *place);
    if (cell == row.columns.end()) continue;
    const PostgresCell& value = row.cells[static_cast<size_t>(cell - row.columns.begin())];
    names += (names.empty() ? "" : ", ") + column;
    values += (values.empty() ? "" : ", ") + (value.has_value() ? Excerpt(Readable(*value)) : "null");
  }
  return names.empty() ? operators::QuotedExcerpt(RowText(row)) : "(" + names + ")=(" + values + ")";
}

Status PostgresTableWriter::Refuse(const Waiting& row, const PostgresRefusal& refusal) {
  if (policies_.dead_letters.has_value()) return WriteDeadLetter(row, refusal);
  return Status::FailedPrecondition("table " + table_->name.ToString() + " refuses the row with key " + KeyText(row) +
                                    ": " + RefusalText(refusal));
}

Status PostgresTableWriter::WriteDeadLetter(const Waiting& row, const PostgresRefusal& refusal) {
  const std::string table = policies_.dead_letters->Quoted();
  const std::string target = table_->name.ToString();
  const std::string key = KeyText(row);
  const std::string text = RowText(row);
  const std::string error = RefusalText(refusal);
  std::vector<PostgresStatement> statements;
  if (!std::exchange(dead_letters_made_, true)) {
    WEIR_ASSIGN_OR_RETURN(const bool there, TableExists(session_, *policies_.dead_letters));
    if (!there) {
      statements.push_back({"CREATE TABLE " + table +
                            " (at timestamptz NOT NULL DEFAULT now(), target text NOT NULL, kind text NOT NULL, "
                            "key text, row json, sqlstate text, error text)"});
    }
  }
  statements.push_back(
      {.sql =
           "INSERT INTO " + table + " (target, kind, key, row, sqlstate, error) VALUES ($1, $2, $3, $4::json, $5, $6)",
       .parameters = {PostgresParameter::Text(target), PostgresParameter::Text(row.deletes ? "delete" : "write"),
                      PostgresParameter::Text(key), PostgresParameter::Text(text),
                      PostgresParameter::Text(refusal.sqlstate), PostgresParameter::Text(error)}});
  const auto written = session_.Execute(statements);
  if (!written.has_value())
    return written.error().WithContext("dead-letter table " + policies_.dead_letters->ToString());
  ++dead_letters_;
  return {};
}

}  // namespace weir::connectors
