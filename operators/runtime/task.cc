// How a barrier passes a task:
//   1. it comes: a source is triggered, any other task gets it from its gate when it is aligned (StartBarrier);
//   2. it waits in kBarrier until the sink has sealed or delivered its rows and no earlier snapshot is unwritten;
//   3. the cut (Cut), all in one step: the sink's committables, the operators' and the reader's own state into keyed
//      and operator state, the live table frozen, the barrier into every output;
//   4. rows flow on while the snapshot worker writes the frozen table; its result comes back as a command;
//   5. the acknowledgement goes to the coordinator. What was sealed stays here until a checkpoint that lists it is
//      durable, so that an aborted checkpoint loses no output.
#include "operators/runtime/task.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace weir::operators {

using checkpoint::AfterBarrier;
using checkpoint::CheckpointBarrier;
using checkpoint::SubtaskSnapshot;

namespace {

// The least and the greatest time are none.
void ShowSeconds(std::atomic<double>& gauge, EventTime time) {
  if (time.wall_ns == EventTime::Min().wall_ns || time.wall_ns == EventTime::Max().wall_ns) return;
  gauge.store(static_cast<double>(time.wall_ns) / 1e9, std::memory_order_relaxed);
}

}  // namespace

Task::Task(TaskOptions options)
    : options_(std::move(options)),
      mailbox_(std::make_shared<Mailbox<Command>>(*options_.wakeup)),
      outputs_(std::move(options_.outputs), options_.key_groups) {
  WEIR_CHECK(options_.clock != nullptr);
  WEIR_CHECK(options_.acknowledger != nullptr);
  WEIR_CHECK((options_.source.reader != nullptr) == options_.inputs.empty());
  WEIR_CHECK(options_.state == nullptr || options_.snapshots != nullptr);
  const std::string& head = options_.source.reader != nullptr ? options_.source.uid
                            : options_.operators.empty()      ? options_.sink.uid
                                                              : options_.operators.front().uid;
  watermark_seconds_ = &metrics_.named.Gauge(head, "watermark_seconds");
  if (options_.sink.writer != nullptr) {
    applied_watermark_seconds_ = &metrics_.named.Gauge(options_.sink.uid, "applied_watermark_seconds");
  }
  chain_ = std::make_unique<OperatorChain>(std::move(options_.operators), std::move(options_.sink), outputs_);
  if (!options_.inputs.empty()) {
    gate_ = std::make_unique<InputGate>(std::move(options_.inputs));
    return;
  }
  WEIR_CHECK(options_.state != nullptr);  // splits are operator state
  event_time_seconds_ = &metrics_.named.Gauge(options_.source.uid, "event_time_seconds");
  SourceHead::Emitters emit;
  emit.main = [this](Batch batch) {
    metrics_.rows_in.fetch_add(batch.rows(), std::memory_order_relaxed);
    ShowEventTimes(batch);
    return chain_->ProcessBatch(0, std::move(batch));
  };
  emit.side = [this, uid = options_.source.uid](std::string_view tag, const Batch& batch) {
    outputs_.WriteSide(uid, tag, batch);
    return Status::Ok();
  };
  emit.has_side = [this, uid = options_.source.uid](std::string_view tag) { return outputs_.HasSide(uid, tag); };
  source_ = std::make_unique<SourceHead>(std::move(options_.source), std::move(emit));
}

Task::~Task() = default;

void Task::TriggerCheckpoint(const CheckpointBarrier& barrier) { mailbox_->Post(Trigger{barrier}); }
void Task::NotifyCheckpointApplied(CheckpointId id) { mailbox_->Post(Applied{id}); }
void Task::NotifyCheckpointAborted(CheckpointId id) { mailbox_->Post(Aborted{id}); }
void Task::NotifyCheckpointDurable(CheckpointId id) { mailbox_->Post(Durable{id}); }
void Task::AddSplits(std::vector<SourceSplit> splits) { mailbox_->Post(NewSplits{std::move(splits)}); }
void Task::NoMoreSplits() { mailbox_->Post(LastSplits{}); }
void Task::HandleSourceEvent(std::string event) { mailbox_->Post(EnumeratorEvent{std::move(event)}); }
void Task::AcknowledgeSourceEvents(uint64_t through) { mailbox_->Post(EventsHandled{through}); }

StepResult Task::Step() {
  if (state_ == State::kFailed) return StepResult::kFinished;
  const Result<StepResult> result = TryStep();
  if (!result.has_value()) {
    Fail(result.error());
    return StepResult::kFinished;
  }
  blocked_ = *result == StepResult::kBlocked;
  if (blocked_) metrics_.blocked.fetch_add(1, std::memory_order_relaxed);
  return *result;
}

