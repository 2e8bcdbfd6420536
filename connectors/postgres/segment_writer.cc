#include "connectors/postgres/segment_writer.h"

#include <utility>

#include "base/check.h"
#include "connectors/postgres/segment.h"

namespace weir::connectors {
namespace {

constexpr size_t kAppendBytes = 256 * 1024;
constexpr uint64_t kUnwrittenBytesMax = uint64_t{8} << 20;  // text that waits for the Worker

}  // namespace

PostgresSegmentWriter::PostgresSegmentWriter(PostgresSinkOptions options, std::string system,
                                             PostgresClientFactory& factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      factory_(factory),
      frames_(options_.target, options_.policies.dead_letters.has_value()) {}

PostgresSegmentWriter::~PostgresSegmentWriter() = default;

Status PostgresSegmentWriter::Open(operators::WriterContext& context) {
  uid_ = context.uid;
  stem_ = context.segment_stem;
  files_ = std::make_unique<BackgroundFiles>(
      std::make_unique<checkpoint::FolderSealer>(*context.file_system, context.output_folder), context,
      "segment-" + std::to_string(context.subtask));
  check_ = std::make_unique<PostgresTargetCheck>(options_, factory_, context);
  return {};
}

Status PostgresSegmentWriter::FirstError() {
  files_->TakeResults();
  WEIR_RETURN_IF_ERROR(files_->failure());
  return check_->Take();
}

bool PostgresSegmentWriter::CanWrite() {
  // An error is the next Write's to report.
  return !FirstError().ok() || files_->waiting_bytes() < kUnwrittenBytesMax;
}

Status PostgresSegmentWriter::Write(operators::Batch batch) {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (batch.schema() != checked_) {
    WEIR_RETURN_IF_ERROR(check_->CheckColumns(*batch.schema()));
    checked_ = batch.schema();
  }
  WEIR_ASSIGN_OR_RETURN(const uint64_t rows, frames_.Append(batch, files_->text()));
  if (rows == 0) return {};
  if (segment_.empty()) segment_ = stem_ + std::to_string(sequence_++);
  segment_rows_ += rows;
  if (files_->text().size() >= kAppendBytes) files_->Submit(segment_);
  return {};
}

Status PostgresSegmentWriter::Flush() {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (files_->waiting_bytes() == 0) files_->Submit(segment_);
  return {};
}

Result<bool> PostgresSegmentWriter::ReadyForBarrier() {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (!segment_.empty()) {
    AppendPostgresSegmentEnd(files_->text());
    files_->SubmitSeal(segment_, std::exchange(segment_rows_, 0));
    segment_.clear();
    frames_.Restart();
  }
  return !files_->sealing();
}

Result<std::vector<checkpoint::Committable>> PostgresSegmentWriter::PrepareCommit(CheckpointId) {
  WEIR_CHECK(segment_.empty() && !files_->sealing());
  std::vector<checkpoint::Committable> committables;
  for (const checkpoint::SealedFile& file : files_->TakeSealed()) {
    committables.push_back({.system = system_,
                            .uid = uid_,
                            .payload = {},
                            .size_bytes = file.size_bytes,
                            .rows = file.rows,
                            .segment = file.name,
                            .checksum = file.checksum});
  }
  return committables;
}

}  // namespace weir::connectors
