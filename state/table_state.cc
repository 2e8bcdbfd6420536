#include "state/table_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "state/entry_key.h"
#include "state/entry_table.h"
#include "state/registered_states.h"
#include "state/restore.h"
#include "state/snapshot_writer.h"

namespace weir::state {
namespace {

constexpr std::string_view kOperatorKind = "operator";
constexpr std::string_view kMapKind = "map";
constexpr uint64_t kStepsPerLoad = 64;       // of eviction: more than one entry in so many slots is clean
constexpr uint64_t kShareRefreshMask = 255;  // writes between two looks at the share of the budget

// Shared with a pending snapshot, so that a task may go while the worker writes.
struct Levels {
  EntryTable table;
  std::unique_ptr<SnapshotWriter> writer;
};

class TablePendingSnapshot final : public PendingSnapshot {
 public:
  TablePendingSnapshot(std::shared_ptr<Levels> levels, SnapshotWriter::Request request)
      : levels_(std::move(levels)), request_(std::move(request)) {}

  Result<SubtaskStateHandle> Write() override {
    WEIR_CHECK(!written_);
    written_ = true;
    return levels_->writer->Write(request_);
  }

 private:
  const std::shared_ptr<Levels> levels_;
  const SnapshotWriter::Request request_;
  bool written_ = false;
};

// Hands out entries in order of their keys; null behind the last.
using EntryStream = std::move_only_function<const Entry*()>;

// Entries of one state within [first, behind), from memory and store; memory, which is never older, wins. Nothing is
// looked at behind the entry at which the visitor stops.
class LevelMerge {
 public:
  LevelMerge(EntryStream memory, std::unique_ptr<StoreCursor> cursor, std::string behind, uint32_t state)
      : memory_(std::move(memory)), cursor_(std::move(cursor)), behind_(std::move(behind)), state_(state) {}

  Status Visit(SubtaskState::Visitor& visit) {
    SkipForeign();
    const Entry* entry = memory_();
    while (true) {
      const bool stored = cursor_ != nullptr && cursor_->valid() && cursor_->key() < behind_;
      if (!stored && entry == nullptr) break;
      const bool both = stored && entry != nullptr && entry->key() == cursor_->key();
      const bool from_memory = entry != nullptr && (!stored || both || entry->key() < cursor_->key());
      if (from_memory ? !entry->removed() : true) {
        const std::string_view bytes = from_memory ? entry->key() : cursor_->key();
        const std::optional<DecodedEntryKey> key = DecodeEntryKey(bytes);
        if (!key.has_value()) return Status::Corruption("an entry of the state has a key that can't be decoded");
        if (!visit(key->key.key, key->key.name_space, from_memory ? entry->value() : cursor_->value())) break;
      }
      if (from_memory) entry = memory_();
      if (!from_memory || both) {
        cursor_->Next();
        SkipForeign();
      }
    }
    return cursor_ != nullptr ? cursor_->status() : Status::Ok();
  }

 private:
  void SkipForeign() {
    if (cursor_ == nullptr) return;
    while (cursor_->valid() && cursor_->key() < behind_ && cursor_->key().size() >= 8 &&
           StateIdOf(cursor_->key()) != state_) {
      cursor_->Next();
    }
  }

  EntryStream memory_;
  const std::unique_ptr<StoreCursor> cursor_;
  const std::string behind_;
  const uint32_t state_;
};

class TableState final : public SubtaskState {
 public:
  TableState(const SubtaskStateOptions& options, RestoredStore restored, RegisteredStates states)
      : range_(options.range),
        budget_(*options.budget),
        levels_(std::make_shared<Levels>()),
        table_(levels_->table),
        store_empty_(restored.empty),
        states_(std::move(states)),
        handed_over_(std::move(restored.handed_over)),
        share_(budget_.TableShare()) {
    table_.KeepOrdered(kOperatorStateId);
    levels_->writer = std::make_unique<SnapshotWriter>(
        SnapshotTarget{.fs = options.fs, .job_dir = options.job_dir, .unique_prefix = options.unique_prefix}, range_,
        std::move(restored.store), std::move(restored.shared));
  }

  ~TableState() override {
    if (keyed_) budget_.RemoveSubtask();
  }

  Result<StateId> Register(const StateDescription& description) override {
    if (!keyed_ && description.kind != kOperatorKind) {
      keyed_ = true;
      budget_.AddSubtask();
      share_ = budget_.TableShare();
    }
    WEIR_ASSIGN_OR_RETURN(const StateDescription registered, states_.Register(description));
    const uint32_t id = registered.id;
    if (registered.kind == kMapKind && std::find(ordered_.begin(), ordered_.end(), id) == ordered_.end()) {
      ordered_.push_back(id);
      table_.KeepOrdered(id);
    }
    return StateId{id};
  }