// What blocks the task wakes it.
std::optional<MonotonicTime> Task::NextDeadline() const {
  if (state_ != State::kRunning) return std::nullopt;
  std::optional<MonotonicTime> next = source_ != nullptr ? source_->NextDeadline() : std::nullopt;
  const std::optional<MonotonicTime> chain = blocked_ ? std::nullopt : chain_->NextDeadline();
  if (chain.has_value()) next = std::min(next.value_or(*chain), *chain);
  return next;
}

Result<StepResult> Task::TryStep() {
  if (state_ == State::kOpening) {
    WEIR_RETURN_IF_ERROR(Open());
    state_ = State::kRunning;
  }
  WEIR_RETURN_IF_ERROR(TakeCommands());
  switch (state_) {
    case State::kRunning:
    case State::kEnded: return Run();
    case State::kBarrier: return CutWhenReady();
    case State::kStopped: return Rest();
    case State::kOpening:
    case State::kFailed: break;
  }
  WEIR_CHECK(false);
  return StepResult::kFinished;
}

Status Task::Open() {
  OperatorContext context;
  context.subtask = options_.id.index;
  context.parallelism = options_.parallelism;
  context.key_groups = options_.key_groups;
  context.state = options_.state.get();
  context.clock = options_.clock;
  context.metrics = &metrics_;
  WriterContext writer;
  writer.job = options_.job;
  writer.subtask = options_.id.index;
  writer.parallelism = options_.parallelism;
  writer.attempt = options_.attempt;
  writer.file_system = options_.file_system;
  writer.output_folder = options_.output_folder;
  writer.segment_stem = options_.attempt.ToString() + "-" + std::to_string(options_.id.vertex) + "-" +
                        std::to_string(options_.id.index) + "-";
  writer.clock = options_.clock;
  writer.workers = options_.workers;
  writer.wakeup = options_.wakeup;
  writer.metrics = &metrics_;
  WEIR_RETURN_IF_ERROR(chain_->Open(context, std::move(writer)));
  if (!is_source()) return Status::Ok();
  ReaderContext reader;
  reader.subtask = options_.id.index;
  reader.parallelism = options_.parallelism;
  reader.clock = options_.clock;
  reader.workers = options_.workers;
  reader.wakeup = options_.wakeup;
  reader.metrics = &metrics_;
  return source_->Open(std::move(reader), *options_.state);
}

Status Task::TakeCommands() {
  while (std::optional<Command> command = mailbox_->Take()) {
    WEIR_RETURN_IF_ERROR(std::visit([this](auto& each) { return Handle(std::move(each)); }, *command));
  }
  return Status::Ok();
}

Status Task::Handle(Trigger command) {
  WEIR_CHECK(is_source());
  const CheckpointBarrier& barrier = command.barrier;
  if (barrier.id.number <= last_aborted_) return Status::Ok();
  WEIR_CHECK_GT(barrier.id.number, last_cut_);
  if (state_ == State::kBarrier) {
    barrier_ = barrier;  // the one before was given up
    return Status::Ok();
  }
  StartBarrier(barrier);
  return Status::Ok();
}

Status Task::Handle(Durable command) {
  while (!sealed_.empty() && sealed_.front().checkpoint.number <= command.id.number) sealed_.pop_front();
  return Status::Ok();
}

Status Task::Handle(Applied command) {
  ShowAppliedWatermark(command.id.number);
  WEIR_RETURN_IF_ERROR(chain_->NotifyCheckpointApplied(command.id));
  return is_source() ? source_->NotifyCheckpointApplied(command.id) : Status::Ok();
}

Status Task::Handle(Aborted command) {
  const uint64_t number = command.id.number;
  last_aborted_ = std::max(last_aborted_, number);
  if (gate_ != nullptr) gate_->Abort(command.id);
  if (options_.state != nullptr && number <= last_cut_) options_.state->CheckpointAborted(command.id);
  if (barrier_.has_value() && barrier_->id.number <= number) {
    barrier_.reset();
    if (state_ == State::kBarrier) state_ = after_barrier_;
  }
  if (stopped_by_.has_value() && stopped_by_->number <= number) {
    stopped_by_.reset();
    if (state_ == State::kStopped) state_ = State::kRunning;
    if (state_ == State::kBarrier && after_barrier_ == State::kStopped) after_barrier_ = State::kRunning;
  }
  return Status::Ok();
}

Status Task::Handle(NewSplits command) { return source_->AddSplits(std::move(command.splits)); }

Status Task::Handle(LastSplits) {
  source_->NoMoreSplits();
  return Status::Ok();
}

Status Task::Handle(EnumeratorEvent command) { return source_->HandleEvent(command.text); }

