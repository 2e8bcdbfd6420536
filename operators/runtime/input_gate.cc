#include "operators/runtime/input_gate.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace weir::operators {

InputGate::InputGate(std::vector<GateChannel> channels) : aligner_(channels.size()) {
  WEIR_CHECK(!channels.empty());
  channels_.reserve(channels.size());
  for (const GateChannel& each : channels) {
    WEIR_CHECK(each.channel != nullptr);
    channels_.push_back({each.channel, each.input});
  }
}

std::optional<GateElement> InputGate::Poll() {
  if (!due_.empty()) return TakeDue();
  // Control elements may yield nothing for the task, so that a round goes on until no channel has anything.
  size_t passed = 0;
  while (passed < channels_.size()) {
    const size_t index = next_;
    next_ = next_ + 1 == channels_.size() ? 0 : next_ + 1;
    ++passed;
    Channel& channel = *channels_[index].channel;
    if (channel.empty() || aligner_.blocked(index)) continue;
    std::optional<Element> element = channel.TryPop();
    if (!element.has_value()) continue;
    passed = 0;
    if (std::optional<GateElement> taken = Take(index, std::move(*element))) return taken;
  }
  return std::nullopt;
}

std::optional<GateElement> InputGate::Take(size_t index, Element element) {
  Inbound& from = channels_[index];
  if (std::holds_alternative<Batch>(element)) {
    WEIR_CHECK(!from.ended);
    return GateElement{from.input, std::move(element)};
  }
  if (const auto* watermark = std::get_if<Watermark>(&element)) {
    WEIR_CHECK(!from.ended);
    from.idle = watermark->time == EventTime::Max();
    if (!from.idle) from.watermark = std::max(from.watermark, watermark->time);
    return RaiseWatermark();
  }
  if (const auto* barrier = std::get_if<checkpoint::CheckpointBarrier>(&element)) {
    return OnBarrier(index, *barrier);
  }
  return OnEnd(index);
}

// A barrier behind the end of its channel says nothing about the channels that have not ended: each of these delivers
// it too. When all have ended nothing is left to align, and the first that delivers it speaks for all.
std::optional<GateElement> InputGate::OnBarrier(size_t index, const checkpoint::CheckpointBarrier& barrier) {
  std::optional<checkpoint::CheckpointBarrier> aligned;
  if (!channels_[index].ended) {
    aligned = aligner_.OnBarrier(index, barrier);
  } else if (ended_channels_ == channels_.size() && barrier.id.number > settled_) {
    aligned = barrier;
  }
  if (!aligned.has_value()) return std::nullopt;
  settled_ = aligned->id.number;
  return GateElement{0, *aligned};
}

// The end of a channel may be three things at once: the watermark rises, the whole input has ended, and a barrier that
// waited for this channel alone is aligned. The barrier comes last: no row lies between the three, and behind the end
// the cut tells its checkpoint that the task has finished.
std::optional<GateElement> InputGate::OnEnd(size_t index) {
  Inbound& from = channels_[index];
  WEIR_CHECK(!from.ended);
  from.ended = true;
  ++ended_channels_;
  if (std::optional<GateElement> risen = RaiseWatermark()) due_.push_back(std::move(*risen));
  if (ended_channels_ == channels_.size()) due_.push_back({0, EndOfInput{}});
  if (const std::optional<checkpoint::CheckpointBarrier> aligned = aligner_.OnEnd(index)) {
    settled_ = aligned->id.number;
    due_.push_back({0, *aligned});
  }
  if (due_.empty()) return std::nullopt;
  return TakeDue();
}

GateElement InputGate::TakeDue() {
  GateElement due = std::move(due_.front());
  due_.pop_front();
  if (std::holds_alternative<EndOfInput>(due.element)) ended_ = true;
  return due;
}

void InputGate::Abort(CheckpointId id) {
  aligner_.Abort(id);
  settled_ = std::max(settled_, id.number);
  std::erase_if(due_, [&](const GateElement& due) {
    const auto* barrier = std::get_if<checkpoint::CheckpointBarrier>(&due.element);
    return barrier != nullptr && barrier->id.number <= id.number;
  });
}

bool InputGate::input_ended(int input) const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [input](const Inbound& each) { return each.input != input || each.ended; });
}

std::optional<GateElement> InputGate::RaiseWatermark() {
  EventTime minimum = EventTime::Max();
  bool all_idle = true;
  for (const Inbound& each : channels_) {
    if (each.ended || each.idle) continue;
    all_idle = false;
    minimum = std::min(minimum, each.watermark);
  }
  const bool is_idle = all_idle && ended_channels_ < channels_.size();
  if (is_idle) {
    if (std::exchange(idle_emitted_, true)) return std::nullopt;
    return GateElement{0, Watermark{EventTime::Max()}, true};
  }
  const bool awoke = std::exchange(idle_emitted_, false);
  if (minimum > emitted_) {
    emitted_ = minimum;
    return GateElement{0, Watermark{minimum}};
  }
  // Those behind must hear that this task is no longer idle, though its watermark stands where it stood.
  if (awoke) return GateElement{0, Watermark{emitted_}, true};
  return std::nullopt;
}

}  // namespace weir::operators
