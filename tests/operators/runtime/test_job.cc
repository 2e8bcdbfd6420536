#include "tests/operators/runtime/test_job.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::operators {

using checkpoint::AfterBarrier;
using checkpoint::CheckpointBarrier;
using checkpoint::SubtaskSnapshot;

bool TestCheckpoint::AllFinished() const {
  return std::all_of(subtasks.begin(), subtasks.end(), [](const auto& each) { return each.second.finished; });
}

TestJob::TestJob(Executor& executor, const Clock& clock, WorkerFactory& workers, TestStateStorage& storage,
                 std::vector<TestVertex> vertices, TestJobOptions options, const TestCheckpoint* restored)
    : executor_(executor), clock_(clock), workers_(workers), storage_(storage), options_(options) {
  snapshots_ = workers_.NewWorker("snapshots");
  if (restored != nullptr) last_number_ = restored->barrier.id.number;
  Build(vertices, restored);
}

TestJob::~TestJob() { snapshots_.reset(); }

std::unique_ptr<TestState> TestJob::MakeState(uint32_t vertex, uint32_t subtask, uint32_t parallelism,
                                              const TestCheckpoint* restored) {
  auto state = std::make_unique<TestState>(storage_);
  state->set_flush_after(options_.flush_after_puts);
  if (restored == nullptr) return state;
  std::vector<state::SubtaskStateHandle> handles;
  for (const auto& [id, snapshot] : restored->subtasks) {
    if (id.vertex == vertex) handles.push_back(snapshot.state);
  }
  state->Restore(handles, state::RangeOf(subtask, parallelism, state::kDefaultKeyGroups));
  return state;
}

// Slots come first: channels need the wakeups of both ends.
void TestJob::Build(const std::vector<TestVertex>& vertices, const TestCheckpoint* restored) {
  for (uint32_t v = 0; v < vertices.size(); ++v) {
    for (uint32_t i = 0; i < vertices[v].parallelism; ++i) {
      plan_[{v, i}].slot = &executor_.AddSlot(i);
      plan_[{v, i}].options.id = {v, i};
    }
  }
  for (uint32_t v = 0; v < vertices.size(); ++v) {
    for (const TestVertex::Input& input : vertices[v].inputs) Connect(vertices, v, input);
  }
  std::map<std::string, Executor::Slot*> host_slots;
  for (uint32_t v = 0; v < vertices.size(); ++v) {
    const TestVertex& vertex = vertices[v];
    EnumeratorHost* host = nullptr;
    if (vertex.is_source()) {
      host_slots[vertex.name] = &executor_.AddSlot(Executor::kControlLane);
      host = &AddHost(v, vertex, host_slots[vertex.name]->wakeup(), restored);
    }
    std::vector<ReaderPort*> readers;
    for (uint32_t i = 0; i < vertex.parallelism; ++i) readers.push_back(&AddTask({v, i}, vertex, host, restored));
    if (host != nullptr) host->SetReaders(std::move(readers));
  }
  Executor::Slot& control = executor_.AddSlot(Executor::kControlLane);
  control_ = &control.wakeup();
  for (const auto& [name, host] : hosts_) host_slots[name]->Run(*host);
  for (const auto& [id, task] : tasks_) plan_[id].slot->Run(*task);
  control.Run(*this);
}

void TestJob::Connect(const std::vector<TestVertex>& vertices, uint32_t consumer, const TestVertex::Input& input) {
  const auto from = static_cast<uint32_t>(input.from);
  for (uint32_t i = 0; i < vertices[from].parallelism; ++i) {
    Planned& producer = plan_[{from, i}];
    OutputEdge edge{vertices[from].name, input.tag, input.partitioning, {}};
    for (uint32_t j = 0; j < vertices[consumer].parallelism; ++j) {
      if (input.partitioning == Partitioning::kForward && i != j) continue;
      Planned& target = plan_[{consumer, j}];
      channels_.push_back(std::make_unique<Channel>(options_.channel, producer.slot->wakeup(), target.slot->wakeup()));
      edge.channels.push_back(channels_.back().get());
      target.options.inputs.push_back({channels_.back().get(), input.input});
    }
    producer.options.outputs.push_back(std::move(edge));
  }
}

EnumeratorHost& TestJob::AddHost(uint32_t vertex, const TestVertex& of, Wakeup& wakeup,
                                 const TestCheckpoint* restored) {
  EnumeratorHostOptions options;
  options.uid = of.name;
  options.parallelism = of.parallelism;
  options.enumerator = of.connector != nullptr ? std::move(*of.connector->CreateEnumerator())
                                               : std::make_unique<CountingEnumerator>(*of.source);
  if (restored != nullptr) options.restored = restored->enumerators.at(of.name);
  options.clock = &clock_;
  options.workers = &workers_;
  options.wakeup = &wakeup;
  options.on_failure = [this, vertex](const Status& cause) { TaskFailed({vertex, UINT32_MAX}, cause); };
  return *(hosts_[of.name] = std::make_unique<EnumeratorHost>(std::move(options)));
}

