#include "connectors/postgres/segment_writer.h"

#include <utility>

#include "connectors/postgres/segment.h"

namespace weir::connectors {

PostgresSegmentWriter::PostgresSegmentWriter(PostgresSinkOptions options, std::string system,
                                             PostgresClientFactory& factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      factory_(factory),
      frames_(options_.target, options_.policies.dead_letters.has_value()) {}

PostgresSegmentWriter::~PostgresSegmentWriter() = default;

Status PostgresSegmentWriter::Open(operators::WriterContext& context) {
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

Status PostgresSegmentWriter::Flush() {
  WEIR_RETURN_IF_ERROR(FirstError());
  output_->Flush();
  return {};
}

Result<bool> PostgresSegmentWriter::ReadyForBarrier() {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (output_->begun()) {
    AppendPostgresSegmentEnd(output_->text());
    output_->Seal();
    frames_.Restart();
  }
  return !output_->sealing();
}

Result<std::vector<checkpoint::Committable>> PostgresSegmentWriter::PrepareCommit(CheckpointId) {
  return output_->TakeCommittables();
}

}  // namespace weir::connectors
