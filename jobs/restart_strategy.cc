#include "jobs/restart_strategy.h"

#include <algorithm>

namespace weir::jobs {
namespace {

// Each delay of a row is so much longer than the one before it, and up to a tenth longer or shorter than that.
constexpr double kMultiplier = 1.5;
constexpr int64_t kJitterPart = 10;

}  // namespace

std::string_view RestartKindName(RestartKind kind) {
  switch (kind) {
    case RestartKind::kNone: return "none";
    case RestartKind::kFixedDelay: return "fixed-delay";
    case RestartKind::kExponentialDelay: return "exponential-delay";
    case RestartKind::kFailureRate: return "failure-rate";
  }
  return "?";
}

bool CanRestart(const Status& cause, bool had_begun) {
  switch (cause.code()) {
    case StatusCode::kOk:
    case StatusCode::kInvalidArgument:
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kCancelled:
    case StatusCode::kFenced: return false;
    case StatusCode::kNotFound:
    case StatusCode::kCorruption: return had_begun;
    case StatusCode::kIoError:
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kInternal: return true;
  }
  return false;
}

std::optional<Duration> RestartStrategy::OnFailure(MonotonicTime began, MonotonicTime now) {
  const std::optional<Duration> delay = Decide(began, now);
  if (delay.has_value()) ++restarts_;
  return delay;
}

std::optional<Duration> RestartStrategy::Decide(MonotonicTime began, MonotonicTime now) {
  switch (settings_.kind) {
    case RestartKind::kNone: return std::nullopt;
    case RestartKind::kFixedDelay:
      if (++row_ > settings_.attempts_max) return std::nullopt;
      return settings_.delay;
    case RestartKind::kExponentialDelay:
      if (now - began >= settings_.reset_after) row_ = 0;
      if (++row_ > settings_.attempts_max) return std::nullopt;
      return ExponentialDelay();
    case RestartKind::kFailureRate:
      failures_.push_back(now);
      while (now - failures_.front() >= settings_.failures_interval) failures_.pop_front();
      row_ = failures_.size();
      if (row_ > settings_.failures_max) return std::nullopt;
      return settings_.delay;
  }
  return std::nullopt;
}

Duration RestartStrategy::ExponentialDelay() {
  const auto longest = static_cast<double>(settings_.delay_max.count());
  double delay = static_cast<double>(settings_.delay.count());
  for (size_t i = 1; i < row_ && delay < longest; ++i) delay *= kMultiplier;
  const auto chosen = static_cast<int64_t>(std::min(delay, longest));
  const int64_t jitter = chosen / kJitterPart;
  return Duration(chosen - jitter + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(2 * jitter + 1))));
}

std::string RestartStrategy::Granted(Duration delay) const {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count();
  return "restart " + std::to_string(restarts_) + " in " + std::to_string(ms) + " ms";
}

std::string RestartStrategy::GaveUp() const {
  return "gave up after " + std::to_string(restarts_) + " restarts (" + Bound() + ")";
}

std::string RestartStrategy::Bound() const {
  std::string text(RestartKindName(settings_.kind));
  switch (settings_.kind) {
    case RestartKind::kNone: break;
    case RestartKind::kFixedDelay:
    case RestartKind::kExponentialDelay: text += ": attempts-max is " + std::to_string(settings_.attempts_max); break;
    case RestartKind::kFailureRate:
      text += ": failures-max is " + std::to_string(settings_.failures_max) + " within " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(settings_.failures_interval).count()) +
              " s";
      break;
  }
  return text;
}

}  // namespace weir::jobs
