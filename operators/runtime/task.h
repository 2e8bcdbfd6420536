// One subtask of one vertex: a chain of operators with a source or an input gate in front and a sink or channels
// behind. Here a barrier becomes a snapshot and goes on. An Executor calls Step, which never waits; everybody else
// talks to the task through its one mailbox (Participant, ReaderPort), from any thread.
//
// End of input: the task finishes its operators, passes EndOfInput on and stays. It still answers every checkpoint,
// with `finished` set: a source when triggered, and it passes the barrier on; any other task when the first barrier of
// the checkpoint arrives through one of its ended channels. So channels stay open until the job ends.
//
// Life: made by the job runner, stepped until the executor's Stop; destroyed after the snapshot worker has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/mailbox.h"
#include "checkpoint/participant.h"
#include "operators/metrics.h"
#include "operators/runtime/enumerator_host.h"
#include "operators/runtime/executor.h"
#include "operators/runtime/input_gate.h"
#include "operators/runtime/operator_chain.h"
#include "operators/runtime/output_writer.h"
#include "operators/runtime/source_head.h"
#include "state/subtask_state.h"

namespace weir::operators {

struct TaskOptions {
  SubtaskId id;
  std::string name;  // of the vertex, for messages: "orders -> filter"
  std::string job;
  UniqueId attempt;
  uint32_t parallelism = 1;
  uint32_t key_groups = 128;

  // The chain: exactly one of source and gate; any number of operators; a sink or edges that read the last output.
  ChainedSource source = {};             // reader null: none
  std::vector<GateChannel> inputs = {};  // empty: a source task
  std::vector<ChainedOperator> operators = {};
  ChainedSink sink = {};  // writer null: none
  std::vector<OutputEdge> outputs = {};

  std::unique_ptr<state::SubtaskState> state = nullptr;  // restored; null only if nothing in the chain keeps state
  FileSystem* file_system = nullptr;
  std::string output_folder = {};  // for a sink's segments
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;  // for readers and writers
  Worker* snapshots = nullptr;       // writes what Freeze returned; several tasks may share one
  checkpoint::Acknowledger* acknowledger = nullptr;
  Wakeup* wakeup = nullptr;  // of the task's slot
  // While true a task with a sink reads nothing (checkpoint-protocol, S8). Who clears it wakes the task.
  const std::atomic<bool>* sinks_held = nullptr;
  uint32_t batches_per_step = 16;  // the simulator takes 1
};

class Task final : public Runnable, public checkpoint::Participant, public ReaderPort {
 public:
  explicit Task(TaskOptions options);
  ~Task() override;

  // Executor. kFinished after a failure, which the acknowledger has heard.
  StepResult Step() override;
  std::optional<MonotonicTime> NextDeadline() const override;

  // Participant: any thread.
  void TriggerCheckpoint(const checkpoint::CheckpointBarrier& barrier) override;
  void NotifyCheckpointApplied(CheckpointId id) override;
  void NotifyCheckpointAborted(CheckpointId id) override;
  void NotifyCheckpointDurable(CheckpointId id) override;
  // ReaderPort: any thread.
  void AddSplits(std::vector<SourceSplit> splits) override;
  void NoMoreSplits() override;
  void HandleSourceEvent(std::string event) override;
  void AcknowledgeSourceEvents(uint64_t through) override;

  SubtaskId id() const { return options_.id; }
  const std::string& name() const { return options_.name; }
  bool is_source() const { return source_ != nullptr; }
  const SubtaskMetrics& metrics() const { return metrics_; }  // any thread

