#include "state/state_probe.h"

#include <utility>

#include "base/check.h"

namespace weir::state {
namespace {

class StateProbe final : public SubtaskState {
 public:
  explicit StateProbe(RegisteredStates states) : states_(std::move(states)) {}

  Result<StateId> Register(const StateDescription& description) override {
    WEIR_ASSIGN_OR_RETURN(const StateDescription registered, states_.Register(description));
    return StateId{registered.id};
  }
  Status Prefetch(StateId, std::span<const EntryKey>) override { return Status::Ok(); }
  Result<std::optional<std::string_view>> Get(StateId, const EntryKey&) override { return std::nullopt; }
  Status Put(StateId, const EntryKey&, std::string_view) override { return Status::Ok(); }
  Status Delete(StateId, const EntryKey&) override { return Status::Ok(); }
  Status ScanKey(StateId, const EntryKey&, Visitor) override { return Status::Ok(); }
  Status ScanKeyRange(StateId, const EntryKey&, std::string_view, Visitor) override { return Status::Ok(); }
  Status ScanAll(StateId, Visitor) override { return Status::Ok(); }
  Status PutOperatorEntry(std::string_view, std::string_view, std::string_view) override { return Status::Ok(); }
  Status DeleteOperatorEntry(std::string_view, std::string_view) override { return Status::Ok(); }
  Result<std::vector<OperatorEntry>> OperatorEntries(std::string_view) override { return std::vector<OperatorEntry>(); }

  bool blocked() const override { return false; }
  bool NeedsFlush() const override { return false; }
  bool snapshot_pending() const override { return false; }
  void SnapshotWritten(const Status&) override {}
  void CheckpointAborted(CheckpointId) override {}
  Usage usage() const override { return {}; }
  std::unique_ptr<PendingSnapshot> Freeze(std::optional<CheckpointId>) override {
    WEIR_CHECK(false);  // it has nothing to write
    return nullptr;
  }

 private:
  RegisteredStates states_;
};

}  // namespace

std::unique_ptr<SubtaskState> NewStateProbe(RegisteredStates states) {
  return std::make_unique<StateProbe>(std::move(states));
}

}  // namespace weir::state
