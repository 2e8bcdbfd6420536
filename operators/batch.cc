#include "operators/batch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir::operators {
namespace {

constexpr size_t kChunkBytesMax = 256 * 1024;

template <class T>
T* AllocateArray(Arena& arena, size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  T* array = reinterpret_cast<T*>(arena.Allocate(count * sizeof(T)));
  std::uninitialized_default_construct_n(array, count);
  return array;
}

size_t HeaderBytes(size_t columns, size_t capacity) {
  return capacity * (columns * sizeof(Value) + sizeof(EventTime) + sizeof(RowKind)) + 64;
}

}  // namespace

std::string_view RowKindName(RowKind kind) {
  switch (kind) {
    case RowKind::kInsert: return "+I";
    case RowKind::kUpdateBefore: return "-U";
    case RowKind::kUpdateAfter: return "+U";
    case RowKind::kDelete: return "-D";
  }
  return "?";
}

Arena::Arena(size_t first_chunk_bytes) : next_chunk_bytes_(first_chunk_bytes) {}

char* Arena::AllocateSlow(size_t bytes) {
  const size_t chunk = std::max(bytes, next_chunk_bytes_);
  next_chunk_bytes_ = std::min(std::max(chunk, next_chunk_bytes_) * 2, kChunkBytesMax);
  chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
  bytes_ += chunk;
  char* result = chunks_.back().get();
  free_ = result + bytes;
  end_ = result + chunk;
  return result;
}

std::string_view Arena::Copy(std::string_view text) {
  if (text.empty()) return {};
  char* copy = Allocate(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void Arena::Trim(char* allocation, size_t kept) {
  WEIR_CHECK(allocation + kept <= free_);
  free_ = allocation + ((kept + 7) & ~size_t{7});
}

Batch::Batch(SchemaPtr schema, size_t capacity)
    : schema_(std::move(schema)), columns_(schema_->size()), capacity_(capacity) {
  // One chunk holds the row arrays and about as much text.
  const size_t header = HeaderBytes(columns_, capacity);
  arenas_.push_back(std::make_shared<Arena>(header + header / 2));
  values_ = AllocateArray<Value>(arena(), columns_ * capacity);
  times_ = AllocateArray<EventTime>(arena(), capacity);
  kinds_ = AllocateArray<RowKind>(arena(), capacity);
}

Value* Batch::AddRow(RowKind kind, EventTime time) {
  WEIR_CHECK_LT(rows_, capacity_);
  Value* values = values_ + rows_ * columns_;
  std::fill_n(values, columns_, Value());
  kinds_[rows_] = kind;
  times_[rows_] = time;
  if (keys_ != nullptr) keys_[rows_] = RowKey();
  ++rows_;
  return values;
}

void Batch::PopRow() {
  WEIR_CHECK_GT(rows_, 0U);
  --rows_;
}

void Batch::SetKey(size_t i, RowKey key) {
  if (keys_ == nullptr) {
    keys_ = AllocateArray<RowKey>(arena(), capacity_);
  }
  keys_[i] = key;
}

void Batch::ShareArenas(const Batch& from) {
  for (const auto& shared : from.arenas_) {
    if (std::find(arenas_.begin(), arenas_.end(), shared) == arenas_.end()) arenas_.push_back(shared);
  }
}

void Batch::AppendCopy(const Batch& from, size_t i) {
  WEIR_CHECK_EQ(columns_, from.columns_);
  Value* to = AddRow(from.kinds_[i], from.times_[i]);
  const Value* source = from.row(i);
  for (size_t c = 0; c < columns_; ++c) {
    to[c] = source[c].has_text() ? Value::Text(source[c].type(), arena().Copy(source[c].text())) : source[c];
  }
  if (from.keyed()) SetKey(rows_ - 1, RowKey{from.keys_[i].hash, arena().Copy(from.keys_[i].bytes)});
}

void Batch::Filter(std::span<const uint8_t> keep) {
  WEIR_CHECK_EQ(keep.size(), rows_);
  size_t to = 0;
  for (size_t i = 0; i < rows_; ++i) {
    if (keep[i] == 0) continue;
    if (to != i) {
      std::copy_n(row(i), columns_, row(to));
      kinds_[to] = kinds_[i];
      times_[to] = times_[i];
      if (keys_ != nullptr) keys_[to] = keys_[i];
    }
    ++to;
  }
  rows_ = to;
}

size_t Batch::bytes() const {
  size_t total = 0;
  for (const auto& arena : arenas_) total += arena->bytes();
  return total;
}

}  // namespace weir::operators
