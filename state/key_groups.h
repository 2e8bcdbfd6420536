// Which subtask owns a key: key -> 32-bit hash -> key group -> subtask. Pure functions; part of the file formats.
//
// Worked example, 128 groups: hash 0x40000000 is in group 32. At parallelism 2 subtask 0 has groups 0..63, subtask 1
// has 64..127; at parallelism 3 they are 0..42, 43..85, 86..127. A group is a contiguous part of the hash space, so a
// subtask's state is one range of keys, and doubling the groups moves no entry.
#pragma once

#include <cstdint>
#include <string_view>

#include "state/snapshot.h"

namespace weir::state {

constexpr uint32_t kDefaultKeyGroups = 128;

uint32_t HashKey(std::string_view key);
// `groups` in 1..32768; parallelism in 1..groups.
uint32_t KeyGroupOf(uint32_t hash, uint32_t groups);
uint32_t SubtaskOfKeyGroup(uint32_t group, uint32_t parallelism, uint32_t groups);
uint32_t SubtaskOf(uint32_t hash, uint32_t parallelism, uint32_t groups);
// The hashes that `subtask` owns.
HashRange RangeOf(uint32_t subtask, uint32_t parallelism, uint32_t groups);

}  // namespace weir::state
