#include "connectors/file/writer.h"

#include <utility>

#include "base/check.h"

namespace weir::connectors {
namespace {

constexpr size_t kTextBytes = 256 * 1024;  // of one append

}  // namespace

FileSinkWriter::FileSinkWriter(FileSystem& fs, FileWriterOptions options, std::unique_ptr<Serializer> serializer)
    : fs_(fs), options_(std::move(options)), serializer_(std::move(serializer)) {}

FileSinkWriter::~FileSinkWriter() = default;

Status FileSinkWriter::Open(operators::WriterContext& context) {
  clock_ = context.clock;
  uid_ = context.uid;
  stem_ = PartNameStem(options_.prefix, context.uid, context.attempt, context.subtask);
  files_ = std::make_unique<BackgroundFiles>(
      std::make_unique<PartWriter>(fs_, SinkFolder(options_.path, context.job), !options_.exactly_once), context,
      "file-" + std::to_string(context.subtask));
  if (options_.exactly_once && context.metrics != nullptr) files_->CountUnsealed(context.metrics->unsealed_bytes);
  // With a committer this is Sign's business, which knows what the checkpoint lists.
  if (!options_.exactly_once && context.subtask == 0) {
    std::string of_this_sink = PartNameStem(options_.prefix, context.uid, context.attempt, 0);
    of_this_sink.resize(of_this_sink.size() - std::string_view("0123456789abcdef-0-").size());
    files_->SubmitJob([of_this_sink, attempt = context.attempt](checkpoint::FileSealer& parts) {
      return static_cast<PartWriter&>(parts).RemoveLeftOver(of_this_sink, attempt);
    });
  }
  return Status::Ok();
}

bool FileSinkWriter::CanWrite() {
  files_->TakeResults();
  return !files_->failure().ok() || files_->waiting_bytes() < static_cast<uint64_t>(options_.buffer_bytes_max);
}

Status FileSinkWriter::Write(operators::Batch batch) {
  files_->TakeResults();
  WEIR_RETURN_IF_ERROR(files_->failure());
  std::string& text = files_->text();
  for (size_t i = 0; i < batch.rows(); ++i) {
    const size_t before = text.size();
    WEIR_RETURN_IF_ERROR(serializer_->Append(batch, i, text));
    if (text.size() == before) continue;  // left out
    text += '\n';
    if (part_name_.empty()) {
      part_name_ = PartName(stem_, sequence_++);
      part_begin_ = clock_->Now();
    }
    part_bytes_ += text.size() - before;
    ++part_rows_;
    if (part_bytes_ >= static_cast<uint64_t>(options_.roll_bytes) ||
        part_rows_ >= static_cast<uint64_t>(options_.roll_rows)) {
      SubmitSeal();
    } else if (text.size() >= kTextBytes) {
      files_->Submit(part_name_);
    }
  }
  if (!part_name_.empty() && clock_->Now() - part_begin_ >= options_.roll_age) SubmitSeal();
  return Status::Ok();
}

Status FileSinkWriter::Flush() {
  files_->TakeResults();
  if (files_->waiting_bytes() == 0) files_->Submit(part_name_);
  return files_->failure();
}

Result<bool> FileSinkWriter::ReadyForBarrier() {
  files_->TakeResults();
  WEIR_RETURN_IF_ERROR(files_->failure());
  if (!part_name_.empty()) SubmitSeal();
  return !files_->sealing();
}

Result<std::vector<checkpoint::Committable>> FileSinkWriter::PrepareCommit(CheckpointId) {
  WEIR_CHECK(part_name_.empty() && !files_->sealing());
  std::vector<checkpoint::Committable> committables;
  for (const Part& part : files_->TakeSealed()) {
    if (!options_.exactly_once) continue;  // has its final name already
    committables.push_back({.system = "file:" + options_.path,
                            .uid = uid_,
                            .payload = PartToJson(part),
                            .size_bytes = part.size_bytes,
                            .rows = part.rows});
  }
  return committables;
}

void FileSinkWriter::SubmitSeal() {
  files_->SubmitSeal(part_name_, part_rows_);
  part_name_.clear();
  part_bytes_ = 0;
  part_rows_ = 0;
}

}  // namespace weir::connectors
