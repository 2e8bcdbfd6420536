// One key's accumulators in front of their state: load, add rows, store. An operator's row that can't be added changes
// nothing. Used by operators/aggregate.cc on the task's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/aggregate_function.h"
#include "operators/batch.h"
#include "state/subtask_state.h"

namespace weir::operators {

struct AggregateSpec {
  std::string name;  // the output column
  AggregateFunction function = AggregateFunction::kCount;
  std::string column;  // column or expression; empty: count of rows
};

class AggregateGroup {
 public:
  // `retractions`: min and max keep all values.
  AggregateGroup(std::vector<AggregateSpec> specs, bool retractions);

  // Registers the states of `uid`.
  Status Open(const std::string& uid, state::SubtaskState& state);
  // For speed: one read for all keys.
  Status Prefetch(std::span<const state::EntryKey> keys) { return state_->Prefetch(groups_, keys); }

  // The group of `key`, which stays where it is until Store. A key without an entry is an empty group.
  Status Load(const RowKey& key);
  // What an input row does: `values[i]` for specs[i], which live until Store. Empty: done. Else why not: state is as
  // before, and so is the group, unless `only`: this is the one row between Load and the next Load, and if it is
  // refused nothing is stored.
  Result<std::string> AddRow(std::span<const Value> values, bool retract, bool only);
  // Writes the group back; an empty one is removed.
  Status Store();

  uint64_t rows() const { return rows_; }
  const std::vector<AggregateSpec>& specs() const { return specs_; }
  // Keeps what Load found for `before`, which is good until Store.
  void KeepBefore() { before_ = accumulators_; }
  const std::vector<Accumulator>& before() const { return before_; }
  const std::vector<Accumulator>& accumulators() const { return accumulators_; }

 private:
  // A min or max that is to change in state once all aggregates of the row have agreed.
  struct Change {
    size_t aggregate = 0;
    uint64_t count = 0;  // 0: remove
    std::string ordered;
    std::string written;  // the value as it was written first
  };

  bool IsExtreme(size_t i) const {
    return specs_[i].function == AggregateFunction::kMin || specs_[i].function == AggregateFunction::kMax;
  }
  state::EntryKey EntryOf(std::string_view name_space) const { return {key_.hash, key_.bytes, name_space}; }
  std::string Name(size_t i, const std::string& error) const;
  std::string AddExtreme(size_t i, const Value& value, bool retract);
  // Plans the change of the multiset; an error in words, as AddRow.
  Result<std::string> PlanChange(size_t i, const Value& value, bool retract);
  Status ApplyChanges();
  Status FindExtreme(size_t i);

  const std::vector<AggregateSpec> specs_;
  const bool retractions_;
  state::SubtaskState* state_ = nullptr;
  state::StateId groups_;
  std::vector<state::StateId> values_;  // of min and max

  RowKey key_;
  bool stored_ = false;  // state has an entry for the key
  uint64_t rows_ = 0;
  std::string loaded_;  // the entry's bytes: accumulators point into it
  std::vector<Accumulator> accumulators_;
  std::vector<Accumulator> before_;
  std::vector<Accumulator> unchanged_;  // for a row that is refused
  std::vector<std::string> extremes_;   // text of extremes that a scan found
  std::vector<Change> changes_;
  size_t changes_used_ = 0;
  std::string scratch_;
};

}  // namespace weir::operators