  Status Prefetch(StateId state, std::span<const EntryKey> keys) override {
    hashes_.clear();
    for (const EntryKey& key : keys) {
      EncodeEntryKey(state, key, key_);
      hashes_.push_back(EntryTable::HashOf(key_));
      table_.TouchSlot(hashes_.back());
    }
    for (const uint64_t hash : hashes_) table_.TouchEntry(hash);
    if (Complete()) return Status::Ok();
    missing_.clear();
    for (const EntryKey& key : keys) {
      EncodeEntryKey(state, key, key_);
      if (table_.Find(key_) == nullptr) missing_.push_back(key_);
    }
    std::sort(missing_.begin(), missing_.end());
    missing_.erase(std::unique(missing_.begin(), missing_.end()), missing_.end());
    return Load();
  }

  Result<std::optional<std::string_view>> Get(StateId state, const EntryKey& key) override {
    CheckRange(key.hash);
    EncodeEntryKey(state, key, key_);
    const Entry* entry = table_.Find(key_);
    if (entry == nullptr) {
      if (Complete()) return std::nullopt;
      missing_.assign(1, key_);
      WEIR_RETURN_IF_ERROR(Load());
      entry = table_.Find(key_);
      WEIR_CHECK(entry != nullptr);
    }
    return entry->optional_value();
  }

  Status Put(StateId state, const EntryKey& key, std::string_view value) override {
    CheckRange(key.hash);
    Write(state, key, value);
    return Status::Ok();
  }

  Status Delete(StateId state, const EntryKey& key) override {
    CheckRange(key.hash);
    Write(state, key, std::nullopt);
    return Status::Ok();
  }

  Status ScanKey(StateId state, const EntryKey& key, Visitor visit) override {
    EncodeEntryKey(state, key, key_);
    const std::string first = key_;
    return ScanBetween(state, first, BehindPrefix(first).value_or(std::string(first.size() + 1, '\xff')), visit);
  }

  Status ScanKeyRange(StateId state, const EntryKey& key, std::string_view behind, Visitor visit) override {
    EncodeEntryKey(state, {key.hash, key.key, behind}, key_);
    const std::string behind_key = key_;
    EncodeEntryKey(state, key, key_);
    const std::string first = key_;
    return ScanBetween(state, first, behind_key, visit);
  }

  Status ScanAll(StateId state, Visitor visit) override {
    return Merge(StreamOf(table_.SortedEntriesOf(state.value)), FirstKeyOf(range_), BehindKeysOf(range_), state, visit);
  }

  Status PutOperatorEntry(std::string_view uid, std::string_view name, std::string_view value) override {
    DropHandedOver(uid, name);
    Write({kOperatorStateId}, OperatorEntryKey(uid, name), value);
    return Status::Ok();
  }

  Status DeleteOperatorEntry(std::string_view uid, std::string_view name) override {
    DropHandedOver(uid, name);
    Write({kOperatorStateId}, OperatorEntryKey(uid, name), std::nullopt);
    return Status::Ok();
  }

  Result<std::vector<OperatorEntry>> OperatorEntries(std::string_view uid) override {
    std::vector<OperatorEntry> entries;
    WEIR_RETURN_IF_ERROR(ScanKey({kOperatorStateId}, OperatorEntryKey(uid, {}),
                                 [&](std::string_view, std::string_view name, std::string_view value) {
                                   entries.push_back({.name = std::string(name), .value = std::string(value)});
                                   return true;
                                 }));
    for (const HandedOverEntry& entry : handed_over_) {
      if (entry.uid == uid) entries.push_back({.name = entry.name, .value = entry.value});
    }
    return entries;
  }

  bool blocked() const override { return table_.frozen_pending() && LiveIsFull(); }
  bool NeedsFlush() const override { return !table_.frozen_pending() && LiveIsFull(); }

  std::unique_ptr<PendingSnapshot> Freeze(std::optional<CheckpointId> checkpoint) override {
    table_.Freeze();
    return std::make_unique<TablePendingSnapshot>(levels_,
                                                  SnapshotWriter::Request{.checkpoint = checkpoint,
                                                                          .changed = &table_.FrozenEntries(),
                                                                          .states = states_.all(),
                                                                          .aborted = std::exchange(aborted_, {})});
  }

  void SnapshotWritten(const Status& outcome) override {
    if (!outcome.ok()) {
      table_.FrozenFailed();
      return;
    }
    table_.FrozenWritten();
    table_.EvictTo(share_);
  }

  bool snapshot_pending() const override { return table_.frozen_pending(); }

  void CheckpointAborted(CheckpointId checkpoint) override { aborted_.push_back(checkpoint.number); }

  Usage usage() const override {
    return {.live_bytes = table_.live_bytes(),
            .frozen_bytes = table_.frozen_bytes(),
            .clean_bytes = table_.clean_bytes(),
            .table_bytes = table_.bytes(),
            .live_entries = table_.live_entries(),
            .store_reads = store_reads_};
  }

 private:
  // The table knows every entry: what it does not have is nowhere.
  bool Complete() const { return store_empty_ && !table_.evicted(); }

  void CheckRange(uint32_t hash) const {
    WEIR_CHECK_GE(hash, range_.first);
    WEIR_CHECK_LE(hash, range_.last);
  }

