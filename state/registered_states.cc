#include "state/registered_states.h"

#include <algorithm>
#include <utility>

#include "state/entry_key.h"
#include "state/restore.h"

namespace weir::state {
namespace {

std::string Quoted(const StateDescription& state) {
  return "state \"" + state.name + "\" of operator \"" + state.uid + "\"";
}

bool SameIdentity(const StateDescription& a, const StateDescription& b) { return a.uid == b.uid && a.name == b.name; }

// Ok if both may stand side by side; names both otherwise.
Status CheckCompatible(const StateDescription& stored, const StateDescription& wanted) {
  if (!SameIdentity(stored, wanted)) {
    if (stored.id != wanted.id) return Status::Ok();
    return Status::FailedPrecondition(Quoted(stored) + " and " + Quoted(wanted) + " have the same id " +
                                      std::to_string(stored.id) + ": rename one of them");
  }
  if (stored.kind == wanted.kind && stored.codec == wanted.codec) return Status::Ok();
  return Status::FailedPrecondition(Quoted(wanted) + " was stored as " + stored.kind + " of " + stored.codec +
                                    " and can't be read as " + wanted.kind + " of " + wanted.codec);
}

}  // namespace

Result<RegisteredStates> RegisteredStates::OfSnapshots(std::span<const SubtaskStateHandle> handles,
                                                       const std::optional<StateOwners>& owners) {
  std::vector<StateDescription> stored;
  for (const SubtaskStateHandle& handle : handles) {
    for (const StateDescription& state : handle.states) {
      for (const StateDescription& other : stored) {
        WEIR_RETURN_IF_ERROR(CheckCompatible(other, state).WithContext("the restored snapshots contradict each other"));
      }
      if (std::find(stored.begin(), stored.end(), state) == stored.end()) stored.push_back(state);
    }
  }
  RegisteredStates states;
  for (StateDescription& state : stored) {
    std::optional<std::string> owner = OwnerOf(owners, state.uid);
    if (!owner.has_value()) continue;
    state.uid = std::move(*owner);
    states.states_.push_back(std::move(state));
  }
  return states;
}

Result<StateDescription> RegisteredStates::Register(StateDescription description) {
  description.id = ComputeStateId(description.uid, description.name);
  const auto same = std::find_if(states_.begin(), states_.end(),
                                 [&](const StateDescription& known) { return SameIdentity(known, description); });
  if (same != states_.end()) description.id = same->id;
  for (const StateDescription& known : states_) WEIR_RETURN_IF_ERROR(CheckCompatible(known, description));
  if (same == states_.end()) states_.push_back(description);
  return description;
}

}  // namespace weir::state
