// Runs a SplitEnumerator on the control lane and stands between it and the readers' tasks. It makes three things true
// that an enumerator's author need not think of (checkpoint-protocol, E):
//  - after a restore the enumerator starts with every split that any reader held, each once, at the reader's position,
//    whatever the parallelism was and is; a split whose reader had reached its end is never read again;
//  - an event of a reader counts exactly once: it stays in the reader's state until a snapshot of the enumerator holds
//    its effect, and is repeated after a restore from a state that still has it;
//  - a split assigned between the enumerator's snapshot and the reader's barrier is in both and counts once.
// Order that the coordinator keeps: SnapshotState of every host, then the triggers of the source tasks; both travel to
// a task through its one mailbox.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mailbox.h"
#include "operators/runtime/executor.h"
#include "operators/source.h"

namespace weir::operators {

// What a task has found in its restored state about its source.
struct RestoredReader {
  struct Split {
    SourceSplit split;
    bool finished = false;
  };
  std::vector<Split> splits;
  std::map<std::string, std::string> events;  // not acknowledged: name, unique in the job's source -> the event
};

// The reader's side of the host; a Task implements it by posting to its mailbox. Any thread.
class ReaderPort {
 public:
  virtual ~ReaderPort() = default;
  virtual void AddSplits(std::vector<SourceSplit> splits) = 0;
  virtual void NoMoreSplits() = 0;
  virtual void HandleSourceEvent(std::string event) = 0;
  // A snapshot of the enumerator holds the effect of all events up to this number.
  virtual void AcknowledgeSourceEvents(uint64_t through) = 0;
};

struct EnumeratorHostOptions {
  std::string uid;
  uint32_t parallelism = 1;
  std::unique_ptr<SplitEnumerator> enumerator;
  std::optional<std::string> restored;  // what SnapshotState returned at the restored checkpoint
  std::vector<SourceSplit> assigned;  // by a first checkpoint: the enumerator had handed them out, no reader holds them
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;                      // of the host's own slot
  NamedMetrics* metrics = nullptr;               // null: nobody looks
  std::function<void(Status cause)> on_failure;  // once; the host steps no more
  Duration step_interval = std::chrono::seconds(1);
};

class EnumeratorHost final : public Runnable {
 public:
  explicit EnumeratorHost(EnumeratorHostOptions options);
  ~EnumeratorHost() override;

  // Before the first Step: reader i is subtask i's. They outlive the host.
  void SetReaders(std::vector<ReaderPort*> readers);

  // Any thread, from tasks: first, once a subtask (the enumerator starts when all have called); then events, numbered
  // from 1 in each subtask.
  void ReaderRestored(uint32_t subtask, RestoredReader restored);
  void PostReaderEvent(uint32_t subtask, uint64_t number, std::string event);

  // Control lane.
  StepResult Step() override;
  std::optional<MonotonicTime> NextDeadline() const override;
  // False: no checkpoint may be taken yet.
  bool ready() const;
  // The enumerator's state with what the host knows besides; handles waiting events first.
  Result<std::string> SnapshotState(CheckpointId checkpoint);

 private:
  struct Restored {
    uint32_t subtask;
    RestoredReader reader;
  };
  struct Event {
    uint32_t subtask;
    uint64_t number;
    std::string text;
  };
  using Message = std::variant<Restored, Event>;

  Status HandleMessages();
  Status HandleEvent(const Event& event);
  Status Merge(RestoredReader reader);
  Status Start();
  Status TryStep();
  void Fail(Status cause);
  void Assign(uint32_t subtask, std::vector<SourceSplit> splits);
  EnumeratorContext MakeContext();

  EnumeratorHostOptions options_;
  std::vector<ReaderPort*> readers_;
  Mailbox<Message> mailbox_;

  // Control lane only.
  bool started_ = false;
  bool failed_ = false;
  uint32_t reported_ = 0;
  std::map<std::string, SourceSplit> splits_;           // of all readers; until the start
  std::map<std::string, std::string> events_;           // restored ones; until the start
  std::map<std::string, std::string> finished_splits_;  // id -> position; never read again
  std::vector<uint64_t> handled_;                       // by subtask: number of the newest handled event
  std::vector<uint64_t> acknowledged_;                  // by subtask
  std::vector<Event> early_;                            // came before the start
  std::set<uint32_t> assigned_;                         // subtasks that have been given splits, or none
  bool told_without_splits_ = false;
  std::optional<MonotonicTime> next_step_;
};

// What EnumeratorHost::SnapshotState wrote, taken apart: for `weir state show` and tests.
struct EnumeratorSnapshot {
  std::string enumerator;
  std::map<std::string, std::string> finished_splits;
};
std::string EncodeEnumeratorSnapshot(const EnumeratorSnapshot& snapshot);
Result<EnumeratorSnapshot> DecodeEnumeratorSnapshot(std::string_view bytes);

}  // namespace weir::operators
