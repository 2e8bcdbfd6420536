#include "connectors/kafka/topic_check.h"

#include <utility>
#include <vector>

namespace weir::connectors {

TopicCheck::TopicCheck(const KafkaSinkOptions& options, KafkaClientFactory& factory,
                       const operators::WriterContext& context)
    : options_(options),
      factory_(factory),
      answer_(*context.wakeup),
      worker_(context.workers->NewWorker("kafka-topic")) {
  std::vector<TopicRows> known;
  for (const std::string* topic : {&options_.topic, &options_.dead_letter_topic}) {
    if (!topic->empty()) known.push_back({.topic = topic, .rows = {}});
  }
  Ask(known);
}

TopicCheck::~TopicCheck() = default;

void TopicCheck::Ask(std::span<const TopicRows> by_topic) {
  std::vector<std::string> fresh;
  for (const TopicRows& rows : by_topic) {
    if (asked_.insert(*rows.topic).second) fresh.push_back(*rows.topic);
  }
  if (fresh.empty()) return;
  result_.reset();
  ++open_;
  worker_->Submit([this, fresh = std::move(fresh)] {
    const auto admin = factory_.NewAdmin(AdminConnection(options_.connection, factory_), options_.request_timeout);
    Status status = admin.has_value() ? Status::Ok() : admin.error();
    for (size_t i = 0; i < fresh.size() && status.ok(); ++i) {
      if (const auto found = (*admin)->DescribeTopic(fresh[i]); !found.has_value()) status = found.error();
    }
    answer_.Post(std::move(status));
  });
}

const std::optional<Status>& TopicCheck::Result() {
  if (result_.has_value()) return result_;
  while (std::optional<Status> answer = answer_.Take()) {
    --open_;
    const bool told = !error_.ok() && error_.code() != StatusCode::kUnavailable;
    if (!told && !answer->ok()) error_ = std::move(*answer);
  }
  if (open_ == 0) result_ = error_;
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
