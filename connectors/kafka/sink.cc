#include "connectors/kafka/sink.h"

#include <utility>

#include "connectors/kafka/properties.h"

namespace weir::connectors {
namespace {

class KafkaSink final : public operators::Sink {
 public:
  KafkaSink(operators::Options raw, KafkaClientFactory& factory)
      : raw_(std::move(raw)), options_(ParseKafkaSinkOptions(raw_)), factory_(factory) {}

  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Serializer> serializer, NewSerializer(raw_));
    return std::make_unique<KafkaSinkWriter>(options_, std::move(serializer), factory_);
  }
  std::string system() const override { return {}; }
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext&) override {
    return Error(Status::FailedPrecondition("the kafka sink delivers at least once and has no committer"));
  }

 private:
  const operators::Options raw_;
  const KafkaSinkOptions options_;
  KafkaClientFactory& factory_;
};

}  // namespace

operators::SinkType KafkaSinkType(KafkaClientFactory& factory) {
  operators::SinkType type;
  type.name = "kafka";
  type.doc = "Writes rows to a topic of a Kafka cluster, at least once.";
  type.options = KafkaSinkOptionSpecs();
  type.check = [&factory](const operators::Options& options, operators::Problems& problems) {
    CheckKafkaSinkOptions(options, problems);
    CheckProperties(KafkaRole::kProducer, options, factory, problems);
  };
  type.create = [&factory](const operators::Options& options) -> Result<std::unique_ptr<operators::Sink>> {
    return std::make_unique<KafkaSink>(options, factory);
  };
  return type;
}

KafkaSinkWriter::KafkaSinkWriter(KafkaSinkOptions options, std::unique_ptr<Serializer> serializer,
                                 KafkaClientFactory& factory)
    : options_(std::move(options)), serializer_(std::move(serializer)), factory_(factory) {}

KafkaSinkWriter::~KafkaSinkWriter() { worker_.reset(); }

Status KafkaSinkWriter::Open(operators::WriterContext& context) {
  WEIR_ASSIGN_OR_RETURN(producer_,
                        factory_.NewProducer(options_.connection, {context.clock, context.workers, context.wakeup}));
  checked_ = std::make_unique<Mailbox<Status>>(*context.wakeup);
  worker_ = context.workers->NewWorker("kafka-topic");
  CheckTopic();
  return {};
}

// A producer that asked for the topic could make it, with the broker's default number of partitions.
void KafkaSinkWriter::CheckTopic() {
  worker_->Submit([this] {
    KafkaConnection connection;
    connection.bootstrap_servers = options_.connection.bootstrap_servers;
    for (const auto& [name, value] : options_.connection.properties) {
      if (factory_.CheckProperty(KafkaRole::kConsumer, name, value).ok() && name != "partitioner") {
        connection.properties.emplace_back(name, value);
      }
    }
    Result<std::unique_ptr<KafkaAdmin>> admin = factory_.NewAdmin(connection, options_.request_timeout);
    Status status;
    if (!admin.has_value()) {
      status = admin.error();
    } else if (const Result<TopicMetadata> topic = (*admin)->DescribeTopic(options_.topic); !topic.has_value()) {
      status = topic.error();
    }
    checked_->Post(std::move(status));
  });
}

bool KafkaSinkWriter::CanWrite() {
  if (const std::optional<Status> checked = checked_->Take()) {
    topic_known_ = true;
    if (!checked->ok()) status_ = *checked;
  }
  if (!topic_known_) return false;
  if (status_.ok()) status_ = ProducePending();
  // An error is the next Write's to report.
  if (!status_.ok()) return true;
  return produced_ == rows_.size() && producer_->HasRoom();
}

Status KafkaSinkWriter::FindKeyColumns(const operators::Batch& batch) {
  if (batch.schema() == schema_) return {};
  schema_ = batch.schema();
  key_columns_.clear();
  for (const std::string& name : options_.key) {
    const std::optional<size_t> column = schema_->Find(name);
    if (!column) {
      std::string columns;
      for (const std::string& one : schema_->columns()) columns += (columns.empty() ? "" : ", ") + one;
      return Status::InvalidArgument("the key's column \"" + name + "\" is not among the row's: " + columns);
    }
    key_columns_.push_back(*column);
  }
  return {};
}

