// Decides when an input gate may pass a barrier on: once, when every channel has delivered it or has ended. Pure state
// of one gate, called on its task's thread; it sees no channel and no row.
//
// Worked example, two channels: OnBarrier(0, b1) -> nothing, blocked(0); rows of channel 1 flow on; OnBarrier(1, b1) ->
// b1, and neither is blocked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/barrier.h"

namespace weir::checkpoint {

class BarrierAligner {
 public:
  explicit BarrierAligner(size_t channels);

  // Channel `channel`, which is not blocked, has delivered `barrier`. The barrier comes back when it is aligned: pass
  // it on now. A newer barrier than the one being aligned takes its place (that one was aborted) and frees the channels
  // that waited for it; one that is older, aligned or aborted already is dropped.
  std::optional<CheckpointBarrier> OnBarrier(size_t channel, const CheckpointBarrier& barrier);
  // The channel delivers no more rows; it counts as aligned from here on and is never blocked, but may still deliver
  // barriers, which begin an alignment. As OnBarrier, may complete the alignment.
  std::optional<CheckpointBarrier> OnEnd(size_t channel);
  // The coordinator gave checkpoint `id` up: nobody waits for it or an older one any longer, late barriers are dropped.
  void Abort(CheckpointId id);

  // True from the channel's barrier until the alignment is over: nothing may be taken from the channel.
  bool blocked(size_t channel) const;
  // The barrier being aligned.
  const std::optional<CheckpointBarrier>& current() const { return current_; }

 private:
  std::optional<CheckpointBarrier> TakeIfAligned();
  void Release();

  std::vector<bool> delivered_;  // of current_
  std::vector<bool> ended_;
  std::optional<CheckpointBarrier> current_;
  uint64_t settled_number_ = 0;  // barriers up to this one are aligned, superseded or aborted
};

}  // namespace weir::checkpoint
