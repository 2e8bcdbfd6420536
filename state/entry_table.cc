#include "state/entry_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/check.h"
#include "state/entry_key.h"

namespace weir::state {
namespace {

constexpr size_t kSlotsMin = 64;
constexpr uint32_t kSupersededEpoch = UINT32_MAX;
// A changed entry's place in the list of changed ones, and its place in the worker's order of them.
constexpr uint64_t kChangedOverheadBytes = 8 + 16;
// A node of the ordered index with the allocator's share.
constexpr uint64_t kOrderedOverheadBytes = 48;

// What an allocator takes for `size` bytes, rounded up as jemalloc rounds, so that the budget counts what is really
// taken and the rest of a block is room for a value to grow into. The same everywhere: the simulator depends on it.
size_t SizeClass(size_t size) {
  if (size <= 128) return (size + 15) & ~size_t{15};
  const size_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}

char* ValueOf(Entry* entry) { return reinterpret_cast<char*>(entry + 1) + entry->key_size; }

void SetValue(Entry* entry, std::optional<std::string_view> value) {
  if (!value.has_value()) {
    entry->value_size = Entry::kRemoved;
    return;
  }
  entry->value_size = static_cast<uint32_t>(value->size());
  // May be a part of the value that is there: memmove, not memcpy.
  if (!value->empty()) std::memmove(ValueOf(entry), value->data(), value->size());
}

}  // namespace

EntryTable::EntryTable() : slots_(kSlotsMin) {}

EntryTable::~EntryTable() {
  for (const Slot& slot : slots_) {
    if (slot.entry != 0) FreeEntry(EntryOf(slot));
  }
  for (Entry* entry : superseded_) FreeEntry(entry);
}

void EntryTable::KeepOrdered(uint32_t state_id) { ordered_states_.push_back(state_id); }

Entry* EntryTable::NewEntry(std::string_view key, std::optional<std::string_view> value) {
  WEIR_CHECK_LT(key.size(), size_t{UINT32_MAX} / 4);
  const size_t value_size = value.has_value() ? value->size() : 0;
  WEIR_CHECK_LT(value_size, size_t{UINT32_MAX} / 4);
  const size_t size = SizeClass(sizeof(Entry) + key.size() + value_size);
  auto* entry = new (::operator new(size)) Entry;
  entry->key_size = static_cast<uint32_t>(key.size());
  entry->value_capacity = static_cast<uint32_t>(size - sizeof(Entry) - key.size());
  entry->epoch = 0;
  entry->place = 0;
  std::memcpy(reinterpret_cast<char*>(entry + 1), key.data(), key.size());
  SetValue(entry, value);
  return entry;
}

void EntryTable::FreeEntry(Entry* entry) { ::operator delete(entry); }

uint64_t EntryTable::BytesOf(const Entry& entry) const {
  return sizeof(Entry) + entry.key_size + entry.value_capacity + (Ordered(entry.key()) ? kOrderedOverheadBytes : 0);
}

EntryTable::Level EntryTable::LevelOf(const Entry& entry) const {
  if (entry.epoch == epoch_) return Level::kLive;
  if (frozen_pending_ && entry.epoch == epoch_ - 1) return Level::kFrozen;
  return Level::kClean;
}

uint64_t& EntryTable::BytesAt(Level level) {
  switch (level) {
    case Level::kLive: return live_bytes_;
    case Level::kFrozen: return frozen_bytes_;
    case Level::kClean: break;
  }
  return clean_bytes_;
}

bool EntryTable::Ordered(std::string_view key) const {
  if (ordered_states_.empty()) return false;
  return std::find(ordered_states_.begin(), ordered_states_.end(), StateIdOf(key)) != ordered_states_.end();
}

size_t EntryTable::Probe(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].entry != 0) {
    if (slots_[slot].hash == hash && EntryOf(slots_[slot])->key() == key) return slot;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint64_t EntryTable::HashOf(std::string_view key) { return Hash64(key); }

void EntryTable::TouchEntry(uint64_t hash) const {
  const Slot& slot = slots_[hash & (slots_.size() - 1)];
  if (slot.hash != hash || slot.entry == 0) return;
  constexpr size_t kLine = 64;
  const auto* entry = reinterpret_cast<const char*>(EntryOf(slot));
  __builtin_prefetch(entry);
  __builtin_prefetch(entry + kLine);
  __builtin_prefetch(entry + 2 * kLine);
}

size_t EntryTable::Locate(std::string_view key) {
  // A write after a read of the same key.
  if (last_valid_) {
    const Slot& slot = slots_[last_slot_];
    if (slot.entry == 0 ? last_missing_ == key : EntryOf(slot)->key() == key) return last_slot_;
  }
  const uint64_t hash = HashOf(key);
  last_hash_ = hash;
  last_slot_ = Probe(key, hash);
  last_valid_ = true;
  if (slots_[last_slot_].entry == 0) last_missing_.assign(key);
  return last_slot_;
}

const Entry* EntryTable::Find(std::string_view key) {
  Slot& slot = slots_[Locate(key)];
  if (slot.entry == 0) return nullptr;
  if ((slot.entry & 1) == 0) slot.entry |= 1;
  return EntryOf(slot);
}

void EntryTable::Place(size_t slot, uint64_t hash, Entry* entry) {
  slots_[slot] = {.hash = hash, .entry = reinterpret_cast<uintptr_t>(entry) | 1};
  ++used_;
  if (Ordered(entry->key())) ordered_.insert(entry);
  if (used_ * 4 > slots_.size() * 3) Grow();
}

// `former` keeps its memory: the caller decides about it.
void EntryTable::Replace(size_t slot, Entry* former, Entry* entry) {
  if (Ordered(entry->key())) {
    ordered_.erase(former);
    ordered_.insert(entry);
  }
  slots_[slot].entry = reinterpret_cast<uintptr_t>(entry) | 1;
}

void EntryTable::AddLive(Entry* entry) {
  entry->epoch = epoch_;
  entry->place = static_cast<uint32_t>(live_.size());
  live_.push_back(entry);
  live_bytes_ += BytesOf(*entry) + kChangedOverheadBytes;
}

void EntryTable::Write(std::string_view key, std::optional<std::string_view> value) {
  const size_t slot = Locate(key);
  if (slots_[slot].entry == 0) {
    Entry* entry = NewEntry(key, value);
    AddLive(entry);
    Place(slot, last_hash_, entry);
    return;
  }
  Entry* entry = EntryOf(slots_[slot]);
  const Level level = LevelOf(*entry);
  const bool fits = !value.has_value() || value->size() <= entry->value_capacity;
  if (level != Level::kFrozen && fits) {
    SetValue(entry, value);
    if (level == Level::kClean) {
      clean_bytes_ -= BytesOf(*entry);
      AddLive(entry);
    }
    return;
  }
  Entry* next = NewEntry(key, value);
  Replace(slot, entry, next);
  switch (level) {
    case Level::kLive:  // outgrown: takes over the place
      next->epoch = epoch_;
      next->place = entry->place;
      live_[next->place] = next;
      live_bytes_ += BytesOf(*next) - BytesOf(*entry);
      FreeEntry(entry);
      break;
    case Level::kFrozen:
      AddLive(next);
      entry->epoch = kSupersededEpoch;
      superseded_.push_back(entry);
      break;
    case Level::kClean:
      AddLive(next);
      clean_bytes_ -= BytesOf(*entry);
      FreeEntry(entry);
      break;
  }
}

void EntryTable::LoadClean(std::string_view key, std::optional<std::string_view> value) {
  const size_t slot = Locate(key);
  WEIR_CHECK(slots_[slot].entry == 0);
  Entry* entry = NewEntry(key, value);
  clean_bytes_ += BytesOf(*entry);
  Place(slot, last_hash_, entry);
}

void EntryTable::Freeze() {
  WEIR_CHECK(!frozen_pending_);
  WEIR_CHECK(frozen_.empty());
  frozen_.swap(live_);
  frozen_bytes_ = live_bytes_;
  live_bytes_ = 0;
  ++epoch_;
  frozen_pending_ = true;
}

void EntryTable::FrozenWritten() {
  WEIR_CHECK(frozen_pending_);
  frozen_bytes_ -= frozen_.size() * kChangedOverheadBytes;
  for (Entry* entry : superseded_) {
    frozen_bytes_ -= BytesOf(*entry);
    FreeEntry(entry);
  }
  superseded_.clear();
  clean_bytes_ += frozen_bytes_;
  frozen_bytes_ = 0;
  // Its capacity is given back: the list is as long as an interval's changes.
  frozen_ = {};
  frozen_pending_ = false;
}

void EntryTable::FrozenFailed() {
  WEIR_CHECK(frozen_pending_);
  frozen_pending_ = false;
  frozen_bytes_ = 0;
  for (Entry* entry : frozen_) {
    if (entry->epoch == kSupersededEpoch) {
      FreeEntry(entry);
    } else {
      AddLive(entry);
    }
  }
  superseded_.clear();
  frozen_ = {};
}

EntryTable::OrderedWalk EntryTable::OrderedFrom(std::string_view first) const {
  OrderedWalk walk;
  walk.at_ = ordered_.lower_bound(first);
  walk.end_ = ordered_.end();
  return walk;
}

std::vector<const Entry*> EntryTable::SortedEntriesOf(uint32_t state_id) const {
  std::vector<const Entry*> entries;
  for (const Slot& slot : slots_) {
    if (slot.entry != 0 && StateIdOf(EntryOf(slot)->key()) == state_id) entries.push_back(EntryOf(slot));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->key() < b->key(); });
  return entries;
}