  // Live and frozen entries get 3/8 each of what the slots leave.
  bool LiveIsFull() const {
    const uint64_t slots = std::min(table_.slot_bytes(), share_ / 4 * 3);
    return table_.live_bytes() >= (share_ - slots) / 8 * 3;
  }

  void Write(StateId state, const EntryKey& key, std::optional<std::string_view> value) {
    EncodeEntryKey(state, key, key_);
    table_.Write(key_, value);
    Evict();
  }

  void Evict() {
    if ((++writes_ & kShareRefreshMask) == 0) share_ = budget_.TableShare();
    if (table_.bytes() > share_) table_.EvictTo(share_);
  }

  // Brings `missing_`, sorted, from the store into the table.
  Status Load() {
    if (missing_.empty()) return Status::Ok();
    std::vector<std::string_view> keys(missing_.begin(), missing_.end());
    std::vector<std::optional<std::string>> values;
    ++store_reads_;
    WEIR_RETURN_IF_ERROR(levels_->writer->store().MultiGet(keys, values));
    WEIR_CHECK_EQ(values.size(), keys.size());
    // Room first: nothing that was just loaded may go again.
    if (table_.bytes() > share_) table_.EvictTo(share_, EntryTable::kEvictionSteps + keys.size() * kStepsPerLoad);
    for (size_t i = 0; i < keys.size(); ++i) {
      table_.LoadClean(keys[i], values[i].has_value() ? std::optional<std::string_view>(*values[i]) : std::nullopt);
    }
    return Status::Ok();
  }

  // Entries of one key whose stored keys are in [first, behind).
  Status ScanBetween(StateId state, const std::string& first, const std::string& behind, Visitor& visit) {
    if (state.value == kOperatorStateId || std::find(ordered_.begin(), ordered_.end(), state.value) != ordered_.end()) {
      const auto memory = [&behind, next = table_.OrderedFrom(first)]() mutable -> const Entry* {
        const Entry* entry = next();
        return entry != nullptr && entry->key() < behind ? entry : nullptr;
      };
      return Merge(memory, first, behind, state, visit);
    }
    std::vector<const Entry*> entries = table_.SortedEntriesOf(state.value);
    std::erase_if(entries, [&](const Entry* entry) { return entry->key() < first || entry->key() >= behind; });
    return Merge(StreamOf(std::move(entries)), first, behind, state, visit);
  }

  static EntryStream StreamOf(std::vector<const Entry*> entries) {
    return [entries = std::move(entries), next = size_t{0}]() mutable {
      return next < entries.size() ? entries[next++] : nullptr;
    };
  }

  Status Merge(EntryStream memory, std::string_view first, std::string behind, StateId state, Visitor& visit) {
    std::unique_ptr<StoreCursor> cursor;
    if (!Complete()) {
      WEIR_ASSIGN_OR_RETURN(cursor, levels_->writer->store().Scan(first));
    }
    return LevelMerge(std::move(memory), std::move(cursor), std::move(behind), state.value).Visit(visit);
  }

  void DropHandedOver(std::string_view uid, std::string_view name) {
    std::erase_if(handed_over_, [&](const HandedOverEntry& entry) { return entry.uid == uid && entry.name == name; });
  }

  // Set once.
  const HashRange range_;
  StateBudget& budget_;
  const std::shared_ptr<Levels> levels_;
  EntryTable& table_;
  // Task's thread.
  bool store_empty_;  // nothing was restored, and what was written since is in the table unless it was evicted
  bool keyed_ = false;
  RegisteredStates states_;
  std::vector<uint32_t> ordered_;
  std::vector<HandedOverEntry> handed_over_;
  std::vector<uint64_t> aborted_;
  uint64_t share_;
  uint64_t writes_ = 0;
  uint64_t store_reads_ = 0;
  std::string key_;
  std::vector<std::string> missing_;
  std::vector<uint64_t> hashes_;
};

}  // namespace

Result<std::unique_ptr<SubtaskState>> OpenSubtaskState(const SubtaskStateOptions& options,
                                                       std::span<const SubtaskStateHandle> restored) {
  const bool elsewhere = !options.restore_dir.empty() && options.restore_dir != options.job_dir;
  WEIR_CHECK(!elsewhere || !options.share_restored_files);
  WEIR_ASSIGN_OR_RETURN(RegisteredStates states, RegisteredStates::OfSnapshots(restored, options.owners));
  const RestoreOptions restore{.fs = options.fs,
                               .stores = options.stores,
                               .range = options.range,
                               .local_dir = options.local_dir,
                               .source_dir = elsewhere ? options.restore_dir : options.job_dir,
                               .files_verified = options.files_verified,
                               .share_restored_files = options.share_restored_files,
                               .owners = options.owners};
  WEIR_ASSIGN_OR_RETURN(RestoredStore store, RestoreStore(restore, restored));
  return std::make_unique<TableState>(options, std::move(store), std::move(states));
}

}  // namespace weir::state
