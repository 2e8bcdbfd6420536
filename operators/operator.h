// The contract of an operator's author. He meets a batch, state and an output; never a barrier, channel, thread or
// lock. All calls come from the task's thread, in this order:
//
//   Open (state is restored)  { ProcessBatch | ProcessWatermark | OnTimer | SnapshotState | NotifyCheckpointApplied }*
//   Finish
//
// Keyed and operator state is saved by the task; SnapshotState is only for what lives elsewhere and must be put into
// state before the cut.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "operators/batch.h"
#include "operators/metrics.h"
#include "operators/output.h"
#include "state/subtask_state.h"

namespace weir::operators {

struct OperatorContext {
  std::string uid;
  uint32_t subtask = 0;
  uint32_t parallelism = 1;
  uint32_t key_groups = 128;
  state::SubtaskState* state = nullptr;  // the subtask's; null for a chain that declared none
  const Clock* clock = nullptr;
  SubtaskMetrics* metrics = nullptr;
};

// A timer that has come due (state/timers.h).
struct Timer {
  EventTime time;
  RowKey key;
  std::string_view name_space;
};

class Operator {
 public:
  virtual ~Operator() = default;
  // Registers its states and brings up what it needs of them; touches nothing outside. Before a start it is also called
  // on another instance whose state holds nothing but the types (state/state_probe.h): what can't be read is refused
  // then.
  virtual Status Open(OperatorContext& context) = 0;
  virtual Status ProcessBatch(int input, Batch batch, Output& output) = 0;
  // The runtime passes the watermark on after this returns.
  virtual Status ProcessWatermark(Watermark watermark, Output& output);
  virtual Status OnTimer(const Timer& timer, Output& output);
  // Before the cut: put into state what must survive. Default: nothing.
  virtual Status SnapshotState(CheckpointId checkpoint);
  virtual Status NotifyCheckpointApplied(CheckpointId checkpoint);
  // All inputs have ended: emit what was held back.
  virtual Status Finish(Output& output);
};

}  // namespace weir::operators
