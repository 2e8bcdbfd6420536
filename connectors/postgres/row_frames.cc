#include "connectors/postgres/row_frames.h"

#include "connectors/postgres/segment.h"

namespace weir::connectors {

using operators::RowKind;

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
    WEIR_RETURN_IF_ERROR(AppendSegmentRow(out, batch, i));
    ++rows;
  }
  return rows;
}

}  // namespace weir::connectors
