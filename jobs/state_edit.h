// A checkpoint or savepoint changed by hand, into a new savepoint: behind `weir state set-offset`, `drop-operator` and
// `rename-operator`. The input is never touched. The new savepoint has an id of its own, and its line names the input's
// (`restored_from`), so that a start knows where it comes from; what external systems hold is compared as for the
// input. Blocks; one thread.
//
// On an error the folder is as it was before. InvalidArgument: what was asked for is not in the input, or does not fit;
// kCorruption: the input is damaged; kAlreadyExists, kFailedPrecondition: the folder can't be used.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "jobs/offline_state.h"

namespace weir::jobs {

// InvalidArgument, listing those there are, if `metadata`, which messages call `name`, knows no operator `uid`.
Status CheckKnownOperator(const checkpoint::CheckpointMetadata& metadata, const std::string& name,
                          const std::string& uid);

// The same for the name of a state, of any operator. Splits and enumerators have such names by rule.
Status CheckKnownState(const checkpoint::CheckpointMetadata& metadata, const std::string& name,
                       const std::string& state);

class StateEdit {
 public:
  // `folder`, absolute: new or empty.
  StateEdit(OfflineState& input, const Clock& clock, std::string folder);

  struct Offset {
    std::string source;
    std::string split;
    std::string change;  // as ChangePosition takes it
  };
  Status SetOffset(const Offset& offset);
  Status DropOperator(const std::string& uid);
  Status RenameOperator(const std::string& from, const std::string& to);

  // What was written.
  const checkpoint::CheckpointMetadata& result() const { return result_; }

 private:
  Status CheckFolder() const;
  // Sets the split in `subtask` if it is there; adds the ids that are to `splits`.
  Result<bool> SetInReader(const Offset& offset, checkpoint::SubtaskMetadata& subtask, const state::StateOwners& owners,
                           std::set<std::string>& splits);
  // All that is of `uid` is of `now`, or nobody's, and the result is written.
  Status ChangeOwner(const std::string& uid, const std::optional<std::string>& now);
  Status ChangeOwnerIn(checkpoint::SubtaskMetadata& subtask, const state::StateOwners& owners);
  Status Write();

  OfflineState& input_;
  const Clock& clock_;
  const std::string folder_;
  checkpoint::CheckpointMetadata result_;
};

}  // namespace weir::jobs
