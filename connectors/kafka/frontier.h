// The frontier of a changefeed that is spread over partitions: the time up to which no partition can bring another row,
// the minimum of the watermarks of all partitions that are known. It is announced in steps, so that no step frees much
// more rows than a bound. Also which partitions have to wait meanwhile, so that what is read above the frontier is
// bounded. What it says and why it is right after a restore: docs/decisions/0016.
//
// Pure: no thread, no clock, no Kafka. FrontierHost (frontier_host.h) uses it on the control thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "connectors/kafka/client.h"
#include "operators/event_time.h"

namespace weir::connectors {

// Rows that were read: so many, the newest of this source time. A list of them, by time, is a histogram.
struct RowsUpTo {
  operators::EventTime last;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  friend bool operator==(const RowsUpTo&, const RowsUpTo&) = default;
};

// Joins neighbours in a list sorted by time while both together have at most `rows` rows, so that it gets shorter and
// what it says gets coarser. Rows count as newer than they are by that, never as older.
void JoinNeighbours(std::vector<RowsUpTo>& histogram, uint64_t rows);

struct FrontierBounds {
  uint64_t release_rows_max = 0;     // rows that a step frees, about
  uint64_t waiting_bytes_max = 0;    // above it, partitions ahead of the frontier wait
  uint64_t waiting_bytes_limit = 0;  // above it, all is over
  // No row that is read is later. All that is left of the way to the greatest time is the end: it is a step of its own,
  // so that those who keep times of the source have had this one.
  operators::EventTime last = operators::EventTime::Max();
};

class Frontier {
 public:
  // `announced` and `waiting` as an earlier one told them.
  explicit Frontier(FrontierBounds bounds, operators::EventTime announced = {}, std::vector<RowsUpTo> waiting = {});

  // A partition that holds the frontier back until it has a watermark. No effect on one that is known.
  void Ensure(const TopicPartition& partition, MonotonicTime now);
  // The partition brings no further row up to `watermark`; Max: none at all. A smaller one than before, and one of a
  // partition that isn't known, change nothing.
  void Advance(const TopicPartition& partition, operators::EventTime watermark, MonotonicTime now);
  void Retire(const TopicPartition& partition);
  // Rows that were read. Those up to what is announced don't wait. Sorted by time.
  void AddRows(std::span<const RowsUpTo> rows);

  // The minimum over the partitions; Min: one has no watermark, or none is known.
  operators::EventTime proposed() const;
  // The next step towards the smaller of `limit` and proposed(), from now on announced. Nothing: there is none.
  std::optional<operators::EventTime> NextStep(operators::EventTime limit);
  operators::EventTime announced() const { return announced_; }

  // Which partitions are to wait: none, or, once too much waits and until it is a quarter less, those whose watermark
  // is above what is announced. So none waits that the next step needs.
  std::set<TopicPartition> Paused();
  // ResourceExhausted, naming the partition that holds the frontier back, once more waits than may and no step could
  // free any of it.
  Status CheckLimit(MonotonicTime now) const;

  // Rows above what is announced; coarse, never too few.
  uint64_t waiting_rows() const { return rows_; }
  uint64_t waiting_bytes() const { return bytes_; }
  std::vector<RowsUpTo> Waiting() const;
  bool empty() const { return partitions_.empty(); }

 private:
  struct Partition {
    operators::EventTime watermark;
    MonotonicTime since;  // when it rose last
  };
  struct Amount {
    uint64_t rows = 0;
    uint64_t bytes = 0;
  };
  void Coarsen();

  const FrontierBounds bounds_;
  operators::EventTime announced_;
  std::map<TopicPartition, Partition> partitions_;
  std::map<operators::EventTime, Amount> waiting_;  // by RowsUpTo::last
  uint64_t rows_ = 0;                               // sums over waiting_
  uint64_t bytes_ = 0;
  bool too_much_ = false;  // waits
};

}  // namespace weir::connectors
