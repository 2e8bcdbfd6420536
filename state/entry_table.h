// The entries of one subtask that are in memory, each found with one probe. Task's thread, except that the snapshot
// worker reads the frozen entries (FrozenEntries) between Freeze and FrozenWritten or FrozenFailed; those do not change
// meanwhile. Knows nothing of stores.
//
// The levels of the design are states of an entry, not tables of their own:
//
//   live     changed since the last Freeze                              Write makes it
//   frozen   changed before it, its write not reported yet              Freeze: live -> frozen, constant time
//   clean    the store holds the same, or lacks it too (a removal)      FrozenWritten: frozen -> clean, constant time
//
// An entry says in which epoch it was changed, Freeze begins a new one. Write to a frozen entry leaves that one to the
// worker and puts a new one in its place; every other entry is overwritten where it lies if its size allows. So a read
// costs one probe however many levels there are, and nothing moves when a level becomes another.
//
// Slots are an open-addressing array (16 bytes: hash and pointer) probed linearly; an entry is one block with key and
// value in it. Eviction is CLOCK over the slots and takes clean entries only; its hand jumps from line to line. A hand
// that went from slot to neighbour would leave the slots behind it thin and those before it more than full, and probes
// would become as long as that stretch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::state {

// Followed by `key_size` bytes of key and `value_capacity` of value.
struct Entry {
  static constexpr uint32_t kRemoved = UINT32_MAX;
  uint32_t key_size;
  uint32_t value_size;  // kRemoved: known to be absent
  uint32_t value_capacity;
  uint32_t epoch;  // this one and the next: task's thread only
  uint32_t place;  // of a live entry in the list of them

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
  bool removed() const { return value_size == kRemoved; }
  std::string_view value() const { return {reinterpret_cast<const char*>(this + 1) + key_size, value_size}; }
  std::optional<std::string_view> optional_value() const {
    return removed() ? std::nullopt : std::optional<std::string_view>(value());
  }
};

class EntryTable {
 private:
  struct ByKey {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return a->key() < b->key(); }
    bool operator()(const Entry* a, std::string_view b) const { return a->key() < b; }
    bool operator()(std::string_view a, const Entry* b) const { return a < b->key(); }
  };

 public:
  EntryTable();
  ~EntryTable();
  EntryTable(const EntryTable&) = delete;
  EntryTable& operator=(const EntryTable&) = delete;

  // Entries of this state are also kept in order of their keys, for OrderedFrom. Before its first entry.
  void KeepOrdered(uint32_t state_id);

  // For a batch of keys: TouchSlot for each, then TouchEntry for each, brings what Find will look at into the
  // processor's cache; the waits for memory overlap.
  static uint64_t HashOf(std::string_view key);
  void TouchSlot(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
  void TouchEntry(uint64_t hash) const;

  // Null: the table does not know. Valid until the next call that changes the table.
  const Entry* Find(std::string_view key);
  // A changed entry; nothing for the value: removed. Right after a Find of the same key there is no second probe.
  void Write(std::string_view key, std::optional<std::string_view> value);
  // What the store answered for a key that Find did not know.
  void LoadClean(std::string_view key, std::optional<std::string_view> value);

  // Walks through the entries of the ordered states from `first` on.
  class OrderedWalk {
   public:
    // The next one, or null. No change of the table before the last call.
    const Entry* operator()() { return at_ == end_ ? nullptr : *at_++; }

   private:
    friend EntryTable;
    std::set<Entry*, ByKey>::const_iterator at_, end_;
  };
  OrderedWalk OrderedFrom(std::string_view first) const;
  // All entries of a state, in order of their keys. Costs a pass over the table and a sort.
  std::vector<const Entry*> SortedEntriesOf(uint32_t state_id) const;

  // Live entries become frozen; none may be frozen.
  void Freeze();
  // Some may be superseded by a newer one: they are written all the same.
  const std::vector<Entry*>& FrozenEntries() const { return frozen_; }
  void FrozenWritten();
  // Frozen entries become live again, except where a newer one is there.
  void FrozenFailed();
  bool frozen_pending() const { return frozen_pending_; }

  // Gives up clean entries until the table has at most `bytes`, or after `steps` slots: bounds what a call can cost.
  static constexpr uint64_t kEvictionSteps = 512;
  void EvictTo(uint64_t bytes, uint64_t steps = kEvictionSteps);
  // True once a clean entry with a value was given up: from then on a key that is not here may be in the store.
  bool evicted() const { return evicted_; }

  uint64_t bytes() const { return live_bytes_ + frozen_bytes_ + clean_bytes_ + slot_bytes(); }
  uint64_t slot_bytes() const { return slots_.size() * sizeof(Slot); }
  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t frozen_bytes() const { return frozen_bytes_; }
  uint64_t clean_bytes() const { return clean_bytes_; }
  uint64_t live_entries() const { return live_.size(); }
  size_t entries() const { return used_; }
  // The greatest distance of an entry from where its hash sends it. Costs a pass; for tests.
  size_t LongestProbe() const;

 private:
  struct Slot {
    uint64_t hash = 0;
    uintptr_t entry = 0;  // 0: free; bit 0: used since the clock's hand came by
  };
  enum class Level : uint8_t { kLive, kFrozen, kClean };
  static constexpr size_t kHandLineSlots = 4;  // of a processor's cache line

  static Entry* EntryOf(const Slot& slot) { return reinterpret_cast<Entry*>(slot.entry & ~uintptr_t{1}); }
  Entry* NewEntry(std::string_view key, std::optional<std::string_view> value);
  void FreeEntry(Entry* entry);
  uint64_t BytesOf(const Entry& entry) const;
  Level LevelOf(const Entry& entry) const;
  uint64_t& BytesAt(Level level);
  bool Ordered(std::string_view key) const;
  // Where the clock's hand is at a position of its way.
  size_t HandSlot(size_t position) const;
  // The slot of `key`, or the free one where it belongs.
  size_t Probe(std::string_view key, uint64_t hash) const;
  // The same; remembers the slot.
  size_t Locate(std::string_view key);
  void AddLive(Entry* entry);
  void Place(size_t slot, uint64_t hash, Entry* entry);
  void Replace(size_t slot, Entry* former, Entry* entry);
  void Erase(size_t slot);
  void Grow();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  size_t hand_ = 0;
  uint32_t epoch_ = 1;  // of live entries; frozen ones have epoch_ - 1 while frozen_pending_
  bool frozen_pending_ = false;
  bool evicted_ = false;
  std::vector<Entry*> live_;
  std::vector<Entry*> frozen_;
  std::vector<Entry*> superseded_;  // frozen ones that no slot points to any more
  uint64_t live_bytes_ = 0;
  uint64_t frozen_bytes_ = 0;
  uint64_t clean_bytes_ = 0;
  // What the last Find or Write looked at.
  uint64_t last_hash_ = 0;
  size_t last_slot_ = 0;
  bool last_valid_ = false;
  std::string last_missing_;  // the key, where the slot is free: hashes may be alike
  std::vector<uint32_t> ordered_states_;
  std::set<Entry*, ByKey> ordered_;
};

}  // namespace weir::state
