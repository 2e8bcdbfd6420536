// How far `sequence` has come, as operator state: up to which time the rows of which keys have left, and how many wait.
// One time for all keys of a subtask, but for the while after a rescale that joined subtasks of different progress:
// then each former range of hashes has its own, until a watermark has passed them all. Task's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/event_time.h"
#include "operators/operator.h"
#include "state/snapshot.h"

namespace weir::operators {

class SequenceProgress {
 public:
  // What the former subtasks have left about this one's range; nothing has left of the rest.
  Status Open(const OperatorContext& context);
  // To be called before each cut.
  Status Store(uint64_t waiting);

  struct Part {
    state::HashRange range;
    EventTime time;  // rows up to it have left
  };
  const std::vector<Part>& parts() const { return parts_; }
  EventTime TimeOf(uint32_t hash) const;
  void Raise(EventTime time);
  // Of Store; nothing if the rows of a former subtask are now in several.
  std::optional<uint64_t> waiting() const { return waiting_; }

 private:
  bool Read(std::string_view bytes);

  std::string uid_;
  state::SubtaskState* state_ = nullptr;
  state::HashRange range_;
  std::vector<Part> parts_;
  std::optional<uint64_t> waiting_ = 0;
};

}  // namespace weir::operators
