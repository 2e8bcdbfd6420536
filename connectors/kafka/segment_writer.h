// The `kafka` sink's writer for exactly-once delivery: rows become records in an output segment, one a barrier, which
// the committer brings to the cluster when the checkpoint is durable. Runs on its task's thread; the file is written by
// a Worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connectors/kafka/options.h"
#include "connectors/kafka/row_encoder.h"
#include "connectors/kafka/topic_check.h"
#include "connectors/segment_output.h"
#include "operators/sink.h"

namespace weir::connectors {

class KafkaSegmentWriter final : public operators::SinkWriter {
 public:
  // `system`: the identity that the committables carry.
  KafkaSegmentWriter(KafkaSinkOptions options, std::string system, std::unique_ptr<Serializer> serializer,
                     KafkaClientFactory& factory);
  ~KafkaSegmentWriter() override;

  Status Open(operators::WriterContext& context) override;
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Status Flush() override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint) override;

 private:
  Status FirstError();

  // Set once.
  const KafkaSinkOptions options_;
  const std::string system_;
  KafkaClientFactory& factory_;

  // The task's thread only.
  KafkaRowEncoder encoder_;
  const std::string* segment_topic_ = nullptr;  // of the open segment's newest row; the encoder's
  std::unique_ptr<SegmentOutput> output_;
  std::unique_ptr<TopicCheck> topic_check_;
};

}  // namespace weir::connectors
