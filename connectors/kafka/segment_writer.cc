#include "connectors/kafka/segment_writer.h"

#include <utility>

#include "base/check.h"
#include "connectors/kafka/segment.h"

namespace weir::connectors {
namespace {

constexpr size_t kTextBytes = 256 * 1024;                 // of one append
constexpr uint64_t kWaitingBytesMax = uint64_t{8} << 20;  // text that waits for the Worker

}  // namespace

KafkaSegmentWriter::KafkaSegmentWriter(KafkaSinkOptions options, std::string system,
                                       std::unique_ptr<Serializer> serializer, KafkaClientFactory& factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      factory_(factory),
      encoder_(options_, std::move(serializer)) {}

KafkaSegmentWriter::~KafkaSegmentWriter() = default;

Status KafkaSegmentWriter::Open(operators::WriterContext& context) {
  uid_ = context.uid;
  stem_ = context.segment_stem;
  files_ = std::make_unique<BackgroundFiles>(
      std::make_unique<checkpoint::FolderSealer>(*context.file_system, context.output_folder), context,
      "segment-" + std::to_string(context.subtask));
  if (context.metrics != nullptr) files_->CountUnsealed(context.metrics->unsealed_bytes);
  encoder_.Open(context);
  topic_check_ = std::make_unique<TopicCheck>(options_, factory_, context);
  return {};
}

// That the cluster can't be reached is the committer's business: the job goes on until the bound for output is full.
Status KafkaSegmentWriter::FirstError() {
  files_->TakeResults();
  WEIR_RETURN_IF_ERROR(files_->failure());
  const std::optional<Status>& checked = topic_check_->Result();
  if (checked.has_value() && checked->code() != StatusCode::kUnavailable) return *checked;
  return {};
}

bool KafkaSegmentWriter::CanWrite() {
  // An error is the next Write's to report.
  return !FirstError().ok() || files_->waiting_bytes() < kWaitingBytesMax;
}

Status KafkaSegmentWriter::Write(operators::Batch batch) {
  WEIR_RETURN_IF_ERROR(FirstError());
  WEIR_ASSIGN_OR_RETURN(const std::span<const TopicRows> by_topic, encoder_.Encode(batch));
  topic_check_->Ask(by_topic);
  std::string& text = files_->text();
  for (const auto& [topic, rows] : by_topic) {
    if (segment_.empty()) segment_ = stem_ + std::to_string(sequence_++);
    if (std::exchange(segment_topic_, topic) != topic) AppendSegmentTopic(text, *topic);
    for (const ProduceRow& row : rows) {
      AppendSegmentRow(text, row);
      if (text.size() >= kTextBytes) files_->Submit(segment_);
    }
    segment_rows_ += rows.size();
  }
  return {};
}

Status KafkaSegmentWriter::Flush() {
  WEIR_RETURN_IF_ERROR(FirstError());
  if (files_->waiting_bytes() == 0) files_->Submit(segment_);
  return {};
}

Result<bool> KafkaSegmentWriter::ReadyForBarrier() {
  WEIR_RETURN_IF_ERROR(FirstError());
  // Rows for a topic that never was must not become durable: they would wait for it for good.
  if (!topic_check_->Result().has_value()) return false;
  if (!segment_.empty()) {
    AppendSegmentEnd(files_->text());
    files_->SubmitSeal(segment_, std::exchange(segment_rows_, 0));
    segment_.clear();
    segment_topic_ = nullptr;
  }
  // Rows of a topic that does not exist must not become part of a checkpoint.
  if (files_->sealing() || !topic_check_->Result().has_value()) return false;
  WEIR_RETURN_IF_ERROR(FirstError());
  return true;
}

Result<std::vector<checkpoint::Committable>> KafkaSegmentWriter::PrepareCommit(CheckpointId) {
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
