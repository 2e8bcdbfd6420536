#include "operators/runtime/source_head.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/json_escape.h"

namespace weir::operators {
namespace {

constexpr std::string_view kEventPrefix = "event:";
constexpr size_t kNumberDigits = 20;  // so that names sort as their numbers do

std::string Named(std::string_view prefix, std::string_view id) {
  std::string name(prefix);
  name += id;
  return name;
}

std::string OffsetsJson(const std::vector<SourceSplit>& splits) {
  std::string json = "{";
  for (const SourceSplit& split : splits) {
    if (json.size() > 1) json += ',';
    AppendJsonString(json, split.id);
    json += ':';
    json += split.position.empty() ? "null" : split.position;
  }
  json += '}';
  return json;
}

}  // namespace

class SourceHead::SplitOutput final : public SourceOutput {
 public:
  SplitOutput(SourceHead& head, Emitters emit) : head_(head), emit_(std::move(emit)) {}

  Status Emit(Batch batch) override {
    if (batch.empty()) return Status::Ok();
    return emit_.main(std::move(batch));
  }
  Status EmitSide(std::string_view tag, Batch batch) override { return emit_.side(tag, std::move(batch)); }
  bool HasSide(std::string_view tag) const override { return emit_.has_side(tag); }

  void EmitWatermark(const std::string& split_id, Watermark watermark) override {
    const auto split = head_.watermarks_.find(split_id);
    if (split == head_.watermarks_.end() || split->second >= watermark.time) return;
    split->second = watermark.time;
    head_.watermark_changed_ = true;
  }

 private:
  SourceHead& head_;
  Emitters emit_;
};

SourceHead::SourceHead(ChainedSource source, Emitters emit)
    : source_(std::move(source)), output_(std::make_unique<SplitOutput>(*this, std::move(emit))) {
  WEIR_CHECK(source_.reader != nullptr);
  WEIR_CHECK(source_.enumerator != nullptr);
}

SourceHead::~SourceHead() = default;

Status SourceHead::Open(ReaderContext context, state::SubtaskState& state) {
  state_ = &state;
  subtask_ = context.subtask;
  context.uid = source_.uid;
  context.send_event = [this](std::string event) { SendEvent(std::move(event)); };
  WEIR_RETURN_IF_ERROR(source_.reader->Open(context).WithContext(source_.uid));
  return Restore();
}

// All splits go back to the enumerator, which assigns them again at any parallelism; from then on its own state holds
// them until a reader's does. The same with events: the enumerator has their effect before its first snapshot.
Status SourceHead::Restore() {
  WEIR_ASSIGN_OR_RETURN(const std::vector<state::SubtaskState::OperatorEntry> entries,
                        state_->OperatorEntries(source_.uid));
  RestoredReader restored;
  for (const auto& [name, value] : entries) {
    const std::string_view text = name;
    if (text.starts_with(kSplitPrefix)) {
      restored.splits.push_back({{name.substr(kSplitPrefix.size()), value}, false});
    } else if (text.starts_with(kFinishedPrefix)) {
      restored.splits.push_back({{name.substr(kFinishedPrefix.size()), value}, true});
    } else if (text.starts_with(kEventPrefix)) {
      restored.events.emplace(name, value);
    } else {
      continue;  // an operator entry that the reader itself may keep
    }
    WEIR_RETURN_IF_ERROR(state_->DeleteOperatorEntry(source_.uid, name));
  }
  source_.enumerator->ReaderRestored(subtask_, std::move(restored));
  return Status::Ok();
}

Status SourceHead::AddSplits(std::vector<SourceSplit> splits) {
  assignment_known_ = true;
  watermark_changed_ = true;
  if (splits.empty()) return Status::Ok();
  for (const SourceSplit& split : splits) watermarks_.emplace(split.id, EventTime::Min());
  WEIR_RETURN_IF_ERROR(source_.reader->AddSplits(std::move(splits)).WithContext(source_.uid));
  if (!restored_applied_.has_value() || cut_) return Status::Ok();
  return source_.reader->NotifyCheckpointApplied(*restored_applied_).WithContext(source_.uid);
}

void SourceHead::SendEvent(std::string event) {
  const uint64_t number = ++last_event_;
  events_.emplace(number, event);
  source_.enumerator->PostReaderEvent(subtask_, number, std::move(event));
}

void SourceHead::AcknowledgeEvents(uint64_t through) { events_.erase(events_.begin(), events_.upper_bound(through)); }

Result<PollStatus> SourceHead::Poll() {
  Result<PollStatus> polled = source_.reader->PollNext(*output_);
  if (!polled.has_value()) return Error(polled.error().WithContext(source_.uid));
  if (*polled == PollStatus::kFinished) finished_ = true;
  return polled;
}

std::optional<SourceHead::Risen> SourceHead::TakeWatermark() {
  if (!std::exchange(watermark_changed_, false)) return std::nullopt;
  EventTime minimum = EventTime::Max();
  for (const auto& [id, time] : watermarks_) minimum = std::min(minimum, time);
  if (minimum == EventTime::Max()) {
    if (!assignment_known_ || std::exchange(idle_, true)) return std::nullopt;
    return Risen{{EventTime::Max()}, true};
  }
  const bool awoke = std::exchange(idle_, false);
  if (minimum > emitted_) {
    emitted_ = minimum;
    return Risen{{minimum}};
  }
  // Those behind must wait for this reader again, though its watermark stands where it stood.
  if (awoke) return Risen{{emitted_}, true};
  return std::nullopt;
}

Result<std::string> SourceHead::SnapshotState(CheckpointId checkpoint) {
  cut_ = true;
  const std::vector<SourceSplit> splits = source_.reader->SnapshotState(checkpoint);
  std::map<std::string, std::string> entries;
  std::set<std::string_view> held;
  for (const SourceSplit& split : splits) {
    held.insert(split.id);
    entries.emplace(Named(finished_ ? kFinishedPrefix : kSplitPrefix, split.id), split.position);
  }
  WEIR_CHECK_EQ(entries.size(), splits.size());
  // A split that the reader has given up holds nothing back any more.
  if (std::erase_if(watermarks_, [&](const auto& each) { return !held.contains(each.first); }) > 0) {
    watermark_changed_ = true;
  }
  for (const auto& [number, event] : events_) {
    const std::string digits = std::to_string(number);
    std::string name = Named(kEventPrefix, std::to_string(subtask_));
    name += '-';
    name.append(kNumberDigits - digits.size(), '0');
    name += digits;
    entries.emplace(std::move(name), event);
  }
  for (const auto& [name, value] : written_) {
    if (!entries.contains(name)) WEIR_RETURN_IF_ERROR(state_->DeleteOperatorEntry(source_.uid, name));
  }
  for (const auto& [name, value] : entries) {
    const auto before = written_.find(name);
    if (before != written_.end() && before->second == value) continue;
    WEIR_RETURN_IF_ERROR(state_->PutOperatorEntry(source_.uid, name, value));
  }
  written_ = std::move(entries);
  return OffsetsJson(splits);
}

Status SourceHead::NotifyCheckpointApplied(CheckpointId checkpoint) {
  if (!cut_) restored_applied_ = checkpoint;
  return source_.reader->NotifyCheckpointApplied(checkpoint).WithContext(source_.uid);
}

}  // namespace weir::operators
