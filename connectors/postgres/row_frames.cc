#include "connectors/postgres/row_frames.h"

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

Result<uint64_t> PostgresRowFrames::Append(const operators::Batch& batch, std::string& out) {
  uint64_t rows = 0;
  for (size_t i = 0; i < batch.rows(); ++i) {
    const RowKind kind = batch.kind(i);
    if (!target_.upsert && kind == RowKind::kUpdateBefore) continue;
    if (!target_.upsert && kind == RowKind::kDelete) {
      return Error(Status::InvalidArgument("a deletion (-D) reached table " + target_.table.ToString() +
                                           ", which mode append only adds to: expected mode upsert, or a filter"));
    }
    if (batch.schema() != schema_) {
      if (schema_ == nullptr) AppendSegmentTarget(out, target_);
      schema_ = batch.schema();
      AppendSegmentColumns(out, schema_->columns());
    }
    if (const Status status = AppendSegmentRow(out, batch, i, any_text_); !status.ok()) {
      return Error(status.WithContext("row " + RowText(batch, i)));
    }
    ++rows;
  }
  return rows;
}

}  // namespace weir::connectors
