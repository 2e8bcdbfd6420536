// What a state backend hands out at a checkpoint and takes back at a restore. Plain values; the only header of state/
// that checkpoint/ may include.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::state {

// A part [first, last] of the 32-bit hash space: whole key groups. Worked example, 128 groups, parallelism 2: subtask 0
// has groups 0..63 = hashes 0x00000000..0x7fffffff, subtask 1 the rest.
struct HashRange {
  uint32_t first = 0;
  uint32_t last = UINT32_MAX;  // included
  friend bool operator==(const HashRange&, const HashRange&) = default;
};

// One immutable file of a snapshot.
struct StateFile {
  std::string name;  // what the store calls it when restored, e.g. "000012.sst", "CURRENT"
  std::string path;  // relative to the job's storage folder, e.g. "shared/<attempt>-3-1-000012.sst"
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the content
  friend bool operator==(const StateFile&, const StateFile&) = default;
};

// One state of one operator in the snapshot, with the type it was written as.
struct StateDescription {
  std::string uid;    // of the operator
  std::string name;   // of the state
  std::string kind;   // "value", "list", "map", "reducing", "timers", "operator"
  std::string codec;  // recorded type of the value, e.g. "aggregate/v1(count;sum:decimal)"
  uint32_t id = 0;    // the number under which its keys are stored
  friend bool operator==(const StateDescription&, const StateDescription&) = default;
};

// The state of one subtask at one checkpoint.
struct SubtaskStateHandle {
  HashRange range;
  std::vector<StateFile> files;
  std::vector<StateDescription> states;
  uint64_t entries_new = 0;  // dirty entries that this snapshot wrote
  uint64_t bytes_new = 0;    // bytes of files that no earlier snapshot had
  friend bool operator==(const SubtaskStateHandle&, const SubtaskStateHandle&) = default;
};

// Whose state a restore takes out of snapshots: the uid under which it lies there -> the uid that has it from now on.
// State of a uid that is not named is left behind.
using StateOwners = std::map<std::string, std::string>;

}  // namespace weir::state
