#include "connectors/kafka/topic_check.h"

namespace weir::connectors {

TopicCheck::TopicCheck(const KafkaSinkOptions& options, KafkaClientFactory& factory,
                       const operators::WriterContext& context)
    : options_(options),
      factory_(factory),
      answer_(*context.wakeup),
      worker_(context.workers->NewWorker("kafka-topic")) {
  if (options_.topic_column.empty()) Ask(options_.topic);
}

TopicCheck::~TopicCheck() = default;

void TopicCheck::Ask(const std::string& topic) {
  if (!asked_.insert(topic).second) return;
  result_.reset();
  worker_->Submit([this, topic] {
    const auto admin = factory_.NewAdmin(AdminConnection(options_.connection, factory_), options_.request_timeout);
    Status status;
    if (!admin.has_value()) {
      status = admin.error();
    } else if (const auto found = (*admin)->DescribeTopic(topic); !found.has_value()) {
      status = found.error();
    }
    answer_.Post(std::move(status));
  });
}

const std::optional<Status>& TopicCheck::Result() {
  if (result_.has_value()) return result_;
  while (std::optional<Status> answer = answer_.Take()) {
    ++answers_;
    const bool told = !error_.ok() && error_.code() != StatusCode::kUnavailable;
    if (!told && !answer->ok()) error_ = std::move(*answer);
  }
  if (answers_ == asked_.size()) result_ = error_;
  return result_;
}

KafkaConnection AdminConnection(const KafkaConnection& producer, KafkaClientFactory& factory) {
  KafkaConnection connection;
  connection.bootstrap_servers = producer.bootstrap_servers;
  for (const auto& [name, value] : producer.properties) {
    if (factory.CheckProperty(KafkaRole::kConsumer, name, value).ok() && name != "partitioner") {
      connection.properties.emplace_back(name, value);
    }
  }
  return connection;
}

}  // namespace weir::connectors
