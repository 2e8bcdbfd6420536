// Where a barrier waits. The gate of one task takes elements from its channels in turn and makes one stream of them:
// batches as they come, a watermark when the minimum over the channels rises, a barrier once, when it is aligned, and
// one EndOfInput when every channel has ended. A channel whose barrier has arrived is not read until the checkpoint is
// aligned, overtaken by a newer one, or aborted. A channel that has ended counts as aligned and as the greatest
// watermark; it may still carry barriers, which only say that a checkpoint has begun.
//
// Two channels, checkpoint 7:   a: r1 [7] r2        b: r3 r4 [7] r5
//   Poll gives r1, then only b's r3 r4, then the barrier 7, then r2 and r5.
//
// A watermark of the greatest time on a channel that has not ended means that its producer has no split now: nobody
// waits for it until it sends a smaller one. The gate passes such a mark on only if no channel has another.
// The task's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/status.h"
#include "checkpoint/barrier_aligner.h"
#include "operators/element.h"
#include "operators/runtime/channel.h"

namespace weir::operators {

struct GateChannel {
  Channel* channel = nullptr;  // outlives the gate
  int input = 0;               // which logical input of the task it belongs to, from 0
};

struct GateElement {
  int input = 0;  // of a batch
  Element element;
  // A watermark that only the next gates need: of the greatest time (nobody need wait for this task now), or, after
  // that, the one that was passed on last (wait again).
  bool gates_only = false;
};

class InputGate {
 public:
  // At least one channel.
  explicit InputGate(std::vector<GateChannel> channels);

  // Nothing: no channel that may be read has anything; a push wakes the task.
  std::optional<GateElement> Poll();
  // A barrier of this checkpoint or an older one is ignored from now on; channels that it holds back are free.
  void Abort(CheckpointId id);

  // All channels have ended, and Poll has given EndOfInput.
  bool ended() const { return ended_; }
  bool input_ended(int input) const;

 private:
  struct Inbound {
    Channel* channel;
    int input;
    EventTime watermark = EventTime::Min();  // the greatest that was not Max
    bool idle = false;
    bool ended = false;
  };
  std::optional<GateElement> Take(size_t index, Element element);
  std::optional<GateElement> OnBarrier(size_t index, const checkpoint::CheckpointBarrier& barrier);
  std::optional<GateElement> OnEnd(size_t index);
  GateElement TakeDue();
  // The watermark to emit, if the minimum has risen.
  std::optional<GateElement> RaiseWatermark();

  std::vector<Inbound> channels_;
  checkpoint::BarrierAligner aligner_;
  size_t next_ = 0;  // where the next Poll begins
  size_t ended_channels_ = 0;
  uint64_t settled_ = 0;  // number of the newest barrier that was passed on or aborted
  EventTime emitted_ = EventTime::Min();
  bool idle_emitted_ = false;
  bool ended_ = false;
  std::deque<GateElement> due_;  // what else the end of a channel has brought
};

}  // namespace weir::operators
