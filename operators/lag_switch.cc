#include "operators/lag_switch.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace weir::operators {
namespace {

// The clock may be set: nobody tells.
constexpr Duration kLookEvery = std::chrono::seconds(10);
constexpr Duration kLookSoonest = std::chrono::milliseconds(1);
constexpr int kBackAtPart = 4;

std::string DurationText(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  constexpr int64_t kShortMs = 10'000;
  return ms < kShortMs ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

}  // namespace

void LagSwitch::Open(const OperatorContext& context, EventTime watermark) {
  name_ = context.uid + " (subtask " + std::to_string(context.subtask) + ")";
  clock_ = context.clock;
  watermark_ = watermark;
  best_effort_ = window_ > Duration::zero() && watermark_ == EventTime::Min();
  if (window_ > Duration::zero() && context.metrics != nullptr) {
    shown_ = &context.metrics->named.Gauge(context.uid, "best_effort");
    switches_ = &context.metrics->named.Counter(context.uid, "mode_switches");
    shown_->store(best_effort_ ? 1 : 0, std::memory_order_relaxed);
  }
  Look();
}

void LagSwitch::Raise(EventTime watermark) {
  watermark_ = std::max(watermark_, watermark);
  Look();
}

// A time before the epoch counts as the epoch, so that nothing runs over.
Duration LagSwitch::Lag() const { return Duration(clock_->WallNs() - std::max<int64_t>(watermark_.wall_ns, 0)); }

void LagSwitch::Look() {
  if (window_ == Duration::zero() || clock_ == nullptr || watermark_ == EventTime::Min()) return;
  const Duration lag = Lag();
  if (best_effort_ ? lag > window_ / kBackAtPart : lag < window_) return;
  best_effort_ = !best_effort_;
  LogInfo(name_ + ": " + (best_effort_ ? "best effort" : "consistent") + " from now on: the watermark is " +
          DurationText(lag) + " behind, best-effort-window is " + DurationText(window_));
  if (shown_ == nullptr) return;
  shown_->store(best_effort_ ? 1 : 0, std::memory_order_relaxed);
  switches_->fetch_add(1, std::memory_order_relaxed);
}

std::optional<MonotonicTime> LagSwitch::NextLook() const {
  if (window_ == Duration::zero() || clock_ == nullptr || best_effort_) return std::nullopt;
  return clock_->Now() + std::clamp(window_ - Lag(), kLookSoonest, kLookEvery);
}

}  // namespace weir::operators
