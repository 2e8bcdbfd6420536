// A reader's side of the frontier: what it has read goes to the enumerator in reports, and what the enumerator
// announces is emitted as the watermark of every split, one announcement a poll, so that all readers emit the same
// sequence. The watermarks of the splits themselves are not emitted. The task's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/frontier_event.h"
#include "operators/batch.h"
#include "operators/event_time.h"

namespace weir::connectors {

class FrontierReader {
 public:
  // From the enumerator. `paused()` may have changed.
  Status HandleEvent(const std::string& event);
  const std::set<TopicPartition>& paused() const { return paused_; }

  // Read, not reported yet. The bytes of a poll, which its rows share.
  void CountRows(const operators::Batch& batch);
  void CountBytes(uint64_t bytes) { bytes_ += bytes; }
  void Rise(const TopicPartition& partition, operators::EventTime watermark);

  // The next announcement, which the caller emits at once. Nothing: none waits.
  std::optional<operators::EventTime> TakeAnnounced();
  bool announced() const { return !announced_.empty(); }
  // The newest that was taken; Min: none.
  operators::EventTime emitted() const { return emitted_; }

  // What is to be told now: an announcement that was emitted and much that was read at once, the rest a few times a
  // second. `all`: now, in front of a barrier, so that reports and positions are one cut.
  std::optional<std::string> TakeReport(MonotonicTime now, bool all);
  // When TakeReport has something, unless more comes.
  std::optional<MonotonicTime> NextReport() const;

 private:
  struct Counted {
    operators::EventTime last;
    uint64_t rows = 0;
  };
  std::vector<RowsUpTo> TakeRows();

  FrontierEpoch epoch_ = 0;  // 0: the enumerator has not spoken
  std::deque<operators::EventTime> announced_;
  operators::EventTime emitted_;
  std::set<TopicPartition> paused_;

  FrontierReport next_;
  std::map<int64_t, Counted> rows_;  // by source time, coarsely
  int64_t bucket_ = -1;              // in rows_, of the newest row; -1: none
  Counted* counted_ = nullptr;       // its entry
  uint64_t bytes_ = 0;
  MonotonicTime last_report_;
};

}  // namespace weir::connectors
