// The `postgres` sink's writer for exactly-once delivery: rows go to an output segment, one a barrier, which the
// committer brings to the database when the checkpoint is durable. Runs on its task's thread; the file is written by a
// Worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connectors/postgres/options.h"
#include "connectors/postgres/row_frames.h"
#include "connectors/postgres/target_check.h"
#include "connectors/segment_output.h"
#include "operators/sink.h"

namespace weir::connectors {

class PostgresSegmentWriter final : public operators::SinkWriter {
 public:
  // `system`: the identity that the committables carry.
  PostgresSegmentWriter(PostgresSinkOptions options, std::string system, PostgresClientFactory& factory);
  ~PostgresSegmentWriter() override;

  Status Open(operators::WriterContext& context) override;
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Status ProcessWatermark(operators::Watermark watermark) override;
  Status Flush() override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint) override;

 private:
  Status FirstError();

  // Set once.
  const PostgresSinkOptions options_;
  const std::string system_;
  PostgresClientFactory& factory_;
  uint32_t subtask_ = 0;

  // The task's thread only.
  PostgresRowFrames frames_;
  operators::EventTime frontier_;  // the newest watermark but that of the input's end
  bool told_frontier_ = false;     // at this barrier
  operators::SchemaPtr checked_;   // the schema whose columns were looked up
  std::unique_ptr<SegmentOutput> output_;
  std::unique_ptr<PostgresTargetCheck> check_;
};

}  // namespace weir::connectors
