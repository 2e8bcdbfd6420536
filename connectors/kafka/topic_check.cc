#include "connectors/kafka/topic_check.h"

namespace weir::connectors {

TopicCheck::TopicCheck(const KafkaSinkOptions& options, KafkaClientFactory& factory,
                       const operators::WriterContext& context)
    : options_(options),
      factory_(factory),
      answer_(*context.wakeup),
      worker_(context.workers->NewWorker("kafka-topic")) {
  worker_->Submit([this] {
    const auto admin = factory_.NewAdmin(AdminConnection(options_.connection, factory_), options_.request_timeout);
    Status status;
    if (!admin.has_value()) {
      status = admin.error();
    } else if (const auto topic = (*admin)->DescribeTopic(options_.topic); !topic.has_value()) {
      status = topic.error();
    }
    answer_.Post(std::move(status));
  });
}

TopicCheck::~TopicCheck() = default;

const std::optional<Status>& TopicCheck::Result() {
  if (std::optional<Status> answer = answer_.Take()) result_ = std::move(*answer);
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
