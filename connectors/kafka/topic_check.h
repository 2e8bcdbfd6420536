// Whether a sink's topics exist, asked behind a writer's back, each topic once. A producer that asked for a topic
// itself could make it, with the broker's default number of partitions.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/mailbox.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/row_encoder.h"
#include "operators/sink.h"

namespace weir::connectors {

class TopicCheck {
 public:
  // Asks for the topics that the options name. `options`, `factory` and the context's ports outlive it.
  TopicCheck(const KafkaSinkOptions& options, KafkaClientFactory& factory, const operators::WriterContext& context);
  ~TopicCheck();

  // Asks for those that it has not asked for before, in one go.
  void Ask(std::span<const TopicRows> by_topic);
  // Of all topics asked: the first error, kUnavailable last. Nothing: an answer is missing; the context's wakeup calls.
  const std::optional<Status>& Result();

 private:
  const KafkaSinkOptions& options_;
  KafkaClientFactory& factory_;
  std::set<std::string> asked_;
  size_t open_ = 0;  // questions without an answer
  Status error_;
  std::optional<Status> result_;
  Mailbox<Status> answer_;          // synchronises itself
  std::unique_ptr<Worker> worker_;  // last: ends before what it uses
};

// The connection for questions to the cluster: what a producer's has beyond a consumer's is left out.
KafkaConnection AdminConnection(const KafkaConnection& producer, KafkaClientFactory& factory);

}  // namespace weir::connectors
