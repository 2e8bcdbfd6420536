#include "jobs/job_control.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace weir::jobs {

void HeldReader::Do(std::function<void()> call) {
  if (released_) {
    call();
  } else {
    calls_.push_back(std::move(call));
    wakeup_.Wake();
  }
}

void HeldReader::AddSplits(std::vector<operators::SourceSplit> splits) {
  if (!released_) splits_.insert(splits_.end(), splits.begin(), splits.end());
  Do([this, splits = std::move(splits)] { task_.AddSplits(splits); });
}

void HeldReader::NoMoreSplits() {
  Do([this] { task_.NoMoreSplits(); });
}

void HeldReader::HandleSourceEvent(std::string event) {
  Do([this, event = std::move(event)] { task_.HandleSourceEvent(event); });
}

void HeldReader::AcknowledgeSourceEvents(uint64_t through) {
  Do([this, through] { task_.AcknowledgeSourceEvents(through); });
}

std::vector<checkpoint::AssignedSplit> HeldReader::Assigned() const {
  std::vector<checkpoint::AssignedSplit> assigned;
  for (const auto& split : splits_) assigned.push_back({uid_, split.id, split.position});
  return assigned;
}

void HeldReader::Release() {
  released_ = true;
  for (const auto& call : calls_) call();
  calls_.clear();
  splits_.clear();
}

void JobControl::Begin(JobControlOptions options) {
  options_ = std::move(options);
  options_.ports.coordinated = this;
}

JobControl::~JobControl() { AbandonSavepoints(Status::Cancelled("the job has ended")); }

void JobControl::RequestStop(Duration timeout, bool drain) {
  if (drain) drain_.store(true);
  stop_timeout_ns_.store(timeout.count());
  wakeup_.Wake();
}

void JobControl::RequestSavepoint(checkpoint::SavepointRequest request) {
  {
    std::lock_guard lock(mutex_);
    savepoints_.push_back(std::move(request));
  }
  // One that comes after the end is looked at by nobody else.
  if (state() > JobState::kStopping) AbandonSavepoints(Status::FailedPrecondition("the job is not running"));
  wakeup_.Wake();
}

void JobControl::TakeSavepointRequests() {
  std::vector<checkpoint::SavepointRequest> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(savepoints_);
  }
  for (checkpoint::SavepointRequest& request : taken) coordinator_->TriggerSavepoint(std::move(request));
}

void JobControl::AbandonSavepoints(const Status& cause) {
  std::vector<checkpoint::SavepointRequest> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(savepoints_);
  }
  for (checkpoint::SavepointRequest& request : taken) request.done(Error(cause));
}

Status JobControl::cause() const {
  std::lock_guard lock(mutex_);
  return cause_;
}

checkpoint::CheckpointStats JobControl::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void JobControl::Fail(Status cause) {
  {
    std::lock_guard lock(mutex_);
    if (!outside_.has_value()) outside_ = std::move(cause);
  }
  wakeup_.Wake();
}

void JobControl::Forward(Call call) {
  {
    std::lock_guard lock(mutex_);
    if (!coordinator_ready_) {
      early_.push_back(std::move(call));
      return;
    }
  }
  call(*coordinator_);
}

void JobControl::Acknowledge(SubtaskId subtask, CheckpointId id, Result<checkpoint::SubtaskSnapshot> snapshot) {
  Forward([subtask, id, snapshot = std::move(snapshot)](checkpoint::CheckpointCoordinator& c) mutable {
    c.Acknowledge(subtask, id, std::move(snapshot));
  });
}

// Also before there is a coordinator: a task that can't open ends the attempt.
void JobControl::TaskFailed(SubtaskId, Status cause) { Fail(std::move(cause)); }

void JobControl::TaskFinished(SubtaskId subtask) {
  Forward([subtask](checkpoint::CheckpointCoordinator& c) { c.TaskFinished(subtask); });
}

void JobControl::InputEnded(SubtaskId subtask) {
  Forward([subtask](checkpoint::CheckpointCoordinator& c) { c.InputEnded(subtask); });
}

bool JobControl::ready() const {
  return std::all_of(options_.hosts.begin(), options_.hosts.end(), [](const auto* host) { return host->ready(); });
}

Result<std::map<std::string, std::string>> JobControl::Snapshot(CheckpointId id) {
  std::map<std::string, std::string> states;
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(states[options_.host_uids[i]], options_.hosts[i]->SnapshotState(id));
  }
  return states;
}

operators::StepResult JobControl::Step() {
  std::optional<Status> outside;
  {
    std::lock_guard lock(mutex_);
    outside = outside_;
  }
  if (outside.has_value()) End(JobState::kFailed, *outside);
  bool progress = false;
  if (state() == JobState::kStarting) progress = StepStart();
  if (state() == JobState::kRunning || state() == JobState::kStopping) progress |= StepRunning();
  if (state() > JobState::kStopping) return operators::StepResult::kFinished;
  return progress ? operators::StepResult::kProgress : operators::StepResult::kIdle;
}

