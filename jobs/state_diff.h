// How two checkpoints or savepoints differ, for `weir state diff`. Compared is what a start would restore, entry by
// entry, not the files: compaction and rescaling rearrange those. Pure but for the reading; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "jobs/offline_state.h"

namespace weir::jobs {

struct StateSummary {
  std::string type;  // "value of int64"
  uint64_t entries = 0;
  uint64_t bytes = 0;   // of keys and values
  uint64_t digest = 0;  // of the entries, in whatever order
  friend bool operator==(const StateSummary&, const StateSummary&) = default;
};

struct OperatorSummary {
  uint32_t parallelism = 0;                    // 0: unknown, it has only an enumerator
  std::map<std::string, StateSummary> states;  // keyed, by name
  std::map<std::string, std::string> entries;  // operator state: "split:<id>" -> position, and what else there is
};

struct StateOverview {
  std::string job;
  uint32_t key_groups = 0;
  std::map<std::string, OperatorSummary> operators;  // by uid
};

Result<StateOverview> Summarise(const OfflineState& state);

// One line for each difference; none: a job that goes on from either does the same.
std::vector<std::string> Differences(const StateOverview& a, const StateOverview& b);

}  // namespace weir::jobs