Status KafkaSinkWriter::Write(operators::Batch batch) {
  if (!status_.ok()) return status_;
  WEIR_CHECK_EQ(produced_, rows_.size());
  WEIR_RETURN_IF_ERROR(FindKeyColumns(batch));
  text_.clear();
  written_.clear();
  for (size_t i = 0; i < batch.rows(); ++i) {
    if (!options_.row_kinds && batch.kind(i) == operators::RowKind::kUpdateBefore) continue;
    WEIR_RETURN_IF_ERROR(AppendRow(batch, i));
  }
  // The text is complete and moves no more.
  rows_.clear();
  produced_ = 0;
  const auto view = [this](const Extent& extent) {
    return extent.none ? std::string_view() : std::string_view(text_).substr(extent.begin, extent.end - extent.begin);
  };
  for (const Pending& row : written_) rows_.push_back({view(row.key), view(row.value), row.timestamp_ms, -1});
  return ProducePending();
}

Status KafkaSinkWriter::AppendRow(const operators::Batch& batch, size_t row) {
  constexpr int64_t kNsPerMs = 1'000'000;
  Pending pending;
  if (!key_columns_.empty()) WEIR_RETURN_IF_ERROR(AppendKey(batch.row(row), pending.key));
  if (!options_.upsert || batch.kind(row) != operators::RowKind::kDelete) {
    pending.value.begin = text_.size();
    WEIR_RETURN_IF_ERROR(serializer_->Append(batch, row, text_));
    pending.value.end = text_.size();
    pending.value.none = false;
  }
  const int64_t wall_ns = batch.time(row).wall_ns;
  if (options_.event_time && wall_ns > 0) pending.timestamp_ms = wall_ns / kNsPerMs;
  written_.push_back(pending);
  return {};
}

Status KafkaSinkWriter::AppendKey(const operators::Value* row, Extent& extent) {
  extent.begin = text_.size();
  extent.none = false;
  const bool object = options_.key_format == KafkaKeyFormat::kObject;
  if (options_.key_format == KafkaKeyFormat::kRaw) {
    const operators::Value& value = row[key_columns_.front()];
    if (value.missing()) {
      extent.none = true;
      if (!options_.upsert) return {};
      return Status::InvalidArgument("the key's column \"" + options_.key.front() + "\" is null");
    }
    if (value.has_text()) {
      text_ += value.text();
    } else {
      WEIR_RETURN_IF_ERROR(serializer_->AppendValue(value, text_));
    }
  } else {
    text_ += object ? '{' : '[';
    for (size_t i = 0; i < key_columns_.size(); ++i) {
      if (i > 0) text_ += ',';
      if (object) {
        WEIR_RETURN_IF_ERROR(
            serializer_->AppendValue(operators::Value::Text(operators::ValueType::kString, options_.key[i]), text_));
        text_ += ':';
      }
      const operators::Value& value = row[key_columns_[i]];
      WEIR_RETURN_IF_ERROR(serializer_->AppendValue(value.absent() ? operators::Value::Null() : value, text_));
    }
    text_ += object ? '}' : ']';
  }
  extent.end = text_.size();
  return {};
}

Status KafkaSinkWriter::ProducePending() {
  const ProduceProgress& progress = producer_->Progress();
  if (!progress.error.ok()) return progress.error;
  if (produced_ == rows_.size()) return {};
  Result<size_t> taken = producer_->Produce(options_.topic, std::span(rows_).subspan(produced_));
  if (!taken.has_value()) return taken.error();
  produced_ += *taken;
  return {};
}

Result<bool> KafkaSinkWriter::ReadyForBarrier() {
  const bool room = CanWrite();
  if (!status_.ok()) return Error(status_);
  if (!topic_known_) return false;
  if (!room && produced_ < rows_.size()) return false;
  const ProduceProgress& progress = producer_->Progress();
  if (!progress.error.ok()) return Error(progress.error);
  if (progress.acknowledged == progress.accepted) return true;
  producer_->Flush();
  return false;
}

}  // namespace weir::connectors
