#include "checkpoint/barrier_aligner.h"

#include <algorithm>

#include "base/check.h"

namespace weir::checkpoint {

BarrierAligner::BarrierAligner(size_t channels) : delivered_(channels, false), ended_(channels, false) {
  WEIR_CHECK_GT(channels, 0U);
}

std::optional<CheckpointBarrier> BarrierAligner::OnBarrier(size_t channel, const CheckpointBarrier& barrier) {
  WEIR_CHECK_LT(channel, delivered_.size());
  WEIR_CHECK(!blocked(channel));
  if (barrier.id.number <= settled_number_) return std::nullopt;
  if (current_.has_value() && barrier.id.number < current_->id.number) return std::nullopt;
  if (current_.has_value() && barrier.id.number > current_->id.number) Release();
  if (!current_.has_value()) current_ = barrier;
  WEIR_CHECK(current_->id == barrier.id);
  delivered_[channel] = true;
  return TakeIfAligned();
}

std::optional<CheckpointBarrier> BarrierAligner::OnEnd(size_t channel) {
  WEIR_CHECK_LT(channel, ended_.size());
  ended_[channel] = true;
  return TakeIfAligned();
}

void BarrierAligner::Abort(CheckpointId id) {
  if (current_.has_value() && current_->id.number <= id.number) Release();
  settled_number_ = std::max(settled_number_, id.number);
}

bool BarrierAligner::blocked(size_t channel) const {
  WEIR_CHECK_LT(channel, delivered_.size());
  return current_.has_value() && delivered_[channel] && !ended_[channel];
}

std::optional<CheckpointBarrier> BarrierAligner::TakeIfAligned() {
  if (!current_.has_value()) return std::nullopt;
  for (size_t channel = 0; channel < delivered_.size(); ++channel) {
    if (!delivered_[channel] && !ended_[channel]) return std::nullopt;
  }
  const CheckpointBarrier aligned = *current_;
  Release();
  return aligned;
}

void BarrierAligner::Release() {
  settled_number_ = current_->id.number;
  current_.reset();
  std::fill(delivered_.begin(), delivered_.end(), false);
}

}  // namespace weir::checkpoint
