// The state of a checkpoint or savepoint, read and changed without a job that runs: behind `weir state`. What is read
// is what a start would restore, never the copies for people. Nothing is written but into a scratch folder, which goes
// with the object. One thread; blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/random.h"
#include "base/status.h"
#include "checkpoint/checkpoint_metadata.h"
#include "state/local_store.h"
#include "state/state_budget.h"
#include "state/subtask_state.h"

namespace weir::jobs {

struct OfflinePorts {
  FileSystem* fs = nullptr;
  state::LocalStoreFactory* stores = nullptr;
  state::StateBudget* budget = nullptr;
  Random* random = nullptr;
  std::string temporary_folder;  // absolute; the scratch folder is made in it
};

// An entry of keyed or operator state; views until the visitor returns.
struct StateEntry {
  const state::StateDescription* state = nullptr;  // of operator state: kind "operator", the entry's name
  std::string_view key;                            // empty for operator state
  std::string_view name_space;                     // empty for operator state
  std::string_view value;
};

class OfflineState {
 public:
  // `path` as FindCheckpointFolder takes it, absolute. NotFound, kCorruption: the message names the file.
  static Result<OfflineState> Open(const OfflinePorts& ports, const std::string& path);
  ~OfflineState();
  OfflineState(OfflineState&& other) noexcept;
  OfflineState& operator=(OfflineState&&) = delete;

  const std::string& folder() const { return folder_; }
  // Where the paths of state files start.
  const std::string& root() const { return root_; }
  const checkpoint::CheckpointMetadata& metadata() const { return metadata_; }
  const OfflinePorts& ports() const { return ports_; }
  const std::string& scratch() const { return scratch_; }

  // Every entry: vertex by vertex, subtask by subtask, in the order of the store. Each file is compared with its
  // checksum first. Ends at the visitor's first error.
  using Visitor = std::function<Status(const StateEntry& entry)>;
  Status VisitEntries(const Visitor& visit) const;
  // Those of one subtask.
  Status VisitEntries(const state::SubtaskStateHandle& handle, const Visitor& visit) const;

  // The same snapshot with what `change` does to it, owned as `owners` says. The handle's paths are absolute, in the
  // scratch folder.
  using Change = std::function<Status(state::SubtaskState& state)>;
  Result<state::SubtaskStateHandle> Rewrite(const state::SubtaskStateHandle& handle, const state::StateOwners& owners,
                                            const Change& change);

  // "savepoint <folder>" or "checkpoint <folder>", for messages.
  std::string Name() const;

 private:
  explicit OfflineState(const OfflinePorts& ports) : ports_(ports) {}

  OfflinePorts ports_;
  std::string folder_;
  std::string root_;
  checkpoint::CheckpointMetadata metadata_;
  std::string scratch_;
  uint64_t rewritten_ = 0;
};

}  // namespace weir::jobs
