// What travels through a channel: data or control, never mixed.
#pragma once

#include <variant>

#include "checkpoint/barrier.h"
#include "operators/batch.h"
#include "operators/event_time.h"

namespace weir::operators {

// The channel will carry nothing more but barriers of later checkpoints' bookkeeping: it counts as aligned from here
// on.
struct EndOfInput {};

using Element = std::variant<Batch, Watermark, checkpoint::CheckpointBarrier, EndOfInput>;

}  // namespace weir::operators
