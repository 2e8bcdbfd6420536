#include "connectors/kafka/sink.h"

#include <map>
#include <set>
#include <utility>

#include "connectors/kafka/committer.h"
#include "connectors/kafka/properties.h"
#include "connectors/kafka/segment_writer.h"

namespace weir::connectors {
namespace {

// The same cluster however its brokers are listed.
std::string SortedServers(const KafkaConnection& connection) {
  std::set<std::string> servers;
  std::string one;
  for (const char c : connection.bootstrap_servers + ',') {
    if (c == ',') {
      if (!one.empty()) servers.insert(std::exchange(one, {}));
    } else if (c != ' ') {
      one += c;
    }
  }
  std::string text;
  for (const std::string& server : servers) text += (text.empty() ? "" : ",") + server;
  return text;
}

class KafkaSink final : public operators::Sink {
 public:
  KafkaSink(operators::Options raw, KafkaClientFactory& factory)
      : raw_(std::move(raw)), options_(ParseKafkaSinkOptions(raw_)), factory_(factory) {}

  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Serializer> serializer, NewSerializer(raw_));
    if (options_.exactly_once) {
      return std::make_unique<KafkaSegmentWriter>(options_, system(), std::move(serializer), factory_);
    }
    return std::make_unique<KafkaSinkWriter>(options_, std::move(serializer), factory_);
  }
  std::string system() const override {
    return options_.exactly_once ? "kafka:" + SortedServers(options_.connection) : std::string();
  }
  std::map<std::string, std::string> committer_settings() const override {
    std::map<std::string, std::string> settings = {
        {"transaction-timeout", std::to_string(options_.transaction_timeout.count())},
        {"request-timeout", std::to_string(options_.request_timeout.count())}};
    for (const auto& [name, value] : options_.connection.properties) {
      settings[name == "partitioner" ? name : "properties/" + name] = value;
    }
    return settings;
  }
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext& context) override {
    return std::make_unique<KafkaCommitter>(options_, factory_, context);
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
  type.doc = "Writes rows to a topic of a Kafka cluster, at least once or exactly once.";
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
    : options_(std::move(options)), factory_(factory), encoder_(options_, std::move(serializer)) {}

KafkaSinkWriter::~KafkaSinkWriter() = default;

Status KafkaSinkWriter::Open(operators::WriterContext& context) {
  WEIR_ASSIGN_OR_RETURN(producer_,
                        factory_.NewProducer(options_.connection, {context.clock, context.workers, context.wakeup}));
  encoder_.Open(context);
  topic_check_ = std::make_unique<TopicCheck>(options_, factory_, context);
  return {};
}

bool KafkaSinkWriter::CanWrite() {
  if (!topic_check_->Result().has_value()) return false;
  if (status_.ok()) status_ = ProducePending();
  // An error is the next Write's to report.
  if (!status_.ok()) return true;
  return pending_.empty() && producer_->HasRoom();
}

Status KafkaSinkWriter::Write(operators::Batch batch) {
  if (!status_.ok()) return status_;
  WEIR_CHECK(pending_.empty());
  WEIR_ASSIGN_OR_RETURN(pending_, encoder_.Encode(batch));
  topic_check_->Ask(pending_);
  return ProducePending();
}

Status KafkaSinkWriter::ProducePending() {
  const ProduceProgress& progress = producer_->Progress();
  if (!progress.error.ok()) return progress.error;
  const std::optional<Status>& checked = topic_check_->Result();
  if (!checked.has_value()) return {};
  WEIR_RETURN_IF_ERROR(*checked);
  while (!pending_.empty()) {
    const TopicRows& next = pending_.front();
    WEIR_ASSIGN_OR_RETURN(const size_t taken, producer_->Produce(*next.topic, next.rows.subspan(produced_)));
    produced_ += taken;
    if (produced_ < next.rows.size()) return {};
    produced_ = 0;
    pending_ = pending_.subspan(1);
  }
  return {};
}

Result<bool> KafkaSinkWriter::ReadyForBarrier() {
  CanWrite();
  if (!status_.ok()) return Error(status_);
  if (!topic_check_->Result().has_value() || !pending_.empty()) return false;
  const ProduceProgress& progress = producer_->Progress();
  if (!progress.error.ok()) return Error(progress.error);
  if (progress.acknowledged == progress.accepted) return true;
  producer_->Flush();
  return false;
}

}  // namespace weir::connectors
