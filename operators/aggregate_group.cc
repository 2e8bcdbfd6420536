// A row is added in two halves. First every aggregate computes its new accumulator beside the old one, and each min and
// max looks up what it would change among its values; any of them may refuse. Only then state is touched.
#include "operators/aggregate_group.h"

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "operators/aggregate_text.h"
#include "operators/key.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

// The recorded type of `groups`: another function, column or order of them is another type.
std::string GroupsCodec(const std::vector<AggregateSpec>& specs, bool retractions) {
  std::string codec(kAggregateGroupsCodec);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (i > 0) codec += ';';
    codec += AggregateFunctionName(specs[i].function);
    codec += '(';
    codec += specs[i].column.empty() ? "*" : specs[i].column;
    codec += ')';
    const bool extreme = specs[i].function == AggregateFunction::kMin || specs[i].function == AggregateFunction::kMax;
    if (extreme && retractions) codec += "+values";
  }
  codec += ')';
  return codec;
}

}  // namespace

AggregateGroup::AggregateGroup(std::vector<AggregateSpec> specs, bool retractions)
    : specs_(std::move(specs)),
      retractions_(retractions),
      values_(specs_.size()),
      accumulators_(specs_.size()),
      before_(specs_.size()),
      extremes_(specs_.size()),
      changes_(specs_.size()) {}

Status AggregateGroup::Open(const std::string& uid, state::SubtaskState& state) {
  state_ = &state;
  state::StateDescription description{uid, "groups", "value", GroupsCodec(specs_, retractions_), 0};
  WEIR_ASSIGN_OR_RETURN(groups_, state.Register(description));
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!IsExtreme(i) || !retractions_) continue;
    description = {uid, "values-" + std::to_string(i), "map", std::string(kAggregateValuesCodec), 0};
    WEIR_ASSIGN_OR_RETURN(values_[i], state.Register(description));
  }
  return Status::Ok();
}

Status AggregateGroup::Load(const RowKey& key) {
  key_ = key;
  rows_ = 0;
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> entry, state_->Get(groups_, EntryOf({})));
  stored_ = entry.has_value();
  if (!stored_) {
    for (size_t i = 0; i < specs_.size(); ++i) ClearAccumulator(specs_[i].function, accumulators_[i]);
    return Status::Ok();
  }
  loaded_.assign(*entry);
  std::string_view bytes = loaded_;
  const std::optional<uint64_t> rows = ReadVarint(bytes);
  bool whole = rows.has_value();
  for (size_t i = 0; whole && i < specs_.size(); ++i)
    whole = TakeAccumulator(bytes, specs_[i].function, accumulators_[i]);
  if (!whole || !bytes.empty())
    return Status::Corruption("the aggregates of key " + PrintKey(key.bytes) + " can't be read");
  rows_ = *rows;
  return Status::Ok();
}

std::string AggregateGroup::Name(size_t i, const std::string& error) const {
  std::string text = Quoted(specs_[i].name);
  text += " (";
  text += AggregateFunctionName(specs_[i].function);
  text +=
      " of " + (specs_[i].column.empty() ? "*" : specs_[i].column) + ") of key " + PrintKey(key_.bytes) + ": " + error;
  return text;
}

Result<std::string> AggregateGroup::AddRow(std::span<const Value> values, bool retract, bool only) {
  if (retract && rows_ == 0) {
    return "a row of key " + PrintKey(key_.bytes) + " is taken back, and the key has no rows";
  }
  if (!only) unchanged_ = accumulators_;
  changes_used_ = 0;
  std::string error;
  for (size_t i = 0; i < specs_.size() && error.empty(); ++i) {
    if (specs_[i].column.empty()) {
      accumulators_[i].count = retract ? rows_ - 1 : rows_ + 1;
      continue;
    }
    error = AddToAccumulator(specs_[i].function, accumulators_[i], values[i], retract);
    if (error.empty() && IsExtreme(i) && !values[i].missing()) {
      error = AddExtreme(i, values[i], retract);
      if (error.empty() && retractions_) {
        WEIR_ASSIGN_OR_RETURN(error, PlanChange(i, values[i], retract));
      }
    }
    if (!error.empty()) error = Name(i, error);
  }
  if (!error.empty()) {
    if (!only) accumulators_ = unchanged_;
    return error;
  }
  rows_ += retract ? ~uint64_t{0} : 1;
  WEIR_RETURN_IF_ERROR(ApplyChanges());
  return error;
}

