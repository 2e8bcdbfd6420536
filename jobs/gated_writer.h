// A sink's writer that takes no rows while the output that waits for its systems has reached its bound
// (checkpoint-protocol, S8). Barriers pass all the same. The task's thread; the flag is set by the control lane, which
// wakes the task when it changes.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "operators/sink.h"

namespace weir::jobs {

class GatedWriter final : public operators::SinkWriter {
 public:
  GatedWriter(std::unique_ptr<operators::SinkWriter> writer, std::shared_ptr<std::atomic<bool>> blocked)
      : writer_(std::move(writer)), blocked_(std::move(blocked)) {}

  Status Open(operators::WriterContext& context) override { return writer_->Open(context); }
  bool CanWrite() override { return !blocked_->load(std::memory_order_relaxed) && writer_->CanWrite(); }
  Status Write(operators::Batch batch) override { return writer_->Write(std::move(batch)); }
  Status Flush() override { return writer_->Flush(); }
  Result<bool> ReadyForBarrier() override { return writer_->ReadyForBarrier(); }
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint) override {
    return writer_->PrepareCommit(checkpoint);
  }

 private:
  std::unique_ptr<operators::SinkWriter> writer_;
  std::shared_ptr<std::atomic<bool>> blocked_;
};

}  // namespace weir::jobs