Status Task::Handle(EventsHandled command) {
  source_->AcknowledgeEvents(command.through);
  return Status::Ok();
}

Status Task::Handle(Written command) {
  const Status outcome = command.outcome.has_value() ? Status::Ok() : command.outcome.error();
  options_.state->SnapshotWritten(outcome);
  // Rows would fill the memory if a full table could not be written in mid-interval: unlike a checkpoint, that is not
  // something to try again at the next one.
  if (!command.checkpoint.has_value()) return outcome.WithContext("state can't be written");
  auto waiting = unacknowledged_.extract(command.checkpoint->number);
  WEIR_CHECK(!waiting.empty());
  if (!outcome.ok()) {
    Acknowledge(*command.checkpoint, Error(outcome));
    return Status::Ok();
  }
  SubtaskSnapshot snapshot = std::move(waiting.mapped().snapshot);
  snapshot.state = *std::move(command.outcome);
  Acknowledge(*command.checkpoint, std::move(snapshot));
  return Status::Ok();
}

Result<StepResult> Task::Run() {
  for (uint32_t i = 0; i < options_.batches_per_step; ++i) {
    WEIR_ASSIGN_OR_RETURN(const bool may_read, MayRead());
    if (!may_read) return StepResult::kBlocked;
    WEIR_ASSIGN_OR_RETURN(const bool continued, chain_->Continue());
    unflushed_ = unflushed_ || continued;
    if (continued) continue;
    StepResult read = StepResult::kIdle;
    if (gate_ != nullptr) {
      WEIR_ASSIGN_OR_RETURN(read, ReadGate());
    } else if (state_ == State::kRunning) {
      WEIR_ASSIGN_OR_RETURN(read, ReadSource());
    }
    if (read == StepResult::kIdle) return Idle();
    if (state_ != State::kRunning) return StepResult::kProgress;
  }
  return StepResult::kProgress;
}

Result<bool> Task::MayRead() {
  WEIR_ASSIGN_OR_RETURN(const bool room, chain_->HasRoom());
  if (!room) return false;
  if (chain_->has_sink() && options_.sinks_held != nullptr && options_.sinks_held->load()) return false;
  state::SubtaskState* state = options_.state.get();
  if (state == nullptr) return true;
  if (!state->snapshot_pending() && state->NeedsFlush()) Submit(std::nullopt);
  return !state->blocked();
}

Result<StepResult> Task::ReadSource() {
  WEIR_ASSIGN_OR_RETURN(const PollStatus polled, source_->Poll());
  unflushed_ = true;
  if (const std::optional<SourceHead::Risen> risen = source_->TakeWatermark()) {
    WEIR_RETURN_IF_ERROR(PassWatermark(risen->watermark, risen->gates_only));
  }
  switch (polled) {
    case PollStatus::kMore: return StepResult::kProgress;
    case PollStatus::kIdle: return StepResult::kIdle;
    case PollStatus::kFinished: break;
  }
  WEIR_RETURN_IF_ERROR(ReachEnd());
  options_.acknowledger->InputEnded(options_.id);
  return StepResult::kProgress;
}

Result<StepResult> Task::ReadGate() {
  std::optional<GateElement> read = gate_->Poll();
  if (!read.has_value()) return StepResult::kIdle;
  unflushed_ = true;
  if (auto* batch = std::get_if<Batch>(&read->element)) {
    metrics_.rows_in.fetch_add(batch->rows(), std::memory_order_relaxed);
    WEIR_RETURN_IF_ERROR(chain_->ProcessBatch(read->input, std::move(*batch)));
  } else if (const auto* watermark = std::get_if<Watermark>(&read->element)) {
    WEIR_RETURN_IF_ERROR(PassWatermark(*watermark, read->gates_only));
  } else if (const auto* barrier = std::get_if<CheckpointBarrier>(&read->element)) {
    if (barrier->id.number > last_aborted_) StartBarrier(*barrier);
  } else {
    WEIR_RETURN_IF_ERROR(ReachEnd());
  }
  return StepResult::kProgress;
}

Result<StepResult> Task::Rest() {
  WEIR_ASSIGN_OR_RETURN(const bool room, chain_->HasRoom());
  if (!room) return StepResult::kBlocked;
  return Idle();
}

Result<StepResult> Task::Idle() {
  if (!std::exchange(unflushed_, false)) return StepResult::kIdle;
  WEIR_RETURN_IF_ERROR(chain_->Flush());
  return StepResult::kIdle;
}

Status Task::PassWatermark(Watermark watermark, bool gates_only) {
  if (gates_only) {
    outputs_.WriteControl(watermark);
    return Status::Ok();
  }
  watermark_ = watermark.time;
  ShowSeconds(*watermark_seconds_, watermark_);
  return chain_->ProcessWatermark(watermark);
}

