#include "checkpoint/pending_checkpoint.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir::checkpoint {
namespace {

std::string NameOf(SubtaskId subtask) {
  std::string text = "subtask ";
  text += std::to_string(subtask.index);
  text += " of vertex ";
  text += std::to_string(subtask.vertex);
  return text;
}

}  // namespace

PendingCheckpoint::PendingCheckpoint(const CheckpointBarrier& barrier, const std::set<SubtaskId>& subtasks,
                                     MonotonicTime triggered)
    : barrier_(barrier), triggered_(triggered), missing_(subtasks) {
  if (missing_.empty()) state_ = State::kComplete;
}

PendingCheckpoint::Verdict PendingCheckpoint::Acknowledge(SubtaskId subtask, CheckpointId id,
                                                          Result<SubtaskSnapshot> snapshot) {
  if (state_ != State::kCollecting || id != barrier_.id || !missing_.contains(subtask)) return Verdict::kIgnored;
  if (!snapshot.has_value()) {
    Abort(snapshot.error().WithContext(NameOf(subtask)));
    return Verdict::kAborted;
  }
  missing_.erase(subtask);
  snapshots_.emplace(subtask, std::move(*snapshot));
  if (!missing_.empty()) return Verdict::kAccepted;
  state_ = State::kComplete;
  return Verdict::kCompleted;
}

bool PendingCheckpoint::AbortIfExpired(MonotonicTime now, Duration timeout) {
  if (state_ != State::kCollecting || now - triggered_ < timeout) return false;
  std::string message = "checkpoint ";
  message += std::to_string(id().number);
  message += " was not acknowledged within ";
  message += std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
  message += " ms by ";
  message += NameOf(*missing_.begin());
  if (missing_.size() > 1) {
    message += " and ";
    message += std::to_string(missing_.size() - 1);
    message += " more";
  }
  Abort(Status::Cancelled(std::move(message)));
  return true;
}

void PendingCheckpoint::Abort(Status cause) {
  WEIR_CHECK(!cause.ok());
  if (state_ != State::kCollecting) return;
  state_ = State::kAborted;
  cause_ = std::move(cause);
}

bool PendingCheckpoint::AllFinished() const {
  return state_ == State::kComplete && !snapshots_.empty() &&
         std::all_of(snapshots_.begin(), snapshots_.end(), [](const auto& entry) { return entry.second.finished; });
}

}  // namespace weir::checkpoint
