// Whether a sink's topic exists, asked once behind a writer's back. A producer that asked for the topic itself could
// make it, with the broker's default number of partitions.
#pragma once

#include <memory>
#include <optional>

#include "base/mailbox.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "operators/sink.h"

namespace weir::connectors {

class TopicCheck {
 public:
  // Asks. `options`, `factory` and the context's ports outlive it.
  TopicCheck(const KafkaSinkOptions& options, KafkaClientFactory& factory, const operators::WriterContext& context);
  ~TopicCheck();

  // Nothing: no answer yet; the context's wakeup calls. The task's thread.
  const std::optional<Status>& Result();

 private:
  const KafkaSinkOptions& options_;
  KafkaClientFactory& factory_;
  std::optional<Status> result_;
  Mailbox<Status> answer_;          // synchronises itself
  std::unique_ptr<Worker> worker_;  // last: ends before what it uses
};

// The connection for questions to the cluster: what a producer's has beyond a consumer's is left out.
KafkaConnection AdminConnection(const KafkaConnection& producer, KafkaClientFactory& factory);

}  // namespace weir::connectors