// The new extreme of a value that is added. One that is taken back is found by a scan, after the change.
std::string AggregateGroup::AddExtreme(size_t i, const Value& value, bool retract) {
  if (retract && !retractions_) return "a value is taken back, which `retractions: false` rules out";
  Value& extreme = accumulators_[i].extreme;
  if (extreme.absent()) {
    if (!retract) extreme = value;
    return {};
  }
  const std::optional<int> order = CompareForExtreme(value, extreme);
  if (!order.has_value()) {
    std::string error = "a ";
    error += ValueTypeName(value.type());
    error += " among values of type ";
    error += ValueTypeName(extreme.type());
    return error;
  }
  const bool better = specs_[i].function == AggregateFunction::kMin ? *order < 0 : *order > 0;
  if (!retract && better) extreme = value;
  return {};
}

Result<std::string> AggregateGroup::PlanChange(size_t i, const Value& value, bool retract) {
  Change& change = changes_[changes_used_++];
  change.aggregate = i;
  change.ordered.clear();
  AppendOrdered(change.ordered, value, specs_[i].function == AggregateFunction::kMax);
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> entry, state_->Get(values_[i], EntryOf(change.ordered)));
  uint64_t count = 0;
  change.written.clear();
  if (entry.has_value()) {
    std::string_view bytes = *entry;
    const std::optional<uint64_t> read = ReadVarint(bytes);
    if (!read.has_value())
      return Error(Status::Corruption("the values of key " + PrintKey(key_.bytes) + " can't be read"));
    count = *read;
    change.written.assign(bytes);
  } else {
    if (retract) return std::string("a value is taken back that was never added");
    AppendExactValue(change.written, value);
  }
  change.count = retract ? count - 1 : count + 1;
  return std::string();
}

Status AggregateGroup::ApplyChanges() {
  for (size_t c = 0; c < changes_used_; ++c) {
    const Change& change = changes_[c];
    const state::StateId id = values_[change.aggregate];
    if (change.count > 0) {
      scratch_.clear();
      AppendVarint(scratch_, change.count);
      scratch_ += change.written;
      WEIR_RETURN_IF_ERROR(state_->Put(id, EntryOf(change.ordered), scratch_));
      continue;
    }
    WEIR_RETURN_IF_ERROR(state_->Delete(id, EntryOf(change.ordered)));
    scratch_.clear();
    AppendOrdered(scratch_, accumulators_[change.aggregate].extreme,
                  specs_[change.aggregate].function == AggregateFunction::kMax);
    if (scratch_ == change.ordered) WEIR_RETURN_IF_ERROR(FindExtreme(change.aggregate));
  }
  return Status::Ok();
}

Status AggregateGroup::FindExtreme(size_t i) {
  std::string& found = extremes_[i];
  bool any = false;
  WEIR_RETURN_IF_ERROR(
      state_->ScanKey(values_[i], EntryOf({}), [&](std::string_view, std::string_view, std::string_view value) {
        found.assign(value);
        any = true;
        return false;
      }));
  Value& extreme = accumulators_[i].extreme;
  extreme = Value::Absent();
  if (!any) return Status::Ok();
  std::string_view bytes = found;
  std::optional<Value> value;
  if (ReadVarint(bytes).has_value()) value = TakeKeyValue(bytes);
  if (!value.has_value()) return Status::Corruption("the values of key " + PrintKey(key_.bytes) + " can't be read");
  extreme = *value;
  return Status::Ok();
}

Status AggregateGroup::Store() {
  if (rows_ == 0) return stored_ ? state_->Delete(groups_, EntryOf({})) : Status::Ok();
  scratch_.clear();
  AppendVarint(scratch_, rows_);
  for (size_t i = 0; i < specs_.size(); ++i) AppendAccumulator(scratch_, specs_[i].function, accumulators_[i]);
  stored_ = true;
  return state_->Put(groups_, EntryOf({}), scratch_);
}

}  // namespace weir::operators