void EntryTable::EvictTo(uint64_t bytes_max, uint64_t steps) {
  for (uint64_t step = 0; step < steps && clean_bytes_ > 0 && bytes() > bytes_max; ++step) {
    __builtin_prefetch(&slots_[HandSlot(hand_ + kHandLineSlots)]);
    Slot& slot = slots_[HandSlot(hand_)];
    if (slot.entry == 0) {
      ++hand_;
    } else if ((slot.entry & 1) != 0) {
      slot.entry &= ~uintptr_t{1};
      ++hand_;
    } else if (Entry* entry = EntryOf(slot); LevelOf(*entry) == Level::kClean) {
      if (!entry->removed()) evicted_ = true;
      clean_bytes_ -= BytesOf(*entry);
      if (Ordered(entry->key())) ordered_.erase(entry);
      Erase(HandSlot(hand_));  // another may have moved to the hand's slot
      FreeEntry(entry);
    } else {
      ++hand_;
    }
  }
}

// Lines of slots in steps of the golden section, each once a round: as the number of lines is a power of two, any odd
// step does that.
size_t EntryTable::HandSlot(size_t position) const {
  const size_t lines = slots_.size() / kHandLineSlots;
  const size_t step = static_cast<size_t>(static_cast<double>(lines) * 0.6180339887) | 1;
  const size_t line = position / kHandLineSlots * step & (lines - 1);
  return line * kHandLineSlots + position % kHandLineSlots;
}

size_t EntryTable::LongestProbe() const {
  const size_t mask = slots_.size() - 1;
  size_t longest = 0;
  for (size_t at = 0; at < slots_.size(); ++at) {
    if (slots_[at].entry != 0) longest = std::max(longest, (at - slots_[at].hash) & mask);
  }
  return longest;
}

// Moves later entries of the probe sequence into the gap, so that a free slot still ends every sequence.
void EntryTable::Erase(size_t gap) {
  const size_t mask = slots_.size() - 1;
  last_valid_ = false;
  --used_;
  for (size_t at = (gap + 1) & mask; slots_[at].entry != 0; at = (at + 1) & mask) {
    const size_t home = slots_[at].hash & mask;
    // It may move if its home is not behind the gap, going round.
    if (((at - home) & mask) >= ((at - gap) & mask)) {
      slots_[gap] = slots_[at];
      gap = at;
    }
  }
  slots_[gap] = {};
}

void EntryTable::Grow() {
  std::vector<Slot> former(slots_.size() * 2);
  former.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : former) {
    if (slot.entry == 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].entry != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
  last_valid_ = false;
  hand_ = 0;
}

}  // namespace weir::state
