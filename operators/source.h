// The contract of a source connector's author (Flink's FLIP-27): an enumerator that finds and assigns splits, readers
// that read them. The enumerator runs on the control thread beside the coordinator, a reader on its task's thread.
// Neither waits: what blocks goes to a Worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "operators/batch.h"
#include "operators/metrics.h"
#include "operators/output.h"

namespace weir::operators {

// A part of the source that one reader reads on its own, e.g. a topic's partition.
struct SourceSplit {
  std::string id;  // unique in the source, e.g. "orders-3"
  std::string
      position;  // where to go on: JSON, e.g. {"offset":42,"watermark":"1700.0000000000"}; kept as operator state
  friend bool operator==(const SourceSplit&, const SourceSplit&) = default;
};

enum class PollStatus : uint8_t {
  kMore,      // call again at once
  kIdle,      // nothing now; the context's wakeup will call
  kFinished,  // all assigned splits are read to their end and no more will come
};

// What a reader emits: rows of a split in their order, and that split's watermark.
class SourceOutput : public Output {
 public:
  // Watermarks of a split rise; the runtime emits the minimum over the reader's splits. A split that was added and has
  // none yet holds the reader's watermark back.
  virtual void EmitWatermark(const std::string& split_id, Watermark watermark) = 0;
};

struct ReaderContext {
  std::string uid;
  uint32_t subtask = 0;
  uint32_t parallelism = 1;
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;  // wakes this reader's task
  SubtaskMetrics* metrics = nullptr;
  // To the enumerator's HandleEvent, through its mailbox; the text is the source's own JSON.
  std::function<void(std::string event)> send_event;
};

class SourceReader {
 public:
  virtual ~SourceReader() = default;
  virtual Status Open(ReaderContext& context) = 0;
  virtual Status AddSplits(std::vector<SourceSplit> splits) = 0;
  // After this, a reader without unread splits is finished.
  virtual void NoMoreSplits() = 0;
  // One bounded slice (at most one batch). Never waits.
  virtual Result<PollStatus> PollNext(SourceOutput& output) = 0;
  // The assigned splits with the positions behind all rows emitted so far.
  virtual std::vector<SourceSplit> SnapshotState(CheckpointId checkpoint) = 0;
  // May acknowledge upstream the positions that `checkpoint`'s SnapshotState returned, not the current ones; after a
  // restore of `checkpoint` these are the positions of AddSplits.
  virtual Status NotifyCheckpointApplied(CheckpointId checkpoint) = 0;
  virtual Status HandleEvent(const std::string& event);  // from the enumerator
  // When PollNext has to be called though nobody wakes the task; asked after kIdle. Nothing: no such time.
  virtual std::optional<MonotonicTime> NextDeadline() const { return std::nullopt; }
};

struct EnumeratorContext {
  std::string uid;
  uint32_t parallelism = 1;
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;         // makes the control thread call Step
  NamedMetrics* metrics = nullptr;  // null: nobody looks
  std::function<void(uint32_t subtask, std::vector<SourceSplit> splits)> assign_splits;
  std::function<void(uint32_t subtask)> no_more_splits;
  std::function<void(uint32_t subtask, std::string event)> send_event;
};

class SplitEnumerator {
 public:
  virtual ~SplitEnumerator() = default;
  // `restored`: what SnapshotState returned at the restored checkpoint. `splits`: every split that readers held there,
  // at its position; the enumerator assigns them again. A split that is in both counts once, at the reader's position.
  // A first start (neither) fixes concrete positions before its first SnapshotState succeeds.
  virtual Status Start(EnumeratorContext context, std::optional<std::string> restored,
                       std::vector<SourceSplit> splits) = 0;
  // Called after Start, when woken and at least each second: discovery, results of workers, assignments.
  virtual Status Step() = 0;
  virtual Status HandleEvent(uint32_t subtask, const std::string& event);
  // False until positions of a first start are concrete: no checkpoint is taken before.
  virtual bool ready() const = 0;
  // Which splits are known and, of the unassigned ones, where they begin. JSON or text of the source's own.
  virtual Result<std::string> SnapshotState(CheckpointId checkpoint) = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual Result<std::unique_ptr<SplitEnumerator>> CreateEnumerator() = 0;
  virtual Result<std::unique_ptr<SourceReader>> CreateReader() = 0;
  virtual bool bounded() const = 0;
  // Whether the source as it is defined now can go on from `enumerator`, which SnapshotState returned: a refusal here
  // leaves everything as it is. kFailedPrecondition says what must be changed.
  virtual Status CheckRestored(const std::string& enumerator) const;
};

}  // namespace weir::operators
