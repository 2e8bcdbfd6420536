// Rows of one schema: kinds, event times, values, keys, and the arenas their text lives in. The unit that operators,
// channels and sinks hand over; a control element never sits inside one. A Batch is owned by one thread at a time and
// moves; no row has a string or vector of its own.
//
//   Batch batch(schema, 1024);
//   Value* row = batch.AddRow(RowKind::kInsert, time);        // schema->size() values, all absent
//   row[0] = Value::Int64(7);
//   row[1] = Value::Text(ValueType::kString, batch.arena().Copy("paid"));
//
// Text may live in the batch's own arena or in arenas shared from batches it was derived from (ShareArenas), which is
// how a projection passes a column on without copying it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "operators/event_time.h"
#include "operators/schema.h"
#include "operators/value.h"

namespace weir::operators {

// Flink's row kinds: what a row does to the result that came before.
enum class RowKind : uint8_t { kInsert, kUpdateBefore, kUpdateAfter, kDelete };

// "+I", "-U", "+U", "-D".
std::string_view RowKindName(RowKind kind);
inline bool IsRetraction(RowKind kind) { return kind == RowKind::kUpdateBefore || kind == RowKind::kDelete; }

// The key that key_by computed: canonical bytes (operators/key.h) and their 32-bit hash (state/key_groups.h).
struct RowKey {
  uint32_t hash = 0;
  std::string_view bytes;
};

// Bump allocation in chunks; freed as a whole.
class Arena {
 public:
  explicit Arena(size_t first_chunk_bytes = 16 * 1024);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned to 8. Never fails but by the process running out of memory.
  char* Allocate(size_t bytes) {
    const size_t rounded = (bytes + 7) & ~size_t{7};
    if (rounded > static_cast<size_t>(end_ - free_)) return AllocateSlow(rounded);
    char* result = free_;
    free_ += rounded;
    return result;
  }
  std::string_view Copy(std::string_view text);
  // Gives back the tail of the newest allocation: `kept` of the bytes it asked for stay.
  void Trim(char* allocation, size_t kept);
  size_t bytes() const { return bytes_; }

 private:
  char* AllocateSlow(size_t bytes);

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  char* end_ = nullptr;
  size_t next_chunk_bytes_;
  size_t bytes_ = 0;  // of all chunks
};

class Batch {
 public:
  static constexpr size_t kDefaultCapacity = 1024;

  Batch() = default;  // holds nothing, not even a schema
  explicit Batch(SchemaPtr schema, size_t capacity = kDefaultCapacity);
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;

  const SchemaPtr& schema() const { return schema_; }
  size_t columns() const { return columns_; }
  size_t rows() const { return rows_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return rows_ == 0; }
  bool full() const { return rows_ == capacity_; }

  // The new row's values, all absent; valid as long as the batch. Not to be called on a full batch.
  Value* AddRow(RowKind kind, EventTime time);
  // Takes the newest row back (its text stays in the arena).
  void PopRow();

  Value* row(size_t i) { return values_ + i * columns_; }
  const Value* row(size_t i) const { return values_ + i * columns_; }
  const Value& at(size_t i, size_t column) const { return values_[i * columns_ + column]; }
  RowKind kind(size_t i) const { return kinds_[i]; }
  void set_kind(size_t i, RowKind kind) { kinds_[i] = kind; }
  EventTime time(size_t i) const { return times_[i]; }

  // Set by key_by, gone after any operator that makes new rows without keys. `key(i)` needs keyed().
  bool keyed() const { return keys_ != nullptr; }
  const RowKey& key(size_t i) const { return keys_[i]; }
  // The first call makes room for all rows of the batch.
  void SetKey(size_t i, RowKey key);

  // This batch's own arena, for text made here.
  Arena& arena() { return *arenas_.front(); }
  // Afterwards values of this batch may point to text of `from`, also when `from` is gone.
  void ShareArenas(const Batch& from);
  // Adds row `i` of `from` (same number of columns) with kind, time and key; copies its text into this batch's arena.
  void AppendCopy(const Batch& from, size_t i);
  // Keeps the rows with a non-zero entry, in order. `keep` has rows() entries.
  void Filter(std::span<const uint8_t> keep);
  // Heap bytes behind this batch; shared arenas count in full.
  size_t bytes() const;

 private:
  SchemaPtr schema_;
  size_t columns_ = 0;
  size_t capacity_ = 0;
  size_t rows_ = 0;
  Value* values_ = nullptr;  // these four lie in the own arena
  RowKind* kinds_ = nullptr;
  EventTime* times_ = nullptr;
  RowKey* keys_ = nullptr;
  std::vector<std::shared_ptr<Arena>> arenas_;  // own first, then shared
};

}  // namespace weir::operators
