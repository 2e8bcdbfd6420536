// One checkpoint at a time goes Trigger -> acknowledgements -> Publish -> Durable; behind that, several may wait in the
// appliers. Step takes what has come, then looks at the clock, then lets each applier go on, then tells the tasks what
// every system has.
#include "checkpoint/checkpoint_coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "base/log.h"
#include "checkpoint/claim.h"

namespace weir::checkpoint {
namespace {

constexpr Duration kPauseAfterFailureMax = std::chrono::seconds(1);

std::string Name(CheckpointId id) { return "checkpoint " + std::to_string(id.number); }

// What the next checkpoint has to know of its parent.
CheckpointMetadata LineOf(const CheckpointMetadata& checkpoint) {
  CheckpointMetadata line;
  line.id = checkpoint.id;
  line.restored_from = checkpoint.restored_from;
  line.ancestors = checkpoint.ancestors;
  line.claimed = checkpoint.claimed;
  return line;
}

}  // namespace

CheckpointCoordinator::CheckpointCoordinator(CoordinatorOptions options, CoordinatorPorts ports, JobShape shape,
                                             const RestoredJob& job, std::vector<System> systems)
    : options_(std::move(options)),
      ports_(ports),
      shape_(std::move(shape)),
      attempt_(job.attempt),
      events_(*ports_.wakeup),
      next_number_(job.next_number) {
  WEIR_CHECK(job.checkpoint.has_value());
  WEIR_CHECK_EQ(job.systems.size(), systems.size());
  WEIR_CHECK_LT(job.checkpoint->id.number, next_number_);
  newest_ = LineOf(*job.checkpoint);
  unapplied_.push_back(newest_.id);  // a start tells the sources again
  stats_.last_number = newest_.id.number;
  publisher_ = ports_.workers->NewWorker("checkpoint");
  for (size_t i = 0; i < systems.size(); ++i) {
    WEIR_CHECK(job.systems[i].progress.identity == systems[i].identity);
    SystemApplier::Ports applier_ports{.job = ports_.storage->job(),
                                       .storage = ports_.storage->id(),
                                       .attempt = attempt_,
                                       .clock = ports_.clock,
                                       .wakeup = ports_.wakeup,
                                       .workers = ports_.workers,
                                       .file_system = &ports_.storage->file_system(),
                                       .root = ports_.storage->root()};
    appliers_.push_back(std::make_unique<SystemApplier>(options_.applier, std::move(applier_ports), job.systems[i],
                                                        std::move(systems[i].committer)));
  }
}

CheckpointCoordinator::~CheckpointCoordinator() {
  exporter_.reset();
  AbandonSavepoints(Status::Cancelled("the job has ended"));
}

void CheckpointCoordinator::Start(std::vector<CoordinatedTask> tasks) {
  WEIR_CHECK(tasks_.empty());
  tasks_ = std::move(tasks);
  for (const CoordinatedTask& task : tasks_) {
    WEIR_CHECK(subtasks_.insert(task.subtask).second);
    if (!task.source) continue;
    sources_running_.insert(task.subtask);
    has_sources_ = true;
  }
  last_trigger_ = ports_.clock->Now();
  last_end_ = last_trigger_;
}

bool CheckpointCoordinator::Step() {
  bool progress = false;
  while (outcome_ == Outcome::kRunning) {
    std::optional<Event> event = events_.Take();
    if (!event.has_value()) break;
    std::visit([this](auto& one) { Handle(std::move(one)); }, *event);
    progress = true;
  }
  const MonotonicTime now = ports_.clock->Now();
  if (outcome_ == Outcome::kRunning && pending_.has_value() && pending_->AbortIfExpired(now, options_.timeout)) {
    AbortPending(pending_->cause());
    progress = true;
  }
  if (DueNow(now)) {
    Trigger(now);
    progress = true;
  }
  if (outcome_ == Outcome::kRunning) progress |= StepAppliers();
  if (outcome_ == Outcome::kRunning) progress |= TellApplied();
  if (outcome_ == Outcome::kRunning && last_.has_value() && unapplied_.empty() &&
      std::ranges::none_of(savepoints_, [](const Savepoint& one) { return one.checkpoint.has_value(); })) {
    AbandonSavepoints(Status::FailedPrecondition("the job took its last checkpoint before"));
    outcome_ = last_is_end_ ? Outcome::kFinished : Outcome::kStopped;
    progress = true;
  }
  return progress;
}

MonotonicTime CheckpointCoordinator::NextDeadline() const {
  MonotonicTime next = ports_.clock->Now() + std::chrono::seconds(1);
  if (pending_.has_value() && pending_->state() == PendingCheckpoint::State::kCollecting) {
    next = std::min(next, pending_->triggered() + options_.timeout);
  } else if (!pending_.has_value() && !last_.has_value() && !HeldBack()) {
    MonotonicTime due = std::max(last_trigger_ + options_.interval, last_end_ + options_.min_pause);
    if (requested_.has_value() || SavepointWaits() || InputOver()) due = last_end_;
    if (last_failed_) due = std::max(due, last_end_ + std::min(options_.interval, kPauseAfterFailureMax));
    next = std::min(next, due);
  }
  for (const auto& applier : appliers_) {
    if (const auto deadline = applier->NextDeadline()) next = std::min(next, *deadline);
  }
  return next;
}

void CheckpointCoordinator::TriggerNow(AfterBarrier then) {
  requested_ = std::max(requested_.value_or(AfterBarrier::kGoOn), then);
}

void CheckpointCoordinator::TriggerSavepoint(SavepointRequest request) {
  savepoints_.push_back({.request = std::move(request), .checkpoint = std::nullopt});
  if (exporter_ == nullptr) exporter_ = ports_.workers->NewWorker("weir-savepoint");
}

bool CheckpointCoordinator::SavepointWaits() const {
  return std::ranges::any_of(savepoints_, [](const Savepoint& one) { return !one.checkpoint.has_value(); });
}

void CheckpointCoordinator::AbandonSavepoints(const Status& cause) {
  for (Savepoint& one : std::exchange(savepoints_, {})) {
    one.request.done(Error(cause.WithContext("no savepoint in " + one.request.folder)));
  }
}

bool CheckpointCoordinator::Full() const {
  uint64_t bytes = 0;
  uint64_t checkpoints = 0;
  for (const auto& applier : appliers_) {
    const UnconfirmedOutput waiting = applier->unconfirmed();
    bytes += waiting.bytes;
    checkpoints = std::max(checkpoints, waiting.checkpoints);
  }
  return bytes >= options_.unconfirmed_bytes_max || checkpoints >= options_.unconfirmed_checkpoints_max;
}

bool CheckpointCoordinator::HeldBack() const {
  const bool is_last = InputOver() || requested_.value_or(AfterBarrier::kGoOn) != AfterBarrier::kGoOn;
  return !is_last && Full();
}

bool CheckpointCoordinator::HalfFullUnsealed() const {
  return ports_.unsealed_bytes && ports_.unsealed_bytes() > options_.unconfirmed_bytes_max / 2;
}

// While a checkpoint is being taken its barrier has to reach every sink through the rows before it.
bool CheckpointCoordinator::OutputBlocked() const { return !pending_.has_value() && Full(); }

std::vector<UnconfirmedOutput> CheckpointCoordinator::Unconfirmed() const {
  std::vector<UnconfirmedOutput> waiting;
  for (const auto& applier : appliers_) {
    UnconfirmedOutput one = applier->unconfirmed();
    if (one.checkpoints > 0) waiting.push_back(std::move(one));
  }
  return waiting;
}

CheckpointStats CheckpointCoordinator::stats() const {
  CheckpointStats stats = stats_;
  const MonotonicTime now = ports_.clock->Now();
  stats.durable_at = last_durable_;
  if (last_durable_.has_value()) stats.age = now - *last_durable_;
  if (pending_.has_value()) {
    stats.pending_number = pending_->id().number;
    stats.pending_since = now - pending_->triggered();
  }
  for (const auto& applier : appliers_) {
    SystemStats& system = stats.systems.emplace_back();
    system.waiting = applier->unconfirmed();
    if (applier->progress().base.has_value()) system.marker = applier->progress().base->number;
  }
  return stats;
}

void CheckpointCoordinator::Acknowledge(SubtaskId subtask, CheckpointId id, Result<SubtaskSnapshot> snapshot) {
  events_.Post(Acknowledged{subtask, id, std::move(snapshot)});
}

void CheckpointCoordinator::TaskFailed(SubtaskId subtask, Status cause) {
  events_.Post(Failed{subtask, std::move(cause)});
}

// Nothing follows from it: the task's acknowledgement has said so before.
void CheckpointCoordinator::TaskFinished(SubtaskId /*subtask*/) {}

void CheckpointCoordinator::InputEnded(SubtaskId subtask) { events_.Post(Ended{subtask}); }

void CheckpointCoordinator::Handle(Acknowledged event) {
  if (!pending_.has_value()) return;
  switch (pending_->Acknowledge(event.subtask, event.id, std::move(event.snapshot))) {
    case PendingCheckpoint::Verdict::kCompleted: Publish(); break;
    case PendingCheckpoint::Verdict::kAborted: AbortPending(pending_->cause()); break;
    case PendingCheckpoint::Verdict::kAccepted:
    case PendingCheckpoint::Verdict::kIgnored: break;
  }
}

void CheckpointCoordinator::Handle(Failed event) { Fail(std::move(event.cause)); }

void CheckpointCoordinator::Handle(Ended event) { sources_running_.erase(event.subtask); }

void CheckpointCoordinator::Handle(Published event) {
  if (!pending_.has_value() || pending_->id() != event.id) return;
  switch (event.outcome.fate) {
    case PublishFate::kDurable: Durable(ports_.clock->Now()); break;
    case PublishFate::kNotPublished: AbortPending(event.outcome.status); break;
    case PublishFate::kOpen:
      Fail(event.outcome.status.WithContext("whether " + Name(event.id) + " is durable is unknown"));
      break;
  }
}

void CheckpointCoordinator::Handle(Exported event) {
  const auto exported = std::ranges::find_if(savepoints_, [&event](const Savepoint& one) {
    return one.checkpoint == event.id && one.request.folder == event.folder;
  });
  if (exported == savepoints_.end()) return;
  SavepointRequest request = std::move(exported->request);
  savepoints_.erase(exported);
  if (event.status.ok()) {
    request.done(event.id);
  } else {
    request.done(Error(std::move(event.status)));
  }
}

bool CheckpointCoordinator::InputOver() const { return has_sources_ && sources_running_.empty(); }

bool CheckpointCoordinator::DueNow(MonotonicTime now) const {
  if (outcome_ != Outcome::kRunning || pending_.has_value() || last_.has_value()) return false;
  if (!ports_.coordinated->ready()) return false;
  if (last_failed_ && now < last_end_ + std::min(options_.interval, kPauseAfterFailureMax)) return false;
  if (HeldBack()) return false;
  if (InputOver() || requested_.has_value() || SavepointWaits() || HalfFullUnsealed()) return true;
  return now >= last_trigger_ + options_.interval && now >= last_end_ + options_.min_pause;
}

void CheckpointCoordinator::Trigger(MonotonicTime now) {
  last_trigger_ = now;
  const CheckpointBarrier barrier{.id = {.number = next_number_++, .id = ports_.random->NextId()},
                                  .then = requested_.value_or(AfterBarrier::kGoOn)};
  Result<std::map<std::string, std::string>> enumerators = ports_.coordinated->Snapshot(barrier.id);
  if (!enumerators.has_value()) {
    CountFailure(enumerators.error().WithContext(Name(barrier.id)));
    return;
  }
  enumerators_ = std::move(*enumerators);
  pending_.emplace(barrier, subtasks_, now);
  for (Savepoint& one : savepoints_) {
    if (!one.checkpoint.has_value()) one.checkpoint = barrier.id;
  }
  publisher_->Submit([this, storage = ports_.storage, id = barrier.id] {
    Status status = storage->Begin(id.number);
    if (!status.ok()) events_.Post(Published{id, {.fate = PublishFate::kNotPublished, .status = std::move(status)}});
  });
  for (const CoordinatedTask& task : tasks_) {
    if (task.source) task.participant->TriggerCheckpoint(barrier);
  }
  if (pending_->state() == PendingCheckpoint::State::kComplete) Publish();
}

CheckpointMetadata CheckpointCoordinator::BuildMetadata() const {
  CheckpointMetadata metadata;
  metadata.job = ports_.storage->job();
  metadata.storage = ports_.storage->id();
  metadata.attempt = attempt_;
  metadata.id = pending_->id();
  metadata.restored_from = newest_.restored_from;
  metadata.ancestors = AncestorsOfChild(newest_);
  metadata.claimed = newest_.claimed;
  metadata.key_groups = shape_.key_groups;
  for (const JobShape::Vertex& vertex : shape_.vertices) {
    metadata.vertices.push_back(
        {.vertex = vertex.vertex, .uids = vertex.uids, .parallelism = vertex.parallelism, .subtasks = {}});
    for (const auto& [subtask, snapshot] : pending_->snapshots()) {
      if (subtask.vertex != vertex.vertex) continue;
      metadata.vertices.back().subtasks.push_back({.index = subtask.index,
                                                   .state = snapshot.state,
                                                   .offsets = snapshot.offsets,
                                                   .finished = snapshot.finished});
    }
  }
  metadata.enumerators = enumerators_;
  metadata.created_wall_ns = ports_.clock->WallNs();
  return metadata;
}

// Lists for each system what it lacks and, behind that, what this checkpoint brings.
Status CheckpointCoordinator::AddOutput(CheckpointMetadata& metadata) const {
  std::map<std::string, std::vector<Committable>> output;
  for (const auto& [subtask, snapshot] : pending_->snapshots()) {
    for (const Committable& committable : snapshot.committables) {
      // A task that had not heard yet that its last checkpoint is durable says these again.
      const auto durable = durable_output_.find(committable.system);
      if (durable != durable_output_.end() &&
          std::find(durable->second.begin(), durable->second.end(), committable) != durable->second.end()) {
        continue;
      }
      output[committable.system].push_back(committable);
    }
  }
  for (const auto& applier : appliers_) {
    SystemProgress progress = applier->progress();
    if (const auto own = output.find(progress.identity); own != output.end()) {
      progress.later.push_back({.checkpoint = metadata.id, .committables = std::move(own->second)});
      output.erase(own);
    }
    metadata.systems.push_back(std::move(progress));
  }
  std::sort(metadata.systems.begin(), metadata.systems.end(),
            [](const SystemProgress& a, const SystemProgress& b) { return a.identity < b.identity; });
  if (output.empty()) return Status::Ok();
  return Status::Internal(Name(metadata.id) + " has output for system " + output.begin()->first +
                          ", which has no committer");
}

void CheckpointCoordinator::Publish() {
  FAULT_SITE("checkpoint.state-written");
  publishing_ = BuildMetadata();
  if (Status status = AddOutput(*publishing_); !status.ok()) return Fail(std::move(status));
  std::set<uint64_t> pinned;
  for (const Savepoint& one : savepoints_) {
    if (one.checkpoint.has_value()) pinned.insert(one.checkpoint->number);
  }
  publisher_->Submit(
      [this, storage = ports_.storage, metadata = *publishing_, retain = options_.retain, pinned = std::move(pinned)] {
        PublishOutcome outcome = storage->Publish(metadata);
        if (outcome.fate != PublishFate::kDurable) {
          events_.Post(Published{metadata.id, std::move(outcome)});
          return;
        }
        // Looked for before the coordinator may trigger the next one, whose files no metadata names yet.
        const Result<CheckpointStorage::Garbage> garbage = storage->FindGarbage(retain, pinned);
        events_.Post(Published{metadata.id, std::move(outcome)});
        if (metadata.claimed.has_value() && !metadata.claimed->deleted) {
          const Status status = DeleteClaimed(storage->file_system(), *metadata.claimed);
          if (!status.ok()) LogWarning(status.WithContext("a claimed savepoint can't be deleted").ToString());
        }
        const Status deleted = garbage.has_value() ? storage->DeleteGarbage(*garbage) : garbage.error();
        if (!deleted.ok()) LogWarning(deleted.WithContext("old checkpoints can't be deleted").ToString());
      });
}

void CheckpointCoordinator::Durable(MonotonicTime now) {
  FAULT_SITE("checkpoint.durable");
  const CheckpointBarrier barrier = pending_->barrier();
  stats_.last_number = barrier.id.number;
  stats_.last_duration = now - pending_->triggered();
  stats_.last_bytes = publishing_->StateBytes();
  stats_.last_bytes_new = 0;
  for (const auto& [subtask, snapshot] : pending_->snapshots()) stats_.last_bytes_new += snapshot.state.bytes_new;
  ++stats_.completed;
  stats_.consecutive_failures = 0;
  last_failed_ = false;
  last_end_ = now;
  last_durable_ = now;
  if (barrier.then != AfterBarrier::kGoOn || pending_->AllFinished()) {
    last_ = barrier.id;
    last_is_end_ = pending_->AllFinished();
  }
  if (requested_.has_value() && *requested_ <= barrier.then) requested_.reset();
  newest_ = LineOf(*publishing_);
  if (newest_.claimed.has_value()) newest_.claimed->deleted = true;  // by the publisher, before it takes the next one
  unapplied_.push_back(barrier.id);
  durable_output_.clear();
  for (const auto& applier : appliers_) {
    const SystemProgress* listed = publishing_->System(applier->identity());
    WEIR_CHECK(listed != nullptr);
    if (listed->later.empty() || listed->later.back().checkpoint != barrier.id) continue;
    durable_output_[applier->identity()] = listed->later.back().committables;
    applier->Add(listed->later.back());
  }
  pending_.reset();
  publishing_.reset();
  enumerators_.clear();
  for (const CoordinatedTask& task : tasks_) task.participant->NotifyCheckpointDurable(barrier.id);
}

void CheckpointCoordinator::AbortPending(Status cause) {
  const CheckpointId id = pending_->id();
  pending_.reset();
  publishing_.reset();
  enumerators_.clear();
  for (Savepoint& one : savepoints_) {
    if (one.checkpoint == id) one.checkpoint.reset();  // the next one will do
  }
  for (const CoordinatedTask& task : tasks_) task.participant->NotifyCheckpointAborted(id);
  CountFailure(cause.WithContext(Name(id)));
}

void CheckpointCoordinator::CountFailure(const Status& cause) {
  last_end_ = ports_.clock->Now();
  last_failed_ = true;
  ++stats_.failed;
  ++stats_.consecutive_failures;
  stats_.last_failure = cause.ToString();
  LogWarning(cause.WithContext("a checkpoint is given up").ToString());
  if (stats_.consecutive_failures <= options_.tolerated_failures) return;
  Fail(cause.WithContext(std::to_string(stats_.consecutive_failures) + " checkpoints in a row have failed"));
}

bool CheckpointCoordinator::StepAppliers() {
  bool progress = false;
  for (const auto& applier : appliers_) {
    progress |= applier->Step();
    if (!applier->failure().ok()) {
      Fail(applier->failure());
      return true;
    }
  }
  return progress;
}

bool CheckpointCoordinator::TellApplied() {
  bool progress = false;
  while (!unapplied_.empty()) {
    const CheckpointId id = unapplied_.front();
    const bool has_all =
        std::all_of(appliers_.begin(), appliers_.end(), [id](const auto& applier) { return applier->Has(id.number); });
    if (!has_all) break;
    FAULT_SITE("apply.before-sources-told");
    for (const CoordinatedTask& task : tasks_) task.participant->NotifyCheckpointApplied(id);
    FAULT_SITE("apply.after-sources-told");
    stats_.applied_number = id.number;
    stats_.applied_at = ports_.clock->Now();
    unapplied_.pop_front();
    Export(id);
    progress = true;
  }
  return progress;
}

void CheckpointCoordinator::Export(CheckpointId id) {
  for (const Savepoint& one : savepoints_) {
    if (one.checkpoint != id) continue;
    exporter_->Submit([this, storage = ports_.storage, id, folder = one.request.folder] {
      Status status = ExportSavepoint(storage->file_system(), storage->CheckpointFolder(id.number), folder);
      events_.Post(Exported{id, folder, std::move(status)});
    });
  }
}

void CheckpointCoordinator::Fail(Status cause) {
  WEIR_CHECK(!cause.ok());
  if (outcome_ != Outcome::kRunning) return;
  outcome_ = Outcome::kFailed;
  failure_ = std::move(cause);
  AbandonSavepoints(failure_);
}

}  // namespace weir::checkpoint