 private:
  enum class State : uint8_t {
    kOpening,  // nothing is open yet
    kRunning,  // reads and processes
    kBarrier,  // a barrier has come; the sink or an unwritten snapshot may hold up the cut; no row is read meanwhile
    kEnded,    // the input's end has been passed on; answers checkpoints
    kStopped,  // a source behind a barrier that said stop; reads again if that checkpoint is aborted
    kFailed,
  };
  struct Trigger {
    checkpoint::CheckpointBarrier barrier;
  };
  struct Durable {
    CheckpointId id;
  };
  struct Applied {
    CheckpointId id;
  };
  struct Aborted {
    CheckpointId id;
  };
  struct NewSplits {
    std::vector<SourceSplit> splits;
  };
  struct LastSplits {};
  struct EnumeratorEvent {
    std::string text;
  };
  struct EventsHandled {
    uint64_t through;
  };
  struct Written {
    std::optional<CheckpointId> checkpoint;
    Result<state::SubtaskStateHandle> outcome;
  };
  using Command =
      std::variant<Trigger, Durable, Applied, Aborted, NewSplits, LastSplits, EnumeratorEvent, EventsHandled, Written>;
  struct Sealed {
    CheckpointId checkpoint;
    checkpoint::Committable committable;
  };

  struct Unacknowledged {
    CheckpointId checkpoint;
    checkpoint::SubtaskSnapshot snapshot;
  };

  Result<StepResult> TryStep();
  Status Open();
  Status TakeCommands();
  Status Handle(Trigger command);
  Status Handle(Durable command);
  Status Handle(Applied command);
  Status Handle(Aborted command);
  Status Handle(NewSplits command);
  Status Handle(LastSplits command);
  Status Handle(EnumeratorEvent command);
  Status Handle(EventsHandled command);
  Status Handle(Written command);

  Result<StepResult> Run();
  // False: must not take a row now.
  Result<bool> MayRead();
  // One batch or control element; kIdle if there is none.
  Result<StepResult> ReadSource();
  Result<StepResult> ReadGate();
  Result<StepResult> Idle();
  // Reads nothing; sends what is kept.
  Result<StepResult> Rest();
  Status PassWatermark(Watermark watermark, bool gates_only);
  void ShowEventTimes(const Batch& batch);
  void ShowAppliedWatermark(uint64_t number);
  void StartBarrier(const checkpoint::CheckpointBarrier& barrier);
  Status ReachEnd();
  Result<StepResult> CutWhenReady();
  Status Cut(const checkpoint::CheckpointBarrier& barrier);
  void Submit(std::optional<CheckpointId> checkpoint);
  void Acknowledge(CheckpointId id, Result<checkpoint::SubtaskSnapshot> snapshot);
  void Fail(const Status& cause);

  // Set once.
  TaskOptions options_;
  const std::shared_ptr<Mailbox<Command>> mailbox_;  // also held by the snapshot worker's jobs
  SubtaskMetrics metrics_;

  // The task's thread only.
  State state_ = State::kOpening;
  OutputWriter outputs_;
  std::unique_ptr<OperatorChain> chain_;
  std::unique_ptr<SourceHead> source_;
  std::unique_ptr<InputGate> gate_;
  std::optional<checkpoint::CheckpointBarrier> barrier_;  // to be cut
  State after_barrier_ = State::kRunning;                 // where kBarrier leads to
  std::optional<CheckpointId> stopped_by_;
  uint64_t last_cut_ = 0;      // number of the newest barrier that was cut
  uint64_t last_aborted_ = 0;  // number of the newest checkpoint that was aborted
  bool finish_reported_ = false;
  bool unflushed_ = false;                             // something was read since the last Flush
  bool blocked_ = false;                               // the last step was
  std::deque<Sealed> sealed_;                          // committables whose checkpoint is not durable, oldest first
  std::map<uint64_t, Unacknowledged> unacknowledged_;  // by number: their state is being written
  EventTime watermark_ = EventTime::Min();             // the last that the chain has seen
  std::map<uint64_t, EventTime> cut_watermarks_;       // with a sink: at the cut of each number that is not applied

  // In metrics_, in seconds since 1970; the names' uids are of the chain's head, its source, its sink.
  std::atomic<double>* watermark_seconds_ = nullptr;
  std::atomic<double>* event_time_seconds_ = nullptr;         // null: no source
  std::atomic<double>* applied_watermark_seconds_ = nullptr;  // null: no sink
};

}  // namespace weir::operators
