#include "tests/checkpoint/fake_system.h"

namespace weir::checkpoint {

void FakeSystem::Write(uint64_t first, uint64_t last) {
  if (first != next && broken.empty()) {
    broken = identity + " waits for row " + std::to_string(next) + " and gets " + std::to_string(first);
  }
  for (uint64_t row = first; row <= last; ++row) rows.push_back(row);
  next = last + 1;
}

Status FakeCommitter::Reach() const {
  if (dead_()) return Status::Internal("the process is dead");
  if (!system_.up) return Status::Unavailable(system_.identity + " is down");
  return Status::Ok();
}

Result<std::optional<Marker>> FakeCommitter::Peek() {
  WEIR_RETURN_IF_ERROR(Reach());
  return system_.marker;
}

Status FakeCommitter::Fence() {
  WEIR_RETURN_IF_ERROR(Reach());
  system_.owner = attempt_;
  ++system_.fences;
  return Status::Ok();
}

Result<std::optional<Marker>> FakeCommitter::ReadMarker() { return Peek(); }

Status FakeCommitter::Verify(std::span<const Committable> /*listed*/) {
  WEIR_RETURN_IF_ERROR(Reach());
  return system_.verify;
}

Status FakeCommitter::Sign(const Marker& marker, std::span<const Committable> /*listed*/) {
  WEIR_RETURN_IF_ERROR(Reach());
  if (system_.owner != attempt_) return Status::Fenced(system_.identity + " has another owner");
  system_.marker = marker;
  if (system_.lose_signs > 0) {
    --system_.lose_signs;
    return Status::Unavailable("the connection is gone");
  }
  return Status::Ok();
}

Status FakeCommitter::Apply(const Marker& marker, std::span<const Committable> committables) {
  WEIR_RETURN_IF_ERROR(Reach());
  if (system_.refuse.has_value()) return *system_.refuse;
  if (system_.owner != attempt_) return Status::Fenced(system_.identity + " has another owner");
  if (system_.lose_applies > 0) {
    --system_.lose_applies;
    return Status::Unavailable("the connection is gone");
  }
  ++system_.applies;
  for (const Committable& committable : committables) {
    const size_t dash = committable.payload.find('-');
    system_.Write(std::stoull(committable.payload.substr(0, dash)), std::stoull(committable.payload.substr(dash + 1)));
  }
  system_.marker = marker;
  if (system_.lose_answers > 0) {
    --system_.lose_answers;
    return Status::Unavailable("the connection is gone");
  }
  return Status::Ok();
}

}  // namespace weir::checkpoint
