// A SubtaskState that holds nothing: an operator that is opened on it says which states it would use, and hears what a
// real one would say of those that a snapshot holds. Touches no disk. For checks before a start; one thread.
#pragma once

#include <memory>

#include "state/registered_states.h"
#include "state/subtask_state.h"

namespace weir::state {

// `states`: of the snapshot that the operators would be restored from.
std::unique_ptr<SubtaskState> NewStateProbe(RegisteredStates states);

}  // namespace weir::state
