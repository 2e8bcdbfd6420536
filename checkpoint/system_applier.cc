#include "checkpoint/system_applier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "base/file_system.h"
#include "base/log.h"
#include "checkpoint/applied_hint.h"

namespace weir::checkpoint {
namespace {

// The outcome of an apply that ended with one of these is unknown, and a later attempt may do better.
bool MayRetry(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kInternal || code == StatusCode::kIoError ||
         code == StatusCode::kResourceExhausted;
}

// Another attempt than ours, and than the one before us, has written the marker.
bool IsTakenOver(const std::optional<Marker>& marker, UniqueId ours, const std::optional<UniqueId>& before) {
  return marker.has_value() && marker->attempt != ours && before.has_value() && marker->attempt != *before;
}

// Worker's thread. Peeks first: who has been overtaken, or finds a marker that it does not know, must not fence.
Result<std::optional<Marker>> PeekFenceAndRead(Committer& committer, const SystemProgress& progress, UniqueId ours,
                                               const std::optional<UniqueId>& before) {
  WEIR_ASSIGN_OR_RETURN(std::optional<Marker> marker, committer.Peek());
  if (IsTakenOver(marker, ours, before)) return marker;
  const Result<SystemProgress> known = ProgressFromMarker(progress, marker);
  if (!known.has_value()) return Error(known.error());
  WEIR_RETURN_IF_ERROR(committer.Fence());
  return committer.ReadMarker();
}

}  // namespace

SystemApplier::SystemApplier(ApplierOptions options, Ports ports, const SystemStart& start,
                             std::unique_ptr<Committer> committer)
    : options_(options),
      ports_(std::move(ports)),
      committer_(std::move(committer)),
      events_(*ports_.wakeup),
      progress_(start.progress),
      signed_(start.reachable),
      ever_signed_(start.reachable),
      before_(start.reachable ? ports_.attempt : start.seen_attempt) {
  WEIR_CHECK(committer_ != nullptr);
  worker_ = ports_.workers->NewWorker("commit");
  Recount();
}

SystemApplier::~SystemApplier() = default;

void SystemApplier::Add(CheckpointOutput output) {
  WEIR_CHECK(!output.committables.empty());
  const auto before = progress_.Target();
  WEIR_CHECK(!before.has_value() || before->number < output.checkpoint.number);
  progress_.later.push_back(std::move(output));
  Recount();
}

bool SystemApplier::Step() {
  if (!failure_.ok()) return false;
  bool progress = false;
  while (failure_.ok()) {
    std::optional<Event> event = events_.Take();
    if (!event.has_value()) break;
    busy_ = false;
    std::visit([this](auto& one) { Handle(std::move(one)); }, *event);
    progress = true;
  }
  if (!failure_.ok() || busy_) return progress;
  if (retry_at_.has_value() && ports_.clock->Now() < *retry_at_) return progress;
  retry_at_.reset();
  if (!signed_) {
    SubmitRecover();
  } else if (!progress_.later.empty()) {
    SubmitApply();
  } else {
    return progress;
  }
  return true;
}

std::optional<MonotonicTime> SystemApplier::NextDeadline() const {
  return busy_ || !failure_.ok() ? std::nullopt : retry_at_;
}

bool SystemApplier::Has(uint64_t number) const {
  if (!ever_signed_) return false;
  return progress_.later.empty() || progress_.later.front().checkpoint.number > number;
}

UnconfirmedOutput SystemApplier::unconfirmed() const {
  return {.system = progress_.identity,
          .checkpoints = progress_.later.size(),
          .rows = waiting_rows_,
          .bytes = waiting_bytes_,
          .last_error = last_error_};
}

void SystemApplier::Recount() {
  waiting_rows_ = 0;
  waiting_bytes_ = 0;
  for (const CheckpointOutput& output : progress_.later) {
    for (const Committable& committable : output.committables) {
      waiting_rows_ += committable.rows;
      waiting_bytes_ += committable.size_bytes;
    }
  }
}

void SystemApplier::SubmitRecover() {
  busy_ = true;
  worker_->Submit([this, progress = progress_, before = before_] {
    events_.Post(Recovered{PeekFenceAndRead(*committer_, progress, ports_.attempt, before)});
  });
}

void SystemApplier::SubmitSign() {
  busy_ = true;
  std::vector<Committable> listed;
  for (const CheckpointOutput& output : progress_.later) {
    listed.insert(listed.end(), output.committables.begin(), output.committables.end());
  }
  worker_->Submit([this, marker = MarkerOf(progress_.base), listed = std::move(listed)] {
    events_.Post(Signed{committer_->Sign(marker, listed)});
  });
}

void SystemApplier::SubmitApply() {
  busy_ = true;
  worker_->Submit([this, output = progress_.later.front(), system = identity(),
                   marker = MarkerOf(progress_.later.front().checkpoint)] {
    FAULT_SITE("apply.before-commit");
    Status status = committer_->Apply(marker, output.committables);
    if (status.ok()) {
      FAULT_SITE("apply.after-commit");
      const Status hint = WriteAppliedHint(*ports_.file_system, ports_.root, system, output.checkpoint);
      if (!hint.ok()) LogWarning(hint.WithContext("the hint of an applied checkpoint is not written").ToString());
    }
    events_.Post(Applied{output.checkpoint, std::move(status)});
  });
}

void SystemApplier::SubmitExamine() {
  busy_ = true;
  worker_->Submit([this] { events_.Post(Examined{committer_->Peek()}); });
}

void SystemApplier::Handle(Recovered event) {
  if (!event.marker.has_value()) return Retry(event.marker.error());
  const std::optional<Marker>& marker = *event.marker;
  if (IsTakenOver(marker, ports_.attempt, before_)) {
    failure_ = TakenOverBy(*marker);
    return;
  }
  Result<SystemProgress> progress = ProgressFromMarker(progress_, marker);
  if (!progress.has_value()) {
    failure_ = progress.error();
    return;
  }
  progress_ = std::move(*progress);
  Recount();
  before_ = marker.value_or(Marker{}).attempt;
  SubmitSign();
}

void SystemApplier::Handle(Signed event) {
  if (event.status.code() == StatusCode::kFenced) return SubmitExamine();
  if (!event.status.ok()) return Retry(event.status);
  signed_ = true;
  ever_signed_ = true;
  before_ = ports_.attempt;
  if (progress_.later.empty()) last_error_ = Status::Ok();
}

void SystemApplier::Handle(Applied event) {
  if (event.status.ok()) {
    Confirm(event.checkpoint);
  } else if (event.status.code() == StatusCode::kFenced) {
    SubmitExamine();
  } else {
    signed_ = false;
    Retry(event.status);
  }
}

void SystemApplier::Handle(Examined event) {
  if (!event.marker.has_value()) {
    signed_ = false;
    return Retry(event.marker.error());
  }
  const std::optional<Marker>& marker = *event.marker;
  if (IsTakenOver(marker, ports_.attempt, before_)) {
    failure_ = TakenOverBy(*marker);
  } else {
    failure_ = Status::Internal("system " + identity() + " has lost our transaction; its marker is still ours");
  }
}

void SystemApplier::Retry(const Status& cause) {
  last_error_ = cause;
  const bool is_hard = cause.code() != StatusCode::kUnavailable;
  hard_failures_ = is_hard ? hard_failures_ + 1 : 0;
  if (!MayRetry(cause.code()) || hard_failures_ > options_.retries_max) {
    failure_ = cause.WithContext("system " + identity());
    return;
  }
  constexpr uint32_t kShiftMax = 20;
  const Duration backoff = options_.backoff_min * (int64_t{1} << std::min(failures_, kShiftMax));
  ++failures_;
  retry_at_ = ports_.clock->Now() + std::min(backoff, options_.backoff_max);
  if (failures_ == 1)
    LogWarning(cause.WithContext("system " + identity() + " does not take output, will be retried").ToString());
}

Status SystemApplier::TakenOverBy(const Marker& marker) const {
  return Status::Fenced("system " + identity() + " has been taken over by attempt " + marker.attempt.ToString() +
                        " of storage " + marker.storage.ToString());
}

void SystemApplier::Confirm(CheckpointId checkpoint) {
  WEIR_CHECK(!progress_.later.empty());
  WEIR_CHECK(progress_.later.front().checkpoint == checkpoint);
  progress_.later.erase(progress_.later.begin());
  progress_.base = checkpoint;
  Recount();
  failures_ = 0;
  hard_failures_ = 0;
  last_error_ = Status::Ok();
}

Marker SystemApplier::MarkerOf(std::optional<CheckpointId> checkpoint) const {
  return {.job = ports_.job,
          .storage = ports_.storage,
          .attempt = ports_.attempt,
          .checkpoint = checkpoint.value_or(CheckpointId{})};
}

}  // namespace weir::checkpoint
