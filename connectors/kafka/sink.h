// The `kafka` sink, at least once: rows go to the topic as they come, and a barrier waits until all of them are
// acknowledged. The type is set up by the registry; a writer runs on its task's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/row_encoder.h"
#include "connectors/kafka/topic_check.h"
#include "operators/registry.h"
#include "operators/sink.h"

namespace weir::connectors {

// `factory` outlives the type and everything made by it.
operators::SinkType KafkaSinkType(KafkaClientFactory& factory);

class KafkaSinkWriter final : public operators::SinkWriter {
 public:
  KafkaSinkWriter(KafkaSinkOptions options, std::unique_ptr<Serializer> serializer, KafkaClientFactory& factory);
  ~KafkaSinkWriter() override;

  Status Open(operators::WriterContext& context) override;
  // False until the topics asked for are known to exist, while rows of the last batch wait, and while the client's
  // queue is full.
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    return std::vector<checkpoint::Committable>();
  }

 private:
  // Waits for nobody: what the client has no room for, or whose topic is not known yet, stays.
  Status ProducePending();

  // Set once.
  const KafkaSinkOptions options_;
  KafkaClientFactory& factory_;
  std::unique_ptr<KafkaProducer> producer_;

  // The task's thread only.
  Status status_;  // the first error; the next call that can report it does
  KafkaRowEncoder encoder_;
  std::span<const TopicRows> pending_;  // of the newest batch, in the encoder
  size_t produced_ = 0;                 // of pending_'s first
  std::unique_ptr<TopicCheck> topic_check_;
};

}  // namespace weir::connectors
