#include "connectors/kafka/frontier_host.h"

#include <algorithm>

#include "base/log.h"
#include "connectors/format/hlc.h"
#include "connectors/kafka/gauge.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

FrontierBounds BoundsOf(const KafkaFrontierOptions& options) {
  return {options.release_rows_max, options.waiting_bytes_max, options.waiting_bytes_limit, options.last};
}

}  // namespace

FrontierHost::FrontierHost(const KafkaFrontierOptions& options, bool looks, const operators::EnumeratorContext& context,
                           const FrontierState& restored)
    : context_(context),
      epoch_(restored.epoch + 1),
      frontier_(BoundsOf(options), restored.announced, restored.rows),
      looked_(looks ? EventTime::Min() : EventTime::Max()),
      looking_(looked_) {
  if (operators::NamedMetrics* const metrics = context_.metrics) {
    const std::string& uid = context_.uid;
    gauges_.emplace(Gauges{metrics->Gauge(uid, "frontier_seconds"), metrics->Gauge(uid, "frontier_proposed_seconds"),
                           metrics->Gauge(uid, "waiting_rows"), metrics->Gauge(uid, "waiting_bytes"),
                           metrics->Gauge(uid, "partitions_paused")});
  }
  if (frontier_.announced() == EventTime::Min()) {
    Send({.epoch = epoch_});
  } else {
    Announce(frontier_.announced());
  }
  ShowMetrics();
}

void FrontierHost::Send(const FrontierCommand& command) {
  const std::string text = WriteFrontierCommand(command);
  for (uint32_t reader = 0; reader < context_.parallelism; ++reader) context_.send_event(reader, text);
}

void FrontierHost::Announce(EventTime time) {
  for (uint32_t reader = 0; reader < context_.parallelism; ++reader) awaited_.insert(reader);
  Send({.epoch = epoch_, .announce = time});
}

void FrontierHost::Ensure(const std::vector<KafkaSplit>& splits) {
  const MonotonicTime now = context_.clock->Now();
  for (const KafkaSplit& split : splits) {
    frontier_.Ensure(split.partition, now);
    frontier_.Advance(split.partition, split.finished() ? EventTime::Max() : split.watermark, now);
  }
  Update();
}

void FrontierHost::NoMoreSplits() {
  if (frontier_.empty()) Announce(EventTime::Max());
}

Status FrontierHost::HandleEvent(uint32_t subtask, const std::string& event) {
  WEIR_ASSIGN_OR_RETURN(const FrontierReport report, ParseFrontierReport(event));
  // Of an earlier epoch only the rows are news: the splits' positions hold the watermarks, also those that were changed
  // by hand since.
  frontier_.AddRows(report.rows);
  if (report.epoch == epoch_) {
    const MonotonicTime now = context_.clock->Now();
    for (const auto& [partition, watermark] : report.watermarks) frontier_.Advance(partition, watermark, now);
    if (report.emitted == frontier_.announced()) awaited_.erase(subtask);
  }
  Update();
  return report.epoch == epoch_ ? frontier_.CheckLimit(context_.clock->Now()) : Status::Ok();
}

bool FrontierHost::WantsLook() const { return frontier_.proposed() > looking_; }

void FrontierHost::LookBegins() { looking_ = std::max(looking_, frontier_.proposed()); }

void FrontierHost::LookEnds(bool seen) {
  if (seen) {
    looked_ = looking_;
  } else {
    looking_ = looked_;
  }
  Update();
}

void FrontierHost::Update() {
  if (awaited_.empty()) {
    if (const std::optional<EventTime> step = frontier_.NextStep(looked_)) Announce(*step);
  }
  std::set<TopicPartition> paused = frontier_.Paused();
  if (paused != paused_) {
    if (paused.empty() != paused_.empty()) {
      LogInfo("source " + context_.uid + ": " + std::to_string(frontier_.waiting_bytes()) +
              " bytes wait above the frontier; partitions ahead of it are " +
              (paused.empty() ? "read again" : "paused"));
    }
    paused_ = std::move(paused);
    Send({.epoch = epoch_, .paused = paused_});
  }
  ShowMetrics();
}

void FrontierHost::ShowMetrics() {
  if (!gauges_) return;
  const auto show = [](std::atomic<double>& gauge, EventTime time) {
    if (time == EventTime::Min() || time == EventTime::Max()) return;
    gauge.store(GaugeSeconds(time.wall_ns), std::memory_order_relaxed);
  };
  show(gauges_->announced, frontier_.announced());
  show(gauges_->proposed, frontier_.proposed());
  gauges_->waiting_rows.store(static_cast<double>(frontier_.waiting_rows()), std::memory_order_relaxed);
  gauges_->waiting_bytes.store(static_cast<double>(frontier_.waiting_bytes()), std::memory_order_relaxed);
  gauges_->paused.store(static_cast<double>(paused_.size()), std::memory_order_relaxed);
}

std::string FrontierHost::SnapshotState() const {
  return WriteFrontierState({.epoch = epoch_, .announced = frontier_.announced(), .rows = frontier_.Waiting()});
}

}  // namespace weir::connectors
