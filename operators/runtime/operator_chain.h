// The operators of one task, called in order: what one emits goes straight to the next; what the last emits goes to the
// sink's writer or to the outputs. The chain knows no channel and no barrier. The task's thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operators/operator.h"
#include "operators/paced_operator.h"
#include "operators/runtime/output_writer.h"
#include "operators/sink.h"

namespace weir::operators {

// Fires an operator's timers up to a watermark (state/timers.h is bound here by who builds the chain): calls `fire` for
// each that is due, in order of time.
using TimerService = std::function<Status(Watermark upto, const std::function<Status(const Timer&)>& fire)>;

struct ChainedOperator {
  std::string uid;
  std::unique_ptr<Operator> instance;
  TimerService timers = {};  // empty: it has none
};

struct ChainedSink {
  std::string uid;
  std::unique_ptr<SinkWriter> writer;
};

class OperatorChain {
 public:
  // Either `sink.writer` or `outputs` takes the main output; side outputs always go to `outputs`, which outlives the
  // chain.
  OperatorChain(std::vector<ChainedOperator> operators, ChainedSink sink, OutputWriter& outputs);
  ~OperatorChain();
  OperatorChain(const OperatorChain&) = delete;
  OperatorChain& operator=(const OperatorChain&) = delete;

  // `context` is copied for each operator with its uid.
  Status Open(const OperatorContext& context, WriterContext writer_context);
  Status ProcessBatch(int input, Batch batch);
  // Each operator's ProcessWatermark, then its timers; in the end to the outputs.
  Status ProcessWatermark(Watermark watermark);
  // A piece of what an operator emits by itself, the last one's first, so that what is on its way leaves before more
  // comes. True: there may be more.
  Result<bool> Continue();
  // When to call Continue at the latest.
  std::optional<MonotonicTime> NextDeadline() const;
  // Each operator's Finish in order, so that what one emits passes those behind it before they finish.
  Status Finish();

  Status SnapshotState(CheckpointId checkpoint);
  Status NotifyCheckpointApplied(CheckpointId checkpoint);

  // False while the sink's writer or an output can't take more; tries again what was kept.
  Result<bool> HasRoom();
  // Partial batches leave, the sink passes on what it holds back.
  Status Flush();
  // No sink: true.
  Result<bool> ReadyForBarrier();
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint);
  bool has_sink() const { return sink_.writer != nullptr; }

 private:
  class Link;  // the Output of one operator

  // To operators_[position], or behind the last.
  Status PassOn(size_t position, int input, Batch batch);
  Status WriteToSink(Batch batch);
  Status PassKeptWatermark();
  // Puts the operator's name in front of a failure, unless one behind it has put its own.
  Status Named(const std::string& uid, Status status);

  struct Paced {
    size_t position;  // in operators_
    PacedOperator* instance;
  };
  std::vector<ChainedOperator> operators_;
  std::vector<Paced> paced_;  // those that go on by themselves, the last first
  ChainedSink sink_;
  OutputWriter& outputs_;
  std::vector<std::unique_ptr<Link>> links_;  // links_[i] is the output of operators_[i]
  std::deque<Batch> kept_;                    // for the sink's writer, which could not take them
  std::optional<Watermark> kept_watermark_;   // the newest, for the sink's writer, behind what is kept
  bool failed_ = false;                       // a failure is on its way up and has its name
  bool unflushed_ = false;                    // the sink's writer has taken rows since its Flush
  SubtaskMetrics* metrics_ = nullptr;
};

}  // namespace weir::operators
