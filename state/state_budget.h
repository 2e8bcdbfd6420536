// The memory that keyed state may take in this process, and how it is split. One object a process, made before the
// first subtask opens its state. Thread-safe.
//
//   bytes = 1/4 store (block cache with index and filter blocks, write buffers counted into it) + 3/4 tables
//
// The tables' part is shared evenly by the subtasks that hold keyed state. Within its share a subtask's changed entries
// get 3/8 before it flushes and 3/8 more while the flush is written; the rest, and whatever is free, caches entries
// that were written.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::state {

class StateBudget {
 public:
  explicit StateBudget(uint64_t bytes);

  uint64_t bytes() const { return bytes_; }
  uint64_t store_bytes() const { return bytes_ / 4; }
  // Of one subtask; changes as subtasks come and go.
  uint64_t TableShare() const;

  void AddSubtask() { subtasks_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveSubtask() { subtasks_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  const uint64_t bytes_;
  std::atomic<uint64_t> subtasks_ = 0;
};

}  // namespace weir::state