bool JobControl::StepStart() {
  // While the first checkpoint is being published, options_.restored is the worker's.
  if (!publishing_ && options_.restored.checkpoint.has_value()) {
    StartCoordinator();
    return true;
  }
  if (!publishing_) {
    if (stop_timeout_ns_.load() >= 0) {
      End(JobState::kStopped, Status::Ok());  // nothing was read
      return false;
    }
    if (!ready()) return false;
    auto enumerators = Snapshot({options_.restored.next_number, {}});
    if (!enumerators.has_value()) {
      End(JobState::kFailed, enumerators.error());
      return false;
    }
    std::vector<checkpoint::AssignedSplit> assigned;
    for (const HeldReader* reader : options_.readers) {
      for (auto& split : reader->Assigned()) assigned.push_back(std::move(split));
    }
    publishing_ = true;
    first_publisher_ = options_.ports.workers->NewWorker("weir-first");
    first_publisher_->Submit([this, enumerators = std::move(*enumerators), assigned = std::move(assigned)]() mutable {
      worker_events_.Post(PublishFirst(options_.start, std::move(enumerators), std::move(assigned), options_.restored));
    });
    return true;
  }
  std::optional<Status> published = worker_events_.Take();
  if (!published.has_value()) return false;
  first_publisher_.reset();
  if (!published->ok()) {
    End(JobState::kFailed, *published);
    return false;
  }
  StartCoordinator();
  return true;
}

void JobControl::StartCoordinator() {
  coordinator_ = std::make_unique<checkpoint::CheckpointCoordinator>(
      options_.coordinator, options_.ports, options_.shape, options_.restored, std::move(*options_.start.systems));
  coordinator_->Start(options_.tasks);
  std::vector<Call> early;
  {
    std::lock_guard lock(mutex_);
    coordinator_ready_ = true;
    early.swap(early_);
  }
  for (Call& call : early) call(*coordinator_);
  for (HeldReader* reader : options_.readers) reader->Release();
  state_.store(JobState::kRunning);
}

bool JobControl::StepRunning() {
  TakeSavepointRequests();
  if (state() == JobState::kRunning && stop_timeout_ns_.load() >= 0) {
    state_.store(JobState::kStopping);
    stop_deadline_ = options_.ports.clock->Now() + Duration(stop_timeout_ns_.load());
    coordinator_->TriggerNow(drain_.load() ? checkpoint::AfterBarrier::kDrain : checkpoint::AfterBarrier::kStop);
  }
  const bool progress = coordinator_->Step();
  {
    std::lock_guard lock(mutex_);
    stats_ = coordinator_->stats();
  }
  if (const bool blocked = coordinator_->OutputBlocked(); blocked != output_blocked_) {
    output_blocked_ = blocked;
    options_.on_output_blocked(blocked);
  }
  switch (coordinator_->outcome()) {
    case checkpoint::CheckpointCoordinator::Outcome::kRunning: CheckStop(); break;
    case checkpoint::CheckpointCoordinator::Outcome::kFinished: End(JobState::kFinished, Status::Ok()); break;
    case checkpoint::CheckpointCoordinator::Outcome::kStopped: End(JobState::kStopped, Status::Ok()); break;
    case checkpoint::CheckpointCoordinator::Outcome::kFailed: End(JobState::kFailed, coordinator_->failure()); break;
  }
  return progress;
}

// S9: a stop waits for `applied` until its time is up, and then says what waits.
void JobControl::CheckStop() {
  if (!stop_deadline_.has_value() || options_.ports.clock->Now() < *stop_deadline_) return;
  if (coordinator_->LastCheckpointDurable() && coordinator_->EverythingApplied()) return;  // an export is under way
  std::string text;
  if (!coordinator_->LastCheckpointDurable()) {
    text = "stopped without a last checkpoint: the next start goes on from checkpoint " +
           std::to_string(coordinator_->stats().last_number);
  }
  for (const auto& waiting : coordinator_->Unconfirmed()) {
    if (waiting.checkpoints == 0) continue;
    if (!text.empty()) text += "; ";
    text += std::to_string(waiting.rows) + " rows wait for " + waiting.system;
    if (!waiting.last_error.ok()) text += " (" + waiting.last_error.message() + ")";
  }
  End(JobState::kStoppedUnapplied, Status::Unavailable(text));
}

void JobControl::End(JobState state, Status cause) {
  const Status ended = cause.ok() ? Status::Cancelled("the job has ended") : cause;
  {
    std::lock_guard lock(mutex_);
    cause_ = std::move(cause);
  }
  state_.store(state);
  // After the state has changed: who asks from now on sees it and answers for itself.
  if (coordinator_ != nullptr) coordinator_->AbandonSavepoints(ended);
  AbandonSavepoints(ended);
  options_.on_done();
}

std::optional<MonotonicTime> JobControl::NextDeadline() const {
  std::optional<MonotonicTime> next = stop_deadline_;
  if (coordinator_ != nullptr) {
    const MonotonicTime due = coordinator_->NextDeadline();
    if (!next.has_value() || due < *next) next = due;
  }
  return next;
}

}  // namespace weir::jobs
