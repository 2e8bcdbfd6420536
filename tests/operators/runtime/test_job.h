// A job for tests of the engine, wired as the job runner wires one: channels between the subtasks of vertices, tasks,
// enumerator hosts and a small coordinator on an executor. Checkpoints are kept in memory; a job can be made from one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operators/runtime/task.h"
#include "tests/operators/runtime/test_pieces.h"
#include "tests/operators/runtime/test_state.h"

namespace weir::operators {

struct TestVertex {
  struct Input {
    size_t from = 0;  // index of a vertex that stands before this one
    Partitioning partitioning = Partitioning::kForward;
    int input = 0;
    std::string tag = {};
  };
  std::string name;  // also the uid of its source, its sink and, with "-<n>", of its operators
  uint32_t parallelism = 1;
  std::optional<CountingOptions> source = {};
  std::vector<Input> inputs = {};
  std::function<std::vector<std::unique_ptr<Operator>>()> operators = {};
  std::shared_ptr<SinkWorld> sink = {};
  bool stateful = false;
  Source* connector = nullptr;  // a source of another kind than `source`
  bool is_source() const { return source.has_value() || connector != nullptr; }
};

struct TestCheckpoint {
  checkpoint::CheckpointBarrier barrier;
  std::map<SubtaskId, checkpoint::SubtaskSnapshot> subtasks;
  std::map<std::string, std::string> enumerators;

  bool AllFinished() const;
};

struct TestJobOptions {
  ChannelOptions channel = {};
  uint32_t batches_per_step = 16;
  size_t flush_after_puts = 0;
};

class TestJob final : public checkpoint::Acknowledger, public Runnable {
 public:
  // `restored`: null for a first start. All references outlive the job; the executor is stopped before it goes.
  TestJob(Executor& executor, const Clock& clock, WorkerFactory& workers, TestStateStorage& storage,
          std::vector<TestVertex> vertices, TestJobOptions options, const TestCheckpoint* restored);
  ~TestJob() override;

  // Any thread. The next checkpoint as soon as the enumerators are ready; when it is complete, every task hears that it
  // is durable and applied.
  void RequestCheckpoint(checkpoint::AfterBarrier then);
  void RequestAbort();                           // of the pending one
  std::optional<TestCheckpoint> Newest() const;  // complete
  size_t completed() const;
  std::vector<Status> failures() const;
  bool pending() const;
  size_t inputs_ended() const;
  Task& task(SubtaskId id) { return *tasks_.at(id); }
  TestState& state(SubtaskId id) { return *states_.at(id); }
  // Rows of all committables of complete checkpoints, each piece once.
  Rows Committed(SinkWorld& world) const;
  // A committable was in two complete checkpoints.
  bool committed_twice() const;

  StepResult Step() override;  // control lane

  void Acknowledge(SubtaskId subtask, CheckpointId id, Result<checkpoint::SubtaskSnapshot> snapshot) override;
  void TaskFailed(SubtaskId subtask, Status cause) override;
  void TaskFinished(SubtaskId subtask) override;
  void InputEnded(SubtaskId subtask) override;

 private:
  struct Planned {
    Executor::Slot* slot = nullptr;
    TaskOptions options;
  };
  void Build(const std::vector<TestVertex>& vertices, const TestCheckpoint* restored);
  void Connect(const std::vector<TestVertex>& vertices, uint32_t consumer, const TestVertex::Input& input);
  EnumeratorHost& AddHost(uint32_t vertex, const TestVertex& of, Wakeup& wakeup, const TestCheckpoint* restored);
  Task& AddTask(SubtaskId id, const TestVertex& vertex, EnumeratorHost* host, const TestCheckpoint* restored);
  std::unique_ptr<TestState> MakeState(uint32_t vertex, uint32_t subtask, uint32_t parallelism,
                                       const TestCheckpoint* restored);
  void Trigger(checkpoint::AfterBarrier then);
  void Abort();

  Executor& executor_;
  const Clock& clock_;
  WorkerFactory& workers_;
  TestStateStorage& storage_;
  const TestJobOptions options_;
  std::unique_ptr<Worker> snapshots_;
  std::map<SubtaskId, Planned> plan_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::map<std::string, std::unique_ptr<EnumeratorHost>> hosts_;
  std::map<SubtaskId, std::unique_ptr<Task>> tasks_;
  std::map<SubtaskId, TestState*> states_;
  Wakeup* control_ = nullptr;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<checkpoint::AfterBarrier> requested_;
  bool abort_requested_ = false;
  uint64_t last_number_ = 0;
  std::optional<TestCheckpoint> pending_;
  std::vector<TestCheckpoint> complete_;
  std::vector<Status> failures_;
  size_t inputs_ended_ = 0;
  size_t finished_ = 0;
};

}  // namespace weir::operators
