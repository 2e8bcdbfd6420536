// Where an operator puts its rows. Never blocks: what an edge doesn't accept is kept by the runtime, which then asks
// the operator for nothing until it is gone. The task's thread.
#pragma once

#include <string_view>

#include "base/status.h"
#include "operators/batch.h"

namespace weir::operators {

// Side output of every source and operator for records that the policy keeps aside.
// Schema: topic, partition, offset, key, value, error, uid (operators/dead_letter.h).
inline constexpr std::string_view kDeadLetterTag = "dead-letter";

class Output {
 public:
  virtual ~Output() = default;
  // Empty batches are dropped. An error is the next operator's and ends the task.
  virtual Status Emit(Batch batch) = 0;
  // To the inputs that name "<id>.<tag>" as theirs. A tag that nobody reads is dropped.
  virtual Status EmitSide(std::string_view tag, Batch batch) = 0;
  virtual bool HasSide(std::string_view tag) const = 0;
};

}  // namespace weir::operators
