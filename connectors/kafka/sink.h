// The `kafka` sink, at least once: rows go to the topic as they come, and a barrier waits until all of them are
// acknowledged. The type is set up by the registry; a writer runs on its task's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
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
  // False until the topic is known to exist, while rows of the last batch wait, and while the client's queue is full.
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    return std::vector<checkpoint::Committable>();
  }

 private:
  // A row's place in text_; `none` for a null key or value.
  struct Extent {
    size_t begin = 0;
    size_t end = 0;
    bool none = true;
  };
  struct Pending {
    Extent key;
    Extent value;
    int64_t timestamp_ms = 0;
  };

  void CheckTopic();
  Status FindKeyColumns(const operators::Batch& batch);
  Status AppendRow(const operators::Batch& batch, size_t row);
  Status AppendKey(const operators::Value* row, Extent& extent);
  Status ProducePending();

  // Set once.
  const KafkaSinkOptions options_;
  const std::unique_ptr<Serializer> serializer_;
  KafkaClientFactory& factory_;
  std::unique_ptr<KafkaProducer> producer_;
  std::unique_ptr<Mailbox<Status>> checked_;

  // The task's thread only.
  bool topic_known_ = false;
  Status status_;  // the first error; the next call that can report it does
  operators::SchemaPtr schema_;
  std::vector<size_t> key_columns_;  // of schema_
  std::vector<Extent> extents_;
  std::string text_;              // keys and values of the newest batch
  std::vector<Pending> written_;  // its rows
  std::vector<ProduceRow> rows_;  // the same as the client takes them
  size_t produced_ = 0;           // of rows_

  std::unique_ptr<Worker> worker_;  // last: ends before what it uses
};

}  // namespace weir::connectors
