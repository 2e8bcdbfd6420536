// The states of a subtask by (uid, name): those that its snapshots hold, and those that its operators ask for. What a
// state was stored as decides how it may be read. A plain value; one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/snapshot.h"

namespace weir::state {

class RegisteredStates {
 public:
  // The states of all handles, under the uids that own them now. FailedPrecondition if two handles describe a state
  // differently.
  static Result<RegisteredStates> OfSnapshots(std::span<const SubtaskStateHandle> handles,
                                              const std::optional<StateOwners>& owners);

  // `description`, with the id under which its keys lie. FailedPrecondition if the state was stored with another kind
  // or codec, or if another state has its id: the message names both.
  Result<StateDescription> Register(StateDescription description);

  const std::vector<StateDescription>& all() const { return states_; }

 private:
  std::vector<StateDescription> states_;
};

}  // namespace weir::state
