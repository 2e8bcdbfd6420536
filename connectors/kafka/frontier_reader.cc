#include "connectors/kafka/frontier_reader.h"

#include <algorithm>
#include <utility>

namespace weir::connectors {
namespace {

using operators::EventTime;

// Reports lie in the reader's memory until a checkpoint has them, so they are few and short.
constexpr Duration kReportInterval = std::chrono::milliseconds(100);
constexpr uint64_t kReportEntries = 32;
// However fast the reading is, no more than that is read before the enumerator may pause it.
constexpr uint64_t kReportBytes = uint64_t{4} << 20;
// Rows are counted by source time in buckets of 2^20 ns, about a millisecond.
constexpr int kBucketBits = 20;

}  // namespace

Status FrontierReader::HandleEvent(const std::string& event) {
  WEIR_ASSIGN_OR_RETURN(FrontierCommand command, ParseFrontierCommand(event));
  epoch_ = command.epoch;
  if (command.announce) announced_.push_back(*command.announce);
  if (command.paused) paused_ = std::move(*command.paused);
  return {};
}

void FrontierReader::CountRows(const operators::Batch& batch) {
  for (size_t i = 0; i < batch.rows(); ++i) {
    const EventTime time = batch.time(i);
    const int64_t bucket = time.wall_ns >> kBucketBits;
    if (bucket != bucket_ || counted_ == nullptr) {
      if (bucket < 0) continue;  // no source time: such a row waits for nothing
      bucket_ = bucket;
      counted_ = &rows_[bucket];
    }
    counted_->last = std::max(counted_->last, time);
    ++counted_->rows;
  }
}

void FrontierReader::Rise(const TopicPartition& partition, EventTime watermark) {
  if (watermark.wall_ns >= 0) next_.watermarks[partition] = watermark;
}

std::optional<EventTime> FrontierReader::TakeAnnounced() {
  if (announced_.empty()) return std::nullopt;
  emitted_ = announced_.front();
  announced_.pop_front();
  next_.emitted = emitted_;
  return emitted_;
}

std::vector<RowsUpTo> FrontierReader::TakeRows() {
  uint64_t total = 0;
  for (const auto& [bucket, counted] : rows_) total += counted.rows;
  std::vector<RowsUpTo> rows;
  rows.reserve(rows_.size());
  for (const auto& [bucket, counted] : rows_) {
    const double share = static_cast<double>(counted.rows) / static_cast<double>(total);
    rows.push_back({counted.last, counted.rows, static_cast<uint64_t>(static_cast<double>(bytes_) * share)});
  }
  for (uint64_t joined = total / kReportEntries; rows.size() > kReportEntries; joined *= 2) {
    JoinNeighbours(rows, std::max<uint64_t>(joined, 2));
  }
  rows_.clear();
  counted_ = nullptr;
  bytes_ = 0;
  return rows;
}

std::optional<std::string> FrontierReader::TakeReport(MonotonicTime now, bool all) {
  if (epoch_ == 0 || (next_.empty() && rows_.empty())) return std::nullopt;
  const bool due = next_.emitted.has_value() || bytes_ >= kReportBytes || now - last_report_ >= kReportInterval;
  if (!all && !due) return std::nullopt;
  last_report_ = now;
  next_.epoch = epoch_;
  next_.rows = TakeRows();
  return WriteFrontierReport(std::exchange(next_, {}));
}

std::optional<MonotonicTime> FrontierReader::NextReport() const {
  if (epoch_ == 0 || (next_.empty() && rows_.empty())) return std::nullopt;
  return last_report_ + kReportInterval;
}

}  // namespace weir::connectors
