#include "connectors/postgres/segment_writer.h"

#include <algorithm>
#include <utility>

#include "connectors/postgres/segment.h"

namespace weir::connectors {

PostgresSegmentWriter::PostgresSegmentWriter(PostgresSinkOptions options, std::string system,
                                             PostgresClientFactory& factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      factory_(factory),
      frames_(options_.target, options_.columns, options_.policies.dead_letters.has_value()) {}

PostgresSegmentWriter::~PostgresSegmentWriter() = default;

Status PostgresSegmentWriter::Open(operators::WriterContext& context) {
  subtask_ = context.subtask;
  output_ = std::make_unique<SegmentOutput>(system_, context);
  check_ = std::make_unique<PostgresTargetCheck>(options_, factory_, context);
  return {};
}

Status PostgresSegmentWriter::FirstError() {
  WEIR_RETURN_IF_ERROR(output_->TakeResults());
  return check_->Take();
}

bool PostgresSegmentWriter::CanWrite() {
  // An error is the next Write's to report.
  return !FirstError().ok() || output_->HasRoom();
}

Status PostgresSegmentWriter::Write(operators::Batch batch) {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (batch.schema() != checked_) {
    WEIR_RETURN_IF_ERROR(check_->CheckColumns(*batch.schema()));
    checked_ = batch.schema();
  }
  WEIR_ASSIGN_OR_RETURN(const uint64_t rows, frames_.Append(batch, output_->text()));
  if (rows > 0) output_->Added(rows);
  return {};
}

Status PostgresSegmentWriter::ProcessWatermark(operators::Watermark watermark) {
  // The end of the input is no time of the source.
  if (watermark.time != operators::EventTime::Max()) frontier_ = std::max(frontier_, watermark.time);
  return {};
}

Status PostgresSegmentWriter::Flush() {
  WEIR_RETURN_IF_ERROR(FirstError());
  output_->Flush();
  return {};
}

Result<bool> PostgresSegmentWriter::ReadyForBarrier() {
  WEIR_RETURN_IF_ERROR(FirstError());
  // Each writer says at each barrier how far it is, also that it does not know: the frontier is the least of them.
  if (options_.frontier && !told_frontier_ && !output_->sealing()) {
    AppendSegmentFrontier(output_->text(), {subtask_, frontier_});
    output_->Added(0);
    told_frontier_ = true;
  }
  if (output_->begun()) {
    AppendPostgresSegmentEnd(output_->text());
    output_->Seal();
    frames_.Restart();
  }
  return !output_->sealing();
}

Result<std::vector<checkpoint::Committable>> PostgresSegmentWriter::PrepareCommit(CheckpointId) {
  told_frontier_ = false;
  return output_->TakeCommittables();
}

}  // namespace weir::connectors
