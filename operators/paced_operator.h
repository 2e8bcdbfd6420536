// An operator that does something though no row and no watermark comes: it goes by the clock, or has so much to emit
// that it does so in pieces. The chain finds out which of its operators are of this kind. The task's thread; never
// between the cut of a checkpoint and its barrier, nor while an output is full.
#pragma once

#include <optional>

#include "base/clock.h"
#include "operators/operator.h"

namespace weir::operators {

class PacedOperator : public Operator {
 public:
  // Each time before the task reads its input. Emits a piece at most; true: at once again, if the outputs have room.
  virtual Result<bool> Continue(Output& output) = 0;
  // When to be called at the latest, though nothing comes. Nothing: no need.
  virtual std::optional<MonotonicTime> NextDeadline() const = 0;
};

}  // namespace weir::operators