Task& TestJob::AddTask(SubtaskId id, const TestVertex& vertex, EnumeratorHost* host, const TestCheckpoint* restored) {
  TaskOptions task = std::move(plan_[id].options);
  task.name = vertex.name;
  task.job = "test";
  task.parallelism = vertex.parallelism;
  if (host != nullptr) {
    task.source = {vertex.name,
                   vertex.connector != nullptr ? std::move(*vertex.connector->CreateReader())
                                               : std::make_unique<CountingReader>(*vertex.source),
                   host};
  }
  if (vertex.operators) {
    int number = 0;
    for (auto& each : vertex.operators()) {
      task.operators.push_back({vertex.name + "-" + std::to_string(number++), std::move(each)});
    }
  }
  if (vertex.sink != nullptr) task.sink = {vertex.name, std::make_unique<CollectingWriter>(vertex.sink)};
  if (vertex.stateful || host != nullptr) {
    auto state = MakeState(id.vertex, id.index, vertex.parallelism, restored);
    states_[id] = state.get();
    task.state = std::move(state);
  }
  task.clock = &clock_;
  task.workers = &workers_;
  task.snapshots = snapshots_.get();
  task.acknowledger = this;
  task.wakeup = &plan_[id].slot->wakeup();
  task.batches_per_step = options_.batches_per_step;
  return *(tasks_[id] = std::make_unique<Task>(std::move(task)));
}

void TestJob::RequestCheckpoint(AfterBarrier then) {
  {
    std::lock_guard lock(mutex_);
    requested_ = then;
  }
  control_->Wake();
}

void TestJob::RequestAbort() {
  {
    std::lock_guard lock(mutex_);
    abort_requested_ = true;
  }
  control_->Wake();
}

StepResult TestJob::Step() {
  std::optional<AfterBarrier> then;
  bool abort = false;
  bool waits = false;
  {
    std::lock_guard lock(mutex_);
    abort = std::exchange(abort_requested_, false) && pending_.has_value();
    const bool ready = std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host.second->ready(); });
    if (requested_.has_value() && ready && (!pending_.has_value() || abort)) {
      then = std::exchange(requested_, std::nullopt);
    }
    waits = requested_.has_value() && !pending_.has_value();
  }
  if (abort) Abort();
  if (then.has_value()) Trigger(*then);
  return waits ? StepResult::kProgress : StepResult::kIdle;  // a real coordinator asks again at its next deadline
}

void TestJob::Abort() {
  CheckpointId id;
  {
    std::lock_guard lock(mutex_);
    if (!pending_.has_value()) return;
    id = pending_->barrier.id;
    pending_.reset();
  }
  for (const auto& [subtask, task] : tasks_) task->NotifyCheckpointAborted(id);
}

void TestJob::Trigger(AfterBarrier then) {
  TestCheckpoint checkpoint;
  {
    std::lock_guard lock(mutex_);
    checkpoint.barrier = {{++last_number_, {1, last_number_}}, then};
  }
  for (const auto& [name, host] : hosts_) {
    Result<std::string> snapshot = host->SnapshotState(checkpoint.barrier.id);
    WEIR_CHECK(snapshot.has_value());
    checkpoint.enumerators[name] = std::move(*snapshot);
  }
  {
    std::lock_guard lock(mutex_);
    pending_ = checkpoint;
  }
  for (const auto& [id, task] : tasks_) {
    if (task->is_source()) task->TriggerCheckpoint(checkpoint.barrier);
  }
}

void TestJob::Acknowledge(SubtaskId subtask, CheckpointId id, Result<SubtaskSnapshot> snapshot) {
  bool failed = false;
  {
    std::lock_guard lock(mutex_);
    if (!pending_.has_value() || pending_->barrier.id != id) return;
    if (!snapshot.has_value()) {
      failed = true;
    } else {
      WEIR_CHECK(pending_->subtasks.emplace(subtask, std::move(*snapshot)).second);
      if (pending_->subtasks.size() < tasks_.size()) return;
      complete_.push_back(*std::exchange(pending_, std::nullopt));
    }
  }
  if (failed) {
    Abort();
    return;
  }
  for (const auto& [each, task] : tasks_) task->NotifyCheckpointDurable(id);
  for (const auto& [each, task] : tasks_) task->NotifyCheckpointApplied(id);
  control_->Wake();
}

void TestJob::TaskFailed(SubtaskId, Status cause) {
  std::lock_guard lock(mutex_);
  failures_.push_back(std::move(cause));
}

void TestJob::TaskFinished(SubtaskId) {
  std::lock_guard lock(mutex_);
  ++finished_;
}

void TestJob::InputEnded(SubtaskId) {
  std::lock_guard lock(mutex_);
  ++inputs_ended_;
}

std::optional<TestCheckpoint> TestJob::Newest() const {
  std::lock_guard lock(mutex_);
  if (complete_.empty()) return std::nullopt;
  return complete_.back();
}

size_t TestJob::completed() const {
  std::lock_guard lock(mutex_);
  return complete_.size();
}

std::vector<Status> TestJob::failures() const {
  std::lock_guard lock(mutex_);
  return failures_;
}

bool TestJob::pending() const {
  std::lock_guard lock(mutex_);
  return pending_.has_value() || requested_.has_value();
}

size_t TestJob::inputs_ended() const {
  std::lock_guard lock(mutex_);
  return inputs_ended_;
}

bool TestJob::committed_twice() const {
  std::lock_guard lock(mutex_);
  std::set<std::string> seen;
  for (const TestCheckpoint& each : complete_) {
    for (const auto& [id, snapshot] : each.subtasks) {
      for (const auto& committable : snapshot.committables) {
        if (!seen.insert(committable.payload).second) return true;
      }
    }
  }
  return false;
}

Rows TestJob::Committed(SinkWorld& world) const {
  std::lock_guard lock(mutex_);
  std::lock_guard world_lock(world.mutex);
  Rows rows;
  for (const TestCheckpoint& each : complete_) {
    for (const auto& [id, snapshot] : each.subtasks) {
      for (const auto& committable : snapshot.committables) {
        const Rows& piece = world.sealed.at(committable.payload);
        rows.insert(rows.end(), piece.begin(), piece.end());
      }
    }
  }
  return rows;
}

}  // namespace weir::operators
