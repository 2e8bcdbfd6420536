#include "connectors/kafka/committer.h"

#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "connectors/kafka/segment.h"
#include "connectors/kafka/topic_check.h"
#include "connectors/marker_text.h"

namespace weir::connectors {

using checkpoint::Committable;
using checkpoint::Marker;

namespace {

const TopicPartition kMarkerPartition{kKafkaMarkerTopic, 0};

}  // namespace

KafkaCommitter::KafkaCommitter(const KafkaSinkOptions& options, KafkaClientFactory& factory,
                               const operators::CommitterContext& context)
    : options_(options),
      admin_connection_(AdminConnection(options.connection, factory)),
      factory_(factory),
      context_(context) {}

KafkaCommitter::~KafkaCommitter() = default;

// Must not wait for a transaction that a dead process has left open: only the fence ends it.
Result<std::optional<Marker>> KafkaCommitter::Peek() { return FindMarker(KafkaReadUpTo::kLastStable); }

Result<std::optional<Marker>> KafkaCommitter::ReadMarker() {
  WEIR_CHECK(producer_ != nullptr);
  return FindMarker(KafkaReadUpTo::kEnd);
}

Result<std::optional<Marker>> KafkaCommitter::FindMarker(KafkaReadUpTo up_to) {
  WEIR_ASSIGN_OR_RETURN(KafkaMarkerReader* const reader, Reader());
  if (cluster_id_.empty()) {
    WEIR_ASSIGN_OR_RETURN(cluster_id_, reader->ClusterId());
  }
  const Result<std::optional<std::string>> text = reader->NewestValue(kMarkerPartition, context_.job, up_to);
  if (!text.has_value()) {
    if (text.error().code() == StatusCode::kNotFound) return std::optional<Marker>();
    return Error(text.error());
  }
  if (!text->has_value()) return std::optional<Marker>();
  Result<Marker> marker = MarkerFromText(**text);
  if (!marker.has_value()) {
    return Error(marker.error().WithContext("the record under \"" + context_.job + "\" in topic " + kKafkaMarkerTopic));
  }
  return std::optional(std::move(*marker));
}

Result<KafkaMarkerReader*> KafkaCommitter::Reader() {
  if (reader_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(reader_,
                          factory_.NewMarkerReader(admin_connection_, options_.request_timeout, *context_.clock));
  }
  return reader_.get();
}

Status KafkaCommitter::EnsureMarkerTopic() {
  WEIR_ASSIGN_OR_RETURN(const auto admin, factory_.NewAdmin(admin_connection_, options_.request_timeout));
  Result<TopicMetadata> topic = admin->DescribeTopic(kKafkaMarkerTopic);
  if (!topic.has_value() && topic.error().code() == StatusCode::kNotFound) {
    const Status made = admin->CreateTopic(kKafkaMarkerTopic, 1, {{"cleanup.policy", "compact"}});
    if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return made;
    topic = admin->DescribeTopic(kKafkaMarkerTopic);
  }
  if (!topic.has_value()) return topic.error();
  if (topic->partitions != 1) {
    return Status::FailedPrecondition("topic " + std::string(kKafkaMarkerTopic) + " has " +
                                      std::to_string(topic->partitions) + " partitions, markers need one");
  }
  WEIR_ASSIGN_OR_RETURN(KafkaMarkerReader* const reader, Reader());
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string> policy,
                        reader->TopicConfig(kKafkaMarkerTopic, "cleanup.policy"));
  if (policy == "compact") return {};
  return Status::FailedPrecondition("topic " + std::string(kKafkaMarkerTopic) + " has cleanup.policy " +
                                    policy.value_or("unknown") +
                                    ", with which markers would expire; it must be compact");
}

Status KafkaCommitter::Fence() {
  producer_ = nullptr;
  WEIR_RETURN_IF_ERROR(EnsureMarkerTopic());
  KafkaTransactionOptions transaction;
  transaction.transactional_id = "weir-" + context_.job;
  transaction.transaction_timeout = options_.transaction_timeout;
  transaction.request_timeout = options_.request_timeout;
  WEIR_ASSIGN_OR_RETURN(auto producer,
                        factory_.NewTransactionalProducer(options_.connection, transaction, *context_.clock));
  WEIR_RETURN_IF_ERROR(producer->Init());
  producer_ = std::move(producer);
  return {};
}

Status KafkaCommitter::Sign(const Marker& marker, std::span<const Committable> /*listed*/) {
  return Transact(marker, {});
}

Status KafkaCommitter::Apply(const Marker& marker, std::span<const Committable> committables) {
  return Transact(marker, committables);
}

// Whatever fails, the producer is of no more use: the next fence makes a new one.
Status KafkaCommitter::Transact(const Marker& marker, std::span<const Committable> committables) {
  if (producer_ == nullptr) return Status::Unavailable("the transactional producer was lost");
  const auto all = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(producer_->Begin());
    for (const Committable& segment : committables) WEIR_RETURN_IF_ERROR(ProduceSegment(segment));
    const std::string text = MarkerToText(marker);
    const ProduceRow row{.key = context_.job, .value = text, .partition = kMarkerPartition.partition};
    WEIR_RETURN_IF_ERROR(producer_->Produce(kKafkaMarkerTopic, std::span(&row, 1)));
    FAULT_SITE("kafka.before-commit");
    WEIR_RETURN_IF_ERROR(producer_->Commit());
    FAULT_SITE("kafka.after-commit");
    return {};
  };
  Status status = all();
  if (!status.ok()) producer_ = nullptr;
  return status;
}

Status KafkaCommitter::ProduceSegment(const Committable& segment) {
  return ReadSegment(
      *context_.file_system, JoinPath(context_.output_folder, segment.segment),
      [this](const std::string& topic, std::span<const ProduceRow> rows) { return producer_->Produce(topic, rows); });
}

}  // namespace weir::connectors
