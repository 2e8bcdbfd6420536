#include "connectors/kafka/segment_writer.h"

#include <utility>

#include "connectors/kafka/segment.h"

namespace weir::connectors {

KafkaSegmentWriter::KafkaSegmentWriter(KafkaSinkOptions options, std::string system,
                                       std::unique_ptr<Serializer> serializer, KafkaClientFactory& factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      factory_(factory),
      encoder_(options_, std::move(serializer)) {}

KafkaSegmentWriter::~KafkaSegmentWriter() = default;

Status KafkaSegmentWriter::Open(operators::WriterContext& context) {
  output_ = std::make_unique<SegmentOutput>(system_, context);
  encoder_.Open(context);
  topic_check_ = std::make_unique<TopicCheck>(options_, factory_, context);
  return {};
}

// That the cluster can't be reached is the committer's business: the job goes on until the bound for output is full.
Status KafkaSegmentWriter::FirstError() {
  WEIR_RETURN_IF_ERROR(output_->TakeResults());
  const std::optional<Status>& checked = topic_check_->Result();
  if (checked.has_value() && checked->code() != StatusCode::kUnavailable) return *checked;
  return {};
}

bool KafkaSegmentWriter::CanWrite() {
  // An error is the next Write's to report.
  return !FirstError().ok() || output_->HasRoom();
}

Status KafkaSegmentWriter::Write(operators::Batch batch) {
  WEIR_RETURN_IF_ERROR(FirstError());
  WEIR_ASSIGN_OR_RETURN(const std::span<const TopicRows> by_topic, encoder_.Encode(batch));
  topic_check_->Ask(by_topic);
  std::string& text = output_->text();
  for (const auto& [topic, rows] : by_topic) {
    if (std::exchange(segment_topic_, topic) != topic) AppendSegmentTopic(text, *topic);
    for (const ProduceRow& row : rows) {
      AppendSegmentRow(text, row);
      output_->Added(1);
    }
  }
  return {};
}

Status KafkaSegmentWriter::Flush() {
  WEIR_RETURN_IF_ERROR(FirstError());
  output_->Flush();
  return {};
}

Result<bool> KafkaSegmentWriter::ReadyForBarrier() {
  // Rows for a topic that never was must not become durable: they would wait for it for good.
  const bool topics_known = topic_check_->Result().has_value();
  WEIR_RETURN_IF_ERROR(FirstError());
  if (!topics_known) return false;
  if (output_->begun()) {
    AppendSegmentEnd(output_->text());
    output_->Seal();
    segment_topic_ = nullptr;
  }
  return !output_->sealing();
}

Result<std::vector<checkpoint::Committable>> KafkaSegmentWriter::PrepareCommit(CheckpointId) {
  return output_->TakeCommittables();
}

}  // namespace weir::connectors
