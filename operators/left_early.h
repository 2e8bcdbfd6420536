// What has left `sequence` above the watermark: for each key and time a stub, by which a row that comes again is known
// until the watermark has passed it. Keyed state beside the rows that wait, restored and rescaled with them. The task's
// thread; emits nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/operator.h"
#include "operators/time_queue.h"

namespace weir::operators {

class LeftEarly {
 public:
  Status Open(const OperatorContext& context);
  void NothingUpTo(state::HashRange range, EventTime time) { stubs_.NothingUpTo(range, time); }
  // To be called before each cut.
  Status Store();

  // False: nothing has left above the watermark.
  bool any() const { return newest_ != EventTime::Min(); }

  // Where the stub of a key and time lies; its bytes are in `arena`.
  state::EntryKey PlaceOf(EventTime time, const RowKey& key, Arena& arena) const;
  // For speed: one read for all.
  Status Prefetch(std::span<const state::EntryKey> places) { return stubs_.Prefetch(places); }

  enum class Found : uint8_t {
    kNothing,  // of this key and time
    kOther,    // something, which is not this row
    kSame,     // this row, or all that it says
  };
  // Whether this row has left; to be followed by Note, if it leaves.
  Result<Found> Look(const state::EntryKey& place, RowKind kind, const Schema& schema, std::span<const Value> values);
  // The row of the last Look leaves. `in_parts`: it may be several rows that have become one, any of which may come
  // again.
  Status Note(const state::EntryKey& place, EventTime time, RowKind kind, bool in_parts);
  // The watermark has passed.
  Status Forget(EventTime upto);

 private:
  void Print(RowKind kind, const Schema& schema, std::span<const Value> values);
  bool Holds(uint64_t print) const;

  std::string uid_;
  state::SubtaskState* state_ = nullptr;
  TimeQueue stubs_;
  EventTime newest_;  // no stub is later
  // Of the last Look.
  std::string stub_;
  uint64_t row_print_ = 0;
  std::vector<uint64_t> column_prints_;
  std::string scratch_;
};

}  // namespace weir::operators
