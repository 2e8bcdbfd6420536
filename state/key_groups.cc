#include "state/key_groups.h"

#include "base/bytes.h"
#include "base/check.h"

namespace weir::state {
namespace {

constexpr uint32_t kKeyGroupsMax = 32768;

// The least hash of `group`; 2^32 for the group behind the last.
uint64_t FirstHashOf(uint64_t group, uint64_t groups) { return ((group << 32) + groups - 1) / groups; }

// The least group of `subtask`; `groups` for the subtask behind the last.
uint64_t FirstGroupOf(uint64_t subtask, uint64_t parallelism, uint64_t groups) {
  return (subtask * groups + parallelism - 1) / parallelism;
}

}  // namespace

uint32_t HashKey(std::string_view key) {
  // The upper half: XXH3 mixes all bits alike, and the file formats say which ones are taken.
  return static_cast<uint32_t>(Hash64(key) >> 32);
}

uint32_t KeyGroupOf(uint32_t hash, uint32_t groups) {
  WEIR_CHECK_GE(groups, 1u);
  WEIR_CHECK_LE(groups, kKeyGroupsMax);
  return static_cast<uint32_t>((uint64_t{hash} * groups) >> 32);
}

uint32_t SubtaskOfKeyGroup(uint32_t group, uint32_t parallelism, uint32_t groups) {
  WEIR_CHECK_LT(group, groups);
  WEIR_CHECK_GE(parallelism, 1u);
  WEIR_CHECK_LE(parallelism, groups);
  return static_cast<uint32_t>(uint64_t{group} * parallelism / groups);
}

uint32_t SubtaskOf(uint32_t hash, uint32_t parallelism, uint32_t groups) {
  return SubtaskOfKeyGroup(KeyGroupOf(hash, groups), parallelism, groups);
}

HashRange RangeOf(uint32_t subtask, uint32_t parallelism, uint32_t groups) {
  WEIR_CHECK_LT(subtask, parallelism);
  WEIR_CHECK_LE(parallelism, groups);
  WEIR_CHECK_LE(groups, kKeyGroupsMax);
  const uint64_t first = FirstHashOf(FirstGroupOf(subtask, parallelism, groups), groups);
  const uint64_t behind = FirstHashOf(FirstGroupOf(subtask + 1, parallelism, groups), groups);
  return {.first = static_cast<uint32_t>(first), .last = static_cast<uint32_t>(behind - 1)};
}

}  // namespace weir::state
