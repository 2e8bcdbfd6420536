#include "connectors/postgres/row_frames.h"

#include <algorithm>

#include "connectors/postgres/segment.h"
#include "operators/raw_value.h"

namespace weir::connectors {

using operators::RowKind;

namespace {

// For messages: cut off.
std::string RowText(const operators::Batch& batch, size_t row) {
  std::string text;
  for (size_t c = 0; c < batch.columns(); ++c) {
    if (batch.at(row, c).missing()) continue;
    text += (text.empty() ? "" : ", ") + batch.schema()->columns()[c] + "=";
    AppendPostgresText(text, batch.at(row, c));
  }
  return operators::QuotedExcerpt(text);
}

}  // namespace

void PostgresRowFrames::Restart() {
  shapes_.clear();
  shape_.reset();
  columns_frames_ = 0;
  has_target_ = false;
  time_ = {};
}

void PostgresRowFrames::UseSchema(const operators::SchemaPtr& schema) {
  schema_ = schema;
  table_cell_.reset();
  if (target_.named_by_row) table_cell_ = schema->Find(of_rows_.table_column);
  written_.clear();
  for (size_t i = 0; i < schema->size(); ++i) {
    if (i == table_cell_ ||
        std::ranges::find(of_rows_.without_columns, schema->columns()[i]) != of_rows_.without_columns.end())
      continue;
    written_.push_back(i);
  }
}

void PostgresRowFrames::UseTarget(const std::string& table) {
  target_of_ = table;
  if (!target_.named_by_row) return;
  const auto rules = of_rows_.tables.find(table);
  target_.rules = rules == of_rows_.tables.end() ? PostgresTableRules() : rules->second;
  target_.table.table = target_.rules.table.empty() ? table : target_.rules.table;
  target_.rules.table.clear();
}

void PostgresRowFrames::UseTable(const std::string& table, std::string& out) {
  if (shape_.has_value() && shape_->schema == schema_ && shape_->table == table) return;
  shape_ = Shape{schema_, table};
  const auto known = shapes_.find(*shape_);
  if (!has_target_ || table != target_of_) {
    UseTarget(table);
    if (known == shapes_.end()) AppendSegmentTarget(out, target_);
    has_target_ = true;
  }
  if (known != shapes_.end()) return AppendSegmentShape(out, known->second);
  std::vector<std::string> names;
  for (const size_t column : written_) names.push_back(schema_->columns()[column]);
  AppendSegmentColumns(out, names);
  if (columns_frames_ < kSegmentShapesMax) shapes_[*shape_] = columns_frames_++;
}

Result<uint64_t> PostgresRowFrames::Append(const operators::Batch& batch, std::string& out) {
  if (batch.empty()) return 0;
  if (batch.schema() != schema_) UseSchema(batch.schema());
  uint64_t rows = 0;
  for (size_t i = 0; i < batch.rows(); ++i) {
    const RowKind kind = batch.kind(i);
    if (!target_.upsert && kind == RowKind::kUpdateBefore) continue;
    if (target_.named_by_row) {
      table_.clear();
      if (table_cell_.has_value()) AppendPostgresText(table_, batch.at(i, *table_cell_));
    } else {
      table_ = target_.table.table;
    }
    if (!target_.upsert && kind == RowKind::kDelete) {
      return Error(Status::InvalidArgument("a deletion (-D) reached table " + target_.table.schema + "." + table_ +
                                           ", which mode append only adds to: expected mode upsert, or a filter"));
    }
    UseTable(table_, out);
    if ((target_.named_by_row || of_rows_.times) && batch.time(i) != time_) {
      time_ = batch.time(i);
      AppendSegmentTime(out, time_);
    }
    if (const Status status = AppendSegmentRow(out, batch, i, written_, any_text_); !status.ok()) {
      return Error(status.WithContext("row " + RowText(batch, i)));
    }
    ++rows;
  }
  return rows;
}

}  // namespace weir::connectors
