// The source at the head of a chain: a reader, its splits' watermarks, and what of it lies in operator state. Used by
// Task alone, on its thread.
//
// Operator state under the source's uid, written at every cut:
//   "split:<split id>"             position, as the reader gave it
//   "finished:<split id>"          the same, of a reader that has come to its end
//   "event:<subtask>-<number>"     an event to the enumerator that no snapshot of it holds yet
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/runtime/enumerator_host.h"
#include "operators/source.h"
#include "state/subtask_state.h"

namespace weir::operators {

// How the names of the splits' entries begin.
inline constexpr std::string_view kSplitPrefix = "split:";
inline constexpr std::string_view kFinishedPrefix = "finished:";

struct ChainedSource {
  std::string uid;
  std::unique_ptr<SourceReader> reader;
  EnumeratorHost* enumerator = nullptr;  // outlives the task
};

class SourceHead {
 public:
  // Where the reader's rows go: into the chain, or to a side output.
  struct Emitters {
    std::function<Status(Batch batch)> main;
    std::function<Status(std::string_view tag, Batch batch)> side;
    std::function<bool(std::string_view tag)> has_side;
  };
  SourceHead(ChainedSource source, Emitters emit);
  ~SourceHead();

  // Gives what `state` holds of this source to the enumerator and takes it out of `state`.
  Status Open(ReaderContext context, state::SubtaskState& state);
  Status AddSplits(std::vector<SourceSplit> splits);
  void NoMoreSplits() { source_.reader->NoMoreSplits(); }
  Status HandleEvent(const std::string& event) { return source_.reader->HandleEvent(event); }
  void AcknowledgeEvents(uint64_t through);

  Result<PollStatus> Poll();
  // The minimum over the splits, when it has risen since the last call. The greatest time, once, says that nobody need
  // wait for this reader now: it has no splits, and the enumerator has said so.
  struct Risen {
    Watermark watermark;
    bool gates_only = false;  // as in GateElement
  };
  std::optional<Risen> TakeWatermark();

  // Writes splits and events into the state; returns the offsets for people: a JSON object, split id -> position.
  Result<std::string> SnapshotState(CheckpointId checkpoint);
  Status NotifyCheckpointApplied(CheckpointId checkpoint);
  // When Poll has to be called though nobody wakes the task.
  std::optional<MonotonicTime> NextDeadline() const { return source_.reader->NextDeadline(); }
  const std::string& uid() const { return source_.uid; }

 private:
  class SplitOutput;
  void SendEvent(std::string event);
  Status Restore();

  ChainedSource source_;
  std::unique_ptr<SplitOutput> output_;
  state::SubtaskState* state_ = nullptr;
  uint32_t subtask_ = 0;
  bool finished_ = false;
  std::map<std::string, EventTime> watermarks_;  // by split
  bool assignment_known_ = false;                // AddSplits was called, be it with none
  bool watermark_changed_ = false;
  bool idle_ = false;
  EventTime emitted_ = EventTime::Min();
  std::map<std::string, std::string> written_;  // entries in state as last written
  uint64_t last_event_ = 0;
  std::map<uint64_t, std::string> events_;        // sent, not acknowledged
  std::optional<CheckpointId> restored_applied_;  // told before the first cut: tell again after AddSplits
  bool cut_ = false;                              // this attempt has cut a snapshot
};

}  // namespace weir::operators
