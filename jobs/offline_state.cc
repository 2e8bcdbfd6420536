#include "jobs/offline_state.h"

#include <optional>
#include <utility>

#include "checkpoint/checkpoint_storage.h"
#include "state/entry_key.h"
#include "state/restore.h"
#include "state/table_state.h"

namespace weir::jobs {
namespace {

constexpr std::string_view kOperatorKind = "operator";

// What the keys of one snapshot mean.
class EntryNames {
 public:
  explicit EntryNames(const state::SubtaskStateHandle& handle) {
    for (const state::StateDescription& state : handle.states) by_id_.emplace(state.id, state);
  }

  Result<StateEntry> Entry(std::string_view key, std::string_view value) {
    const std::optional<state::DecodedEntryKey> decoded = state::DecodeEntryKey(key);
    if (!decoded.has_value()) return Error(Status::Corruption("an entry of the state has a key that can't be decoded"));
    if (decoded->state.value == state::kOperatorStateId) {
      operator_ = {.uid = std::string(decoded->key.key),
                   .name = std::string(decoded->key.name_space),
                   .kind = std::string(kOperatorKind),
                   .codec = {},
                   .id = state::kOperatorStateId};
      return StateEntry{.state = &operator_, .key = {}, .name_space = {}, .value = value};
    }
    const uint32_t id = decoded->state.value;
    auto found = by_id_.find(id);
    // Nothing describes it: no job would read it.
    if (found == by_id_.end()) {
      found =
          by_id_
              .emplace(
                  id, state::StateDescription{.uid = {}, .name = std::to_string(id), .kind = {}, .codec = {}, .id = id})
              .first;
    }
    return StateEntry{
        .state = &found->second, .key = decoded->key.key, .name_space = decoded->key.name_space, .value = value};
  }

 private:
  std::map<uint32_t, state::StateDescription> by_id_;
  state::StateDescription operator_;  // of the newest entry
};

}  // namespace

Result<OfflineState> OfflineState::Open(const OfflinePorts& ports, const std::string& path) {
  OfflineState opened(ports);
  WEIR_ASSIGN_OR_RETURN(opened.folder_, checkpoint::FindCheckpointFolder(*ports.fs, path));
  WEIR_ASSIGN_OR_RETURN(opened.metadata_, checkpoint::ReadCheckpointFolder(*ports.fs, opened.folder_));
  opened.root_ = checkpoint::StateRoot(opened.folder_, opened.metadata_);
  const std::string name = "weir-state-" + ports.random->NextId().ToString();
  opened.scratch_ = JoinPath(ports.temporary_folder, name);
  WEIR_RETURN_IF_ERROR(ports.fs->CreateDirectories(opened.scratch_));
  return opened;
}

OfflineState::OfflineState(OfflineState&& other) noexcept
    : ports_(std::move(other.ports_)),
      folder_(std::move(other.folder_)),
      root_(std::move(other.root_)),
      metadata_(std::move(other.metadata_)),
      scratch_(std::exchange(other.scratch_, {})),
      rewritten_(other.rewritten_) {}

OfflineState::~OfflineState() {
  if (!scratch_.empty()) (void)ports_.fs->RemoveTree(scratch_);
}

std::string OfflineState::Name() const { return (metadata_.savepoint ? "savepoint " : "checkpoint ") + folder_; }

Status OfflineState::VisitEntries(const Visitor& visit) const {
  for (const auto& vertex : metadata_.vertices) {
    for (const auto& subtask : vertex.subtasks) {
      WEIR_RETURN_IF_ERROR(VisitEntries(subtask.state, visit).WithContext(Name()));
    }
  }
  return Status::Ok();
}

Status OfflineState::VisitEntries(const state::SubtaskStateHandle& handle, const Visitor& visit) const {
  if (handle.files.empty()) return Status::Ok();
  const state::RestoreOptions restore{.fs = ports_.fs,
                                      .stores = ports_.stores,
                                      .range = handle.range,
                                      .local_dir = JoinPath(scratch_, "local"),
                                      .source_dir = root_};
  WEIR_ASSIGN_OR_RETURN(const state::RestoredStore restored, state::RestoreStore(restore, {&handle, 1}));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<state::StoreCursor> cursor, restored.store->Scan({}));
  EntryNames names(handle);
  for (; cursor->valid(); cursor->Next()) {
    WEIR_ASSIGN_OR_RETURN(const StateEntry entry, names.Entry(cursor->key(), cursor->value()));
    WEIR_RETURN_IF_ERROR(visit(entry));
  }
  return cursor->status();
}

Result<state::SubtaskStateHandle> OfflineState::Rewrite(const state::SubtaskStateHandle& handle,
                                                        const state::StateOwners& owners, const Change& change) {
  const std::string job = JoinPath(scratch_, "rewritten");
  state::SubtaskStateOptions open;
  open.fs = ports_.fs;
  open.stores = ports_.stores;
  open.budget = ports_.budget;
  open.range = handle.range;
  open.local_dir = JoinPath(scratch_, "local");
  open.job_dir = job;
  open.unique_prefix = std::to_string(rewritten_++) + "-";
  open.restore_dir = root_;
  open.share_restored_files = false;
  open.owners = owners;
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<state::SubtaskState> state, state::OpenSubtaskState(open, {&handle, 1}));
  WEIR_RETURN_IF_ERROR(change(*state));
  WEIR_ASSIGN_OR_RETURN(state::SubtaskStateHandle rewritten, state->Freeze(metadata_.id)->Write());
  state->SnapshotWritten(Status::Ok());
  for (state::StateFile& file : rewritten.files) file.path = JoinPath(job, file.path);
  return rewritten;
}

}  // namespace weir::jobs
