#include "state/state_budget.h"

#include <algorithm>

namespace weir::state {
namespace {

// Below this a table holds too few entries to be of use.
constexpr uint64_t kShareBytesMin = 64 * 1024;

}  // namespace

StateBudget::StateBudget(uint64_t bytes) : bytes_(bytes) {}

uint64_t StateBudget::TableShare() const {
  const uint64_t subtasks = std::max<uint64_t>(subtasks_.load(std::memory_order_relaxed), 1);
  return std::max((bytes_ - store_bytes()) / subtasks, kShareBytesMin);
}

}  // namespace weir::state
