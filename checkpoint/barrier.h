// The mark that cuts the stream: what came before it belongs to checkpoint `id`, what comes after to a later one. Made
// by the coordinator, injected by source tasks, held back and passed on by input gates and tasks. A plain value.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace weir::checkpoint {

enum class AfterBarrier : uint8_t {
  kGoOn,
  kStop,   // sources read nothing more; the job ends when this checkpoint is applied
  kDrain,  // as kStop, and sources emit the greatest watermark and the end of input first
};

struct CheckpointBarrier {
  CheckpointId id;
  AfterBarrier then = AfterBarrier::kGoOn;

  friend bool operator==(const CheckpointBarrier&, const CheckpointBarrier&) = default;
};

}  // namespace weir::checkpoint
