// Counters of one subtask. Written by the task's thread with relaxed atomics, read by the status line and by tests from
// any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::operators {

struct SubtaskMetrics {
  std::atomic<uint64_t> rows_in{0};   // rows that the chain's head took (a source: emitted)
  std::atomic<uint64_t> rows_out{0};  // rows that left the chain's end (a sink: written)
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bad_records{0};  // skipped or dead-lettered by policy
  std::atomic<uint64_t> late_rows{0};
  std::atomic<int64_t> lag_records{-1};  // sources: records between position and end; -1 unknown
  std::atomic<uint64_t> unsealed_bytes{0};  // sinks, exactly once: output since the last barrier
  std::atomic<uint64_t> blocked{0};      // steps that could not go on because of a full output
};

}  // namespace weir::operators
