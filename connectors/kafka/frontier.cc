#include "connectors/kafka/frontier.h"

#include <algorithm>
#include <string>

#include "connectors/format/hlc.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

// Entries of the histogram: above the second number they are joined until the first or less are left.
constexpr size_t kEntriesWanted = 2048;
constexpr size_t kEntriesMax = 4096;
// Joined entries of the histogram are at most this part of a step, at first.
constexpr uint64_t kPartOfStep = 8;

}  // namespace

void JoinNeighbours(std::vector<RowsUpTo>& histogram, uint64_t rows) {
  size_t kept = 0;
  for (size_t i = 1; i < histogram.size(); ++i) {
    RowsUpTo& before = histogram[kept];
    if (before.rows + histogram[i].rows <= rows) {
      before = {histogram[i].last, before.rows + histogram[i].rows, before.bytes + histogram[i].bytes};
    } else {
      histogram[++kept] = histogram[i];
    }
  }
  if (!histogram.empty()) histogram.resize(kept + 1);
}

Frontier::Frontier(FrontierBounds bounds, EventTime announced, std::vector<RowsUpTo> waiting)
    : bounds_(bounds), announced_(announced) {
  AddRows(waiting);
}

void Frontier::Ensure(const TopicPartition& partition, MonotonicTime now) {
  partitions_.try_emplace(partition, Partition{EventTime::Min(), now});
}

void Frontier::Advance(const TopicPartition& partition, EventTime watermark, MonotonicTime now) {
  const auto found = partitions_.find(partition);
  if (found == partitions_.end() || watermark <= found->second.watermark) return;
  found->second = {watermark, now};
}

void Frontier::Retire(const TopicPartition& partition) { partitions_.erase(partition); }

void Frontier::AddRows(std::span<const RowsUpTo> rows) {
  for (const RowsUpTo& each : rows) {
    if (each.last <= announced_ || each.rows == 0) continue;
    Amount& amount = waiting_[each.last];
    amount.rows += each.rows;
    amount.bytes += each.bytes;
    rows_ += each.rows;
    bytes_ += each.bytes;
  }
  if (waiting_.size() > kEntriesMax) Coarsen();
}

void Frontier::Coarsen() {
  std::vector<RowsUpTo> entries = Waiting();
  for (uint64_t joined = std::max<uint64_t>(1, bounds_.release_rows_max / kPartOfStep); entries.size() > kEntriesWanted;
       joined *= 2) {
    JoinNeighbours(entries, joined);
  }
  waiting_.clear();
  for (const RowsUpTo& each : entries) waiting_.emplace_hint(waiting_.end(), each.last, Amount{each.rows, each.bytes});
}

EventTime Frontier::proposed() const {
  if (partitions_.empty()) return EventTime::Min();
  EventTime minimum = EventTime::Max();
  for (const auto& [name, partition] : partitions_) minimum = std::min(minimum, partition.watermark);
  return minimum;
}

std::optional<EventTime> Frontier::NextStep(EventTime limit) {
  EventTime target = std::min(limit, proposed());
  if (announced_ < bounds_.last) target = std::min(target, bounds_.last);
  if (target <= announced_) return std::nullopt;
  Amount freed;
  auto end = waiting_.begin();
  for (; end != waiting_.end() && end->first <= target; ++end) {
    if (freed.rows > 0 && freed.rows + end->second.rows > bounds_.release_rows_max) {
      target = std::prev(end)->first;
      break;
    }
    freed.rows += end->second.rows;
    freed.bytes += end->second.bytes;
  }
  waiting_.erase(waiting_.begin(), end);
  rows_ -= freed.rows;
  bytes_ -= freed.bytes;
  announced_ = target;
  return target;
}

std::set<TopicPartition> Frontier::Paused() {
  if (bytes_ > bounds_.waiting_bytes_max) too_much_ = true;
  if (bytes_ <= bounds_.waiting_bytes_max / 4 * 3) too_much_ = false;
  std::set<TopicPartition> paused;
  if (!too_much_) return paused;
  for (const auto& [name, partition] : partitions_) {
    if (partition.watermark > announced_ && partition.watermark != EventTime::Max()) paused.insert(name);
  }
  return paused;
}

Status Frontier::CheckLimit(MonotonicTime now) const {
  if (bytes_ <= bounds_.waiting_bytes_limit || proposed() > announced_ || partitions_.empty()) return {};
  const auto holder = std::ranges::min_element(
      partitions_, {}, [](const auto& each) { return std::pair(each.second.watermark, each.second.since); });
  std::string message = "partition " + holder->first.ToString() + " holds the frontier back: ";
  if (holder->second.watermark == EventTime::Min()) {
    message += "it has had no resolved timestamp";
  } else {
    message += "its watermark is ";
    AppendHlc(holder->second.watermark, message);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - holder->second.since).count();
  message += ", unchanged for " + std::to_string(seconds) + " s; " + std::to_string(bytes_) + " bytes in " +
             std::to_string(rows_) + " rows wait above the frontier, more than frontier.waiting-bytes-limit (" +
             std::to_string(bounds_.waiting_bytes_limit) + ")";
  return Status::ResourceExhausted(std::move(message));
}

std::vector<RowsUpTo> Frontier::Waiting() const {
  std::vector<RowsUpTo> entries;
  entries.reserve(waiting_.size());
  for (const auto& [last, amount] : waiting_) entries.push_back({last, amount.rows, amount.bytes});
  return entries;
}

}  // namespace weir::connectors
