#include "connectors/file/writer.h"

#include <optional>
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
  done_ = std::make_unique<Mailbox<Done>>(*context.wakeup);
  parts_ = std::make_unique<PartWriter>(fs_, SinkFolder(options_.path, context.job), !options_.exactly_once);
  worker_ = context.workers->NewWorker("file-" + std::to_string(context.subtask));
  // With a committer this is Sign's business, which knows what the checkpoint lists.
  if (!options_.exactly_once && context.subtask == 0) {
    std::string of_this_sink = PartNameStem(options_.prefix, context.uid, context.attempt, 0);
    of_this_sink.resize(of_this_sink.size() - std::string_view("0123456789abcdef-0-").size());
    worker_->Submit([this, of_this_sink, attempt = context.attempt] {
      done_->Post({.status = parts_->RemoveLeftOver(of_this_sink, attempt), .buffer = {}});
    });
  }
  return Status::Ok();
}

bool FileSinkWriter::CanWrite() {
  TakeResults();
  return !failure_.ok() || waiting_bytes_ < static_cast<uint64_t>(options_.buffer_bytes_max);
}

Status FileSinkWriter::Write(operators::Batch batch) {
  TakeResults();
  WEIR_RETURN_IF_ERROR(failure_);
  for (size_t i = 0; i < batch.rows(); ++i) {
    const size_t before = text_.size();
    WEIR_RETURN_IF_ERROR(serializer_->Append(batch, i, text_));
    if (text_.size() == before) continue;  // left out
    text_ += '\n';
    if (part_name_.empty()) {
      part_name_ = PartName(stem_, sequence_++);
      part_begin_ = clock_->Now();
    }
    part_bytes_ += text_.size() - before;
    ++part_rows_;
    if (part_bytes_ >= static_cast<uint64_t>(options_.roll_bytes) ||
        part_rows_ >= static_cast<uint64_t>(options_.roll_rows)) {
      SubmitSeal();
    } else if (text_.size() >= kTextBytes) {
      SubmitText();
    }
  }
  if (!part_name_.empty() && clock_->Now() - part_begin_ >= options_.roll_age) SubmitSeal();
  return Status::Ok();
}

Status FileSinkWriter::Flush() {
  TakeResults();
  if (!text_.empty() && waiting_bytes_ == 0) SubmitText();
  return failure_;
}

Result<bool> FileSinkWriter::ReadyForBarrier() {
  TakeResults();
  WEIR_RETURN_IF_ERROR(failure_);
  if (!part_name_.empty()) SubmitSeal();
  return seals_waiting_ == 0;
}

Result<std::vector<checkpoint::Committable>> FileSinkWriter::PrepareCommit(CheckpointId) {
  WEIR_CHECK(part_name_.empty() && seals_waiting_ == 0);
  std::vector<checkpoint::Committable> committables;
  for (const Part& part : std::exchange(sealed_, {})) {
    if (!options_.exactly_once) continue;  // has its final name already
    committables.push_back({.system = "file:" + options_.path,
                            .uid = uid_,
                            .payload = PartToJson(part),
                            .size_bytes = part.size_bytes,
                            .rows = part.rows});
  }
  return committables;
}

void FileSinkWriter::TakeResults() {
  while (std::optional<Done> done = done_->Take()) {
    if (!done->status.ok() && failure_.ok()) failure_ = std::move(done->status);
    waiting_bytes_ -= done->bytes;
    for (Part& part : done->sealed) {
      sealed_.push_back(std::move(part));
      --seals_waiting_;
    }
    done->buffer.clear();
    if (spare_.capacity() < done->buffer.capacity()) spare_ = std::move(done->buffer);
  }
}

void FileSinkWriter::SubmitText() {
  if (text_.empty()) return;
  waiting_bytes_ += text_.size();
  worker_->Submit([this, name = part_name_, text = std::exchange(text_, std::exchange(spare_, {}))]() mutable {
    const uint64_t bytes = text.size();
    Status status = parts_->Append(name, text);
    done_->Post({.status = std::move(status), .buffer = std::move(text), .bytes = bytes});
  });
}

void FileSinkWriter::SubmitSeal() {
  SubmitText();
  ++seals_waiting_;
  worker_->Submit([this, rows = part_rows_] {
    Result<Part> part = parts_->Seal(rows);
    if (part.has_value()) {
      done_->Post({.status = {}, .buffer = {}, .bytes = 0, .sealed = {std::move(*part)}});
    } else {
      done_->Post({.status = part.error(), .buffer = {}});
    }
  });
  part_name_.clear();
  part_bytes_ = 0;
  part_rows_ = 0;
}

}  // namespace weir::connectors