void Task::ShowEventTimes(const Batch& batch) {
  EventTime newest = EventTime::Min();
  for (size_t i = 0; i < batch.rows(); ++i) newest = std::max(newest, batch.time(i));
  ShowSeconds(*event_time_seconds_, newest);
}

void Task::ShowAppliedWatermark(uint64_t number) {
  const auto end = cut_watermarks_.upper_bound(number);
  if (end == cut_watermarks_.begin()) return;
  ShowSeconds(*applied_watermark_seconds_, std::prev(end)->second);
  cut_watermarks_.erase(cut_watermarks_.begin(), end);
}

void Task::StartBarrier(const CheckpointBarrier& barrier) {
  WEIR_CHECK(!barrier_.has_value());
  barrier_ = barrier;
  after_barrier_ = state_;
  state_ = State::kBarrier;
}

Status Task::ReachEnd() {
  state_ = State::kEnded;
  // A gate has given the greatest watermark before the end.
  if (is_source()) WEIR_RETURN_IF_ERROR(chain_->ProcessWatermark({EventTime::Max()}));
  WEIR_RETURN_IF_ERROR(chain_->Finish());
  outputs_.WriteControl(EndOfInput{});
  return Status::Ok();
}

Result<StepResult> Task::CutWhenReady() {
  WEIR_CHECK(barrier_.has_value());
  if (is_source() && barrier_->then == AfterBarrier::kDrain && after_barrier_ == State::kRunning) {
    WEIR_RETURN_IF_ERROR(ReachEnd());
    after_barrier_ = std::exchange(state_, State::kBarrier);
  }
  outputs_.HasRoom();
  if (options_.state != nullptr && options_.state->snapshot_pending()) return StepResult::kBlocked;
  WEIR_ASSIGN_OR_RETURN(const bool ready, chain_->ReadyForBarrier());
  if (!ready) return StepResult::kBlocked;
  const CheckpointBarrier barrier = *std::exchange(barrier_, std::nullopt);
  WEIR_RETURN_IF_ERROR(Cut(barrier));
  state_ = after_barrier_;
  if (is_source() && barrier.then != AfterBarrier::kGoOn && state_ == State::kRunning) {
    stopped_by_ = barrier.id;
    state_ = State::kStopped;
  }
  return StepResult::kProgress;
}

Status Task::Cut(const CheckpointBarrier& barrier) {
  const CheckpointId id = barrier.id;
  WEIR_CHECK_GT(id.number, last_cut_);
  last_cut_ = id.number;
  if (applied_watermark_seconds_ != nullptr) cut_watermarks_[id.number] = watermark_;
  SubtaskSnapshot snapshot;
  WEIR_ASSIGN_OR_RETURN(std::vector<checkpoint::Committable> sealed, chain_->PrepareCommit(id));
  for (checkpoint::Committable& each : sealed) sealed_.push_back({id, std::move(each)});
  for (const Sealed& each : sealed_) snapshot.committables.push_back(each.committable);
  WEIR_RETURN_IF_ERROR(chain_->SnapshotState(id));
  if (is_source()) {
    WEIR_ASSIGN_OR_RETURN(snapshot.offsets[source_->uid()], source_->SnapshotState(id));
  }
  snapshot.finished = after_barrier_ == State::kEnded;
  outputs_.WriteControl(barrier);
  if (options_.state == nullptr) {
    Acknowledge(id, std::move(snapshot));
    return Status::Ok();
  }
  unacknowledged_.emplace(id.number, Unacknowledged{id, std::move(snapshot)});
  Submit(id);
  return Status::Ok();
}

void Task::Submit(std::optional<CheckpointId> checkpoint) {
  options_.snapshots->Submit([pending = options_.state->Freeze(checkpoint), mailbox = mailbox_, checkpoint]() mutable {
    Result<state::SubtaskStateHandle> outcome = pending->Write();
    pending.reset();  // before the task hears of it and may change what it refers to
    mailbox->Post(Written{checkpoint, std::move(outcome)});
  });
}

void Task::Acknowledge(CheckpointId id, Result<SubtaskSnapshot> snapshot) {
  const bool finished = snapshot.has_value() && snapshot->finished;
  options_.acknowledger->Acknowledge(options_.id, id, std::move(snapshot));
  if (finished && !std::exchange(finish_reported_, true)) options_.acknowledger->TaskFinished(options_.id);
}

void Task::Fail(const Status& cause) {
  state_ = State::kFailed;
  std::string where = options_.name;
  where += " (subtask ";
  where += std::to_string(options_.id.index);
  where += ")";
  options_.acknowledger->TaskFailed(options_.id, cause.WithContext(where));
}

}  // namespace weir::operators
