// What waits until a time has come, in keyed state: entries of one state of kind "map" that are put at a time and leave
// in order of time. Part of every snapshot, restored and rescaled with their keys. Task's thread; knows no clock and no
// watermark: the caller says how far time has come.
//
// An entry lies in the part of the space of hashes that its key's hash is in, under the part's first hash and
//
//   namespace = time: 8 bytes of nanoseconds with the sign bit turned, 4 bytes of the logical part | key | suffix
//
// so that what is due in one part is one run of the state, and what has left is never looked at again. Parts are finer
// than any subtask's range can ever become (PartsOf): a part moves as a whole. Keys come from key_by: none is the
// beginning of another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/operator.h"
#include "state/subtask_state.h"

namespace weir::operators {

class TimeQueue {
 public:
  // Key groups, doubled up to 1024 as long as that goes: the border of a key group is a border of parts also after the
  // groups were doubled or halved (decisions/0017).
  static uint32_t PartsOf(uint32_t key_groups);

  // `codec` names the values' bytes; the number of parts is recorded with it, so that another one is refused.
  Status Open(const OperatorContext& context, std::string_view name, std::string_view codec);
  // For speed, after Open: nothing that waits in `range` has a time at or before `time`.
  void NothingUpTo(state::HashRange range, EventTime time);

  // Where an entry lies; its bytes are in `arena`.
  state::EntryKey PlaceOf(EventTime time, const RowKey& key, std::string_view suffix, Arena& arena) const;
  // For speed: one read for all.
  Status Prefetch(std::span<const state::EntryKey> places) { return state_->Prefetch(id_, places); }
  // The view is valid until the next call.
  Result<std::optional<std::string_view>> Get(const state::EntryKey& place) { return state_->Get(id_, place); }
  Status Put(const state::EntryKey& place, std::string_view value);
  Status Remove(const state::EntryKey& place) { return state_->Delete(id_, place); }

  struct Due {
    EventTime time;
    std::string_view key_and_suffix;
    std::string_view value;
  };
  // Takes out all that waits for a time at or before `upto`, in order of time, then key, then suffix. The visitor may
  // put what waits for a later time. Memory is bounded however much is due. `enough`, if given, says so of an entry:
  // that one stays, with all behind it.
  Status TakeUpTo(EventTime upto, std::move_only_function<Status(const Due& due)> visit,
                  std::move_only_function<bool(const Due& due)> enough = {});
  // All entries. Reads all of them.
  Result<uint64_t> Count();

 private:
  struct Chunk;

  size_t PartAt(uint32_t hash) const;
  Status Fill(Chunk& chunk, EventTime upto, size_t bytes_max);

  state::SubtaskState* state_ = nullptr;
  state::StateId id_;
  uint32_t parts_ = 0;
  uint32_t first_part_ = 0;
  std::vector<EventTime> earliest_;  // of each part of the subtask's range: nothing waits there for a time before
};

}  // namespace weir::operators
