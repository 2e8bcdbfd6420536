#include "state/timers.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "state/key_groups.h"

namespace weir::state {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr size_t kTimeSize = 8;

std::string NameSpaceOf(int64_t time, std::string_view name_space) {
  std::string bytes;
  AppendBigEndian64(bytes, static_cast<uint64_t>(time) ^ kSignBit);
  bytes.append(name_space);
  return bytes;
}

int64_t TimeOf(std::string_view name_space) { return static_cast<int64_t>(ReadBigEndian64(name_space) ^ kSignBit); }

}  // namespace

Result<Timers> Timers::Open(SubtaskState& state, std::string_view uid, std::string_view name, TimeDomain domain,
                            size_t nearest_max) {
  WEIR_CHECK_GE(nearest_max, 1u);
  const std::string codec = domain == TimeDomain::kEventTime ? "timer/event-time" : "timer/processing-time";
  WEIR_ASSIGN_OR_RETURN(
      const StateId id,
      state.Register({.uid = std::string(uid), .name = std::string(name), .kind = "timers", .codec = codec}));
  Timers timers(state, id, nearest_max);
  WEIR_RETURN_IF_ERROR(timers.Refill());
  return timers;
}

Status Timers::Set(StateKey key, int64_t time, std::string_view name_space) {
  const std::string full = NameSpaceOf(time, name_space);
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> known, state_->Get(id_, key.In(full)));
  if (known.has_value()) return Status::Ok();
  WEIR_RETURN_IF_ERROR(state_->Put(id_, key.In(full), {}));
  Order order(time, key.hash, std::string(key.bytes), std::string(name_space));
  // What lies behind the last of an incomplete set may not be the next one there: it waits in the state.
  if (all_nearest_ || (!nearest_.empty() && order < *nearest_.rbegin())) {
    nearest_.insert(std::move(order));
    TrimNearest();
  }
  return Status::Ok();
}

Status Timers::Remove(StateKey key, int64_t time, std::string_view name_space) {
  nearest_.erase(Order(time, key.hash, std::string(key.bytes), std::string(name_space)));
  const std::string full = NameSpaceOf(time, name_space);
  WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> known, state_->Get(id_, key.In(full)));
  if (!known.has_value()) return Status::Ok();
  return state_->Delete(id_, key.In(full));
}

Result<std::optional<int64_t>> Timers::Next() {
  if (nearest_.empty() && !all_nearest_) WEIR_RETURN_IF_ERROR(Refill());
  if (nearest_.empty()) return std::nullopt;
  return std::get<0>(*nearest_.begin());
}

Result<std::optional<DueTimer>> Timers::PopDue(int64_t now) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<int64_t> next, Next());
  if (!next.has_value() || *next > now) return std::nullopt;
  auto [time, hash, key, name_space] = std::move(nearest_.extract(nearest_.begin()).value());
  DueTimer due{.time = time, .hash = hash, .key = std::move(key), .name_space = std::move(name_space)};
  const std::string full = NameSpaceOf(due.time, due.name_space);
  WEIR_RETURN_IF_ERROR(state_->Delete(id_, EntryKey{.hash = due.hash, .key = due.key, .name_space = full}));
  return std::optional<DueTimer>(std::move(due));
}

// One pass over the state keeps the earliest `nearest_max_`.
Status Timers::Refill() {
  nearest_.clear();
  all_nearest_ = true;
  Status failure;
  WEIR_RETURN_IF_ERROR(state_->ScanAll(id_, [&](std::string_view key, std::string_view name_space, std::string_view) {
    if (name_space.size() < kTimeSize) {
      failure = Status::Corruption("a timer's entry has no time");
      return false;
    }
    nearest_.emplace(TimeOf(name_space), HashKey(key), std::string(key), std::string(name_space.substr(kTimeSize)));
    TrimNearest();
    return true;
  }));
  return failure;
}

void Timers::TrimNearest() {
  if (nearest_.size() <= nearest_max_) return;
  nearest_.erase(std::prev(nearest_.end()));
  all_nearest_ = false;
}

}  // namespace weir::state
