#include "operators/sequence_progress.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

constexpr std::string_view kEntryName = "progress";

void AppendRange(std::string& out, state::HashRange range) {
  AppendVarint(out, range.first);
  AppendVarint(out, range.last);
}

bool ReadRange(std::string_view& bytes, state::HashRange& range) {
  const std::optional<uint64_t> first = ReadVarint(bytes);
  const std::optional<uint64_t> last = ReadVarint(bytes);
  if (!first.has_value() || !last.has_value() || *first > *last || *last > UINT32_MAX) return false;
  range = {static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)};
  return true;
}

}  // namespace

// Entry: range of the subtask, waiting rows, then for each part range, nanoseconds, logical part.
Status SequenceProgress::Open(const OperatorContext& context) {
  uid_ = context.uid;
  state_ = context.state;
  range_ = state::RangeOf(context.subtask, context.parallelism, context.key_groups);
  WEIR_ASSIGN_OR_RETURN(const auto entries, state_->OperatorEntries(uid_));
  for (const auto& entry : entries) {
    if (entry.name == kEntryName && !Read(entry.value)) {
      return Status::Corruption("the progress of a sequence can't be read");
    }
  }
  if (parts_.empty()) parts_.push_back({range_, EventTime::Min()});
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.range.first < b.range.first; });
  return Status::Ok();
}

bool SequenceProgress::Read(std::string_view bytes) {
  state::HashRange former;
  if (!ReadRange(bytes, former)) return false;
  const std::optional<uint64_t> waiting = ReadVarint(bytes);
  if (!waiting.has_value()) return false;
  if (former.last < range_.first || former.first > range_.last) return true;
  const bool whole = former.first >= range_.first && former.last <= range_.last;
  waiting_ = whole && waiting_.has_value() ? std::optional(*waiting_ + *waiting) : std::nullopt;
  while (!bytes.empty()) {
    Part part;
    if (!ReadRange(bytes, part.range)) return false;
    const std::optional<uint64_t> wall = ReadVarint(bytes);
    const std::optional<uint64_t> logical = ReadVarint(bytes);
    if (!wall.has_value() || !logical.has_value()) return false;
    part.time = {static_cast<int64_t>(*wall), static_cast<int32_t>(*logical)};
    part.range = {std::max(part.range.first, range_.first), std::min(part.range.last, range_.last)};
    if (part.range.first <= part.range.last) parts_.push_back(part);
  }
  return true;
}

Status SequenceProgress::Store(uint64_t waiting) {
  std::string bytes;
  AppendRange(bytes, range_);
  AppendVarint(bytes, waiting);
  for (const Part& part : parts_) {
    AppendRange(bytes, part.range);
    AppendVarint(bytes, static_cast<uint64_t>(part.time.wall_ns));
    AppendVarint(bytes, static_cast<uint64_t>(part.time.logical));
  }
  return state_->PutOperatorEntry(uid_, kEntryName, bytes);
}

EventTime SequenceProgress::TimeOf(uint32_t hash) const {
  if (parts_.size() == 1) return parts_.front().time;
  for (const Part& part : parts_) {
    if (hash >= part.range.first && hash <= part.range.last) return part.time;
  }
  return EventTime::Min();
}

void SequenceProgress::Raise(EventTime time) {
  bool passed_all = true;
  for (Part& part : parts_) {
    passed_all = passed_all && part.time <= time;
    part.time = std::max(part.time, time);
  }
  if (passed_all) parts_ = {{range_, time}};
}

}  // namespace weir::operators
