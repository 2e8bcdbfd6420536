// All state of one subtask: keyed entries and operator state, one cut. Owned by the task, called on the task's thread
// only; what a PendingSnapshot does runs on the snapshot worker. Knows nothing of barriers or tasks.
//
// The shape is a memtable over a store (design, section 6): changed entries are *live*; Freeze makes them *frozen* in
// constant time; the snapshot worker writes the frozen entries once, sorted, and links the store's files; entries that
// were written stay as *clean* ones within the budget. A read finds the newest of them, or asks the store. Typed views
// (value, list, map, reducing, timers) are in state/keyed_state.h and state/timers.h; operators use those.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/snapshot.h"

namespace weir::state {

// Names a registered state; from Register.
struct StateId {
  uint32_t value = 0;
};

// Where an entry lives: the key with its hash (state/key_groups.h) and a namespace inside the key (a map's member, a
// timer's time; empty for a plain value).
struct EntryKey {
  uint32_t hash = 0;
  std::string_view key;
  std::string_view name_space;
};

// The asynchronous half of a snapshot.
class PendingSnapshot {
 public:
  virtual ~PendingSnapshot() = default;
  // Snapshot worker's thread; blocks. Once. On an error nothing of it counts as written.
  virtual Result<SubtaskStateHandle> Write() = 0;
};

class SubtaskState {
 public:
  virtual ~SubtaskState() = default;

  // Before the first access, at Open. FailedPrecondition if the restored snapshot holds this (uid, name) with another
  // kind or codec: the message names both.
  virtual Result<StateId> Register(const StateDescription& description) = 0;

  // Brings the entries of a batch's keys into memory with one read of the store; optional, for speed.
  virtual Status Prefetch(StateId state, std::span<const EntryKey> keys) = 0;
  // Nothing: no such entry. The view is valid until the next call.
  virtual Result<std::optional<std::string_view>> Get(StateId state, const EntryKey& key) = 0;
  // Right after a Get of the same key costs no second search. kUnavailable-free: a full budget makes `blocked()` true
  // but the entry is taken.
  virtual Status Put(StateId state, const EntryKey& key, std::string_view value) = 0;
  virtual Status Delete(StateId state, const EntryKey& key) = 0;

  // In order of namespace bytes, entries of one key whose namespace begins with `prefix`, levels merged. The visitor
  // returns false to stop. No Put or Delete inside.
  using Visitor =
      std::move_only_function<bool(std::string_view key, std::string_view name_space, std::string_view value)>;
  virtual Status ScanKey(StateId state, const EntryKey& key_and_prefix, Visitor visit) = 0;
  // The same for namespaces in [key_and_first.name_space, behind): what lies before is not looked at, so that a queue
  // costs nothing for what has left it.
  virtual Status ScanKeyRange(StateId state, const EntryKey& key_and_first, std::string_view behind, Visitor visit) = 0;
  // All entries of a state, in order of their stored keys: hash, length of the key, key, namespace.
  virtual Status ScanAll(StateId state, Visitor visit) = 0;

  // Operator state, not keyed: small, whole values. At the same parallelism an entry stays until it is deleted. After a
  // restore at another one the entries of all former subtasks are handed over to each: OperatorEntries returns them
  // (two may have one name), but the next snapshot holds only what was put again.
  virtual Status PutOperatorEntry(std::string_view uid, std::string_view name, std::string_view value) = 0;
  virtual Status DeleteOperatorEntry(std::string_view uid, std::string_view name) = 0;
  struct OperatorEntry {
    std::string name;
    std::string value;
  };
  virtual Result<std::vector<OperatorEntry>> OperatorEntries(std::string_view uid) = 0;

  // True while the live table has reached its share of the budget and a frozen one is still unwritten: the task must
  // not process more rows. NeedsFlush: the live table has reached its share and may be frozen in mid-interval.
  virtual bool blocked() const = 0;
  virtual bool NeedsFlush() const = 0;

  // Constant time. `checkpoint` empty: a mid-interval flush, written the same way but with no files linked. Only one
  // may be pending; checks.
  virtual std::unique_ptr<PendingSnapshot> Freeze(std::optional<CheckpointId> checkpoint) = 0;
  // Back on the task's thread with Write's outcome. ok: frozen entries become clean; error: they merge back, newer
  // wins.
  virtual void SnapshotWritten(const Status& outcome) = 0;
  virtual bool snapshot_pending() const = 0;
  // The files that this checkpoint was the first to name are gone or will be: later snapshots make them anew. Before
  // the Freeze of a later one.
  virtual void CheckpointAborted(CheckpointId checkpoint) = 0;

  struct Usage {
    uint64_t live_bytes = 0, frozen_bytes = 0, clean_bytes = 0;
    uint64_t table_bytes = 0;  // these and the slots: what counts against the budget
    uint64_t live_entries = 0, store_reads = 0;
  };
  virtual Usage usage() const = 0;
};

}  // namespace weir::state
