#include "connectors/kafka/changefeed_window.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "connectors/format/hlc.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

constexpr Duration kBackwardsWarningInterval = std::chrono::minutes(1);

void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

std::string HlcText(EventTime time) {
  std::string text;
  AppendHlc(time, text);
  return text;
}

}  // namespace

void ChangefeedWindow::Open(const operators::ReaderContext& context) {
  context_ = context;
  if (!options_.is_changefeed) return;
  outside_ = &context_.metrics->named.Counter(context_.uid, "rows_outside");
  stale_ = &context_.metrics->named.Counter(context_.uid, "rows_stale");
  backwards_ = &context_.metrics->named.Counter(context_.uid, "resolved_backwards");
}

void ChangefeedWindow::BeginSplit(KafkaSplit& split) {
  if (!options_.is_changefeed) return;
  split_ = &split;
  const auto [found, fresh] = progresses_.try_emplace(&split);
  progress_ = &found->second;
  if (fresh) progress_->watermark = split.watermark;
}

bool ChangefeedWindow::AdmitRows(EventTime time, RowClock clock) {
  // The record's timestamp is when a row was written, not when it changed.
  if (clock != RowClock::kChangefeed) return true;
  WEIR_CHECK(progress_ != nullptr);
  const bool behind = options_.max_timestamp && time >= *options_.max_timestamp;
  if (behind) split_->until = std::min(split_->until.value_or(*options_.max_timestamp), *options_.max_timestamp);
  if (behind || (options_.min_timestamp && time < *options_.min_timestamp)) {
    Count(*outside_);
    return false;
  }
  if (options_.drop_stale && time <= progress_->watermark) {
    Count(*stale_);
    return false;
  }
  return true;
}

void ChangefeedWindow::SeeWatermark(EventTime time) {
  WEIR_CHECK(progress_ != nullptr);
  if (time < progress_->watermark) {
    Count(*backwards_);
    Warn(time.Next());
    return;
  }
  progress_->watermark = time;
  progress_->ended = options_.max_timestamp && time.Next() >= *options_.max_timestamp;
}

void ChangefeedWindow::Warn(EventTime resolved) {
  const MonotonicTime now = context_.clock->Now();
  if (warned_ && now - *warned_ < kBackwardsWarningInterval) return;
  warned_ = now;
  LogWarning("source " + context_.uid + ": topic " + split_->partition.topic + " partition " +
             std::to_string(split_->partition.partition) + ": a resolved message of " + HlcText(resolved) +
             " came after one of " + HlcText(progress_->watermark.Next()) + " and was left out");
}

}  // namespace weir::connectors
