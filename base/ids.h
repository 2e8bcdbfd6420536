// Strong identifiers that several folders share. Plain values, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace weir {

// 128 random bits: identifies a checkpoint, a storage or an attempt. Compared for equality only; numbers give order.
struct UniqueId {
  uint64_t high = 0;
  uint64_t low = 0;

  bool empty() const { return high == 0 && low == 0; }
  friend bool operator==(const UniqueId&, const UniqueId&) = default;

  // 32 lower-case hexadecimal digits.
  std::string ToString() const;
  // InvalidArgument unless `text` is exactly 32 hexadecimal digits.
  static Result<UniqueId> Parse(std::string_view text);
};

// A checkpoint: `number` orders (from 1, never used twice in a storage), `id` identifies.
struct CheckpointId {
  uint64_t number = 0;
  UniqueId id;

  friend bool operator==(const CheckpointId&, const CheckpointId&) = default;
};

// One parallel instance of a vertex of the job graph: vertex 3, subtask 1 of 4 is {3, 1}.
struct SubtaskId {
  uint32_t vertex = 0;
  uint32_t index = 0;

  friend auto operator<=>(const SubtaskId&, const SubtaskId&) = default;
};

}  // namespace weir
