// Every system's marker is compared, by id, with the line that the checkpoint records for it: `base`, where the marker
// was last seen, and `later`, the outputs since. A marker on the line tells what is still to be applied; any other one
// means that somebody else wrote to the system, or that our storage is not the newest, and the start is refused.
#include "checkpoint/restore_decision.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace weir::checkpoint {
namespace {

std::string Name(const CheckpointId& id) {
  std::string text = "checkpoint ";
  text += std::to_string(id.number);
  text += " (id ";
  text += id.id.ToString();
  text += ')';
  return text;
}

std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// What a marker says was applied: a signature alone is as good as no marker.
std::optional<CheckpointId> AppliedBy(const std::optional<Marker>& marker) {
  if (!marker.has_value() || marker->checkpoint.number == 0) return std::nullopt;
  return marker->checkpoint;
}

bool Same(const std::optional<CheckpointId>& a, const std::optional<CheckpointId>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || a->id == b->id);
}

// `progress` from its `taken`-th later output on; 0: as it is.
SystemProgress Behind(const SystemProgress& progress, size_t taken) {
  WEIR_CHECK_LE(taken, progress.later.size());
  SystemProgress rest = progress;
  if (taken == 0) return rest;
  rest.base = progress.later[taken - 1].checkpoint;
  rest.later.erase(rest.later.begin(), rest.later.begin() + static_cast<std::ptrdiff_t>(taken));
  return rest;
}

// How many of `later` the system has if it is at `at`; nothing: `at` is not on the line.
std::optional<size_t> PositionOf(const SystemProgress& progress, const std::optional<CheckpointId>& at) {
  if (Same(progress.base, at)) return 0;
  if (!at.has_value()) return std::nullopt;
  for (size_t i = 0; i < progress.later.size(); ++i) {
    if (progress.later[i].checkpoint.id == at->id) return i + 1;
  }
  return std::nullopt;
}

}  // namespace

SystemProgress Unconfirmed(const SystemProgress& listed, const std::optional<CheckpointId>& hint) {
  return Behind(listed, hint.has_value() ? PositionOf(listed, hint).value_or(0) : 0);
}

namespace {

class Decider {
 public:
  Decider(const RestoreRequest& request, const RestoreFacts& facts) : request_(request), facts_(facts) {}

  Result<RestoreDecision> Decide() {
    decision_.next_number = std::max(facts_.greatest_number, NewestNumber()) + 1;
    switch (request_.from) {
      case RestoreRequest::From::kLatest: return Latest();
      case RestoreRequest::From::kNone: return Anew();
      case RestoreRequest::From::kPath: return Chosen();
    }
    WEIR_CHECK(false);
  }

 private:
  // The newest that exists anywhere: the number that --rewind has to name.
  uint64_t NewestNumber() const {
    uint64_t number = facts_.newest.has_value() ? facts_.newest->id.number : 0;
    for (const SystemFact& system : facts_.systems) {
      if (const auto applied = AppliedBy(system.marker)) number = std::max(number, applied->number);
    }
    return number;
  }

  void Report(std::string line) { decision_.report.push_back({LogLevel::kInfo, std::move(line)}); }
  void Warn(std::string line) { decision_.report.push_back({LogLevel::kWarning, std::move(line)}); }

  void WarnOfNoMarker(const std::string& system, const CheckpointId& at) {
    Warn(Concat({"system ", system, " has no marker of job '", facts_.job, "' though it has had output up to ",
                 Name(at), ": it was emptied or replaced, and what is gone is not written again; it is taken to be at ",
                 Name(at)}));
  }

  const CheckpointId* HintOf(const std::string& system) const {
    const auto hint = facts_.applied_hints.find(system);
    return hint == facts_.applied_hints.end() ? nullptr : &hint->second;
  }

  Status NeedReachable(std::string_view why) const {
    for (const SystemFact& system : facts_.systems) {
      if (!system.reachable)
        return Status::Unavailable(Concat({"system ", system.identity, " can't be reached, and ", why}));
    }
    return Status::Ok();
  }

  Result<RestoreDecision> Latest() {
    if (facts_.newest.has_value()) return Resume();
    if (!facts_.damaged.empty()) {
      const DamagedCheckpoint& newest = facts_.damaged.front();
      return Error(Status::Corruption(Concat({"no checkpoint in ", facts_.storage_path, " is whole; the newest, ",
                                              std::to_string(newest.number), ": ", newest.cause.message()})));
    }
    if (facts_.first_published) {
      return Error(Status::FailedPrecondition(Concat(
          {"storage ", facts_.storage_path, " has had checkpoints and none is left; --restore none begins anew"})));
    }
    for (const SystemFact& system : facts_.systems) {
      if (const auto applied = AppliedBy(system.marker)) {
        return Error(Status::FailedPrecondition(
            Concat({"storage ", facts_.storage_path, " is empty, but system ", system.identity, " has output of job '",
                    facts_.job, "' up to ", Name(*applied), ", written by storage ", system.marker->storage.ToString(),
                    "; start with that storage, or begin anew with --restore none --rewind=",
                    std::to_string(NewestNumber())})));
      }
    }
    return Empty(RestoreAction::kFirstStart);
  }

  // An empty checkpoint behind whatever the systems hold.
  Result<RestoreDecision> Empty(RestoreAction action) {
    WEIR_RETURN_IF_ERROR(NeedReachable("a start without a checkpoint waits for every system"));
    decision_.action = action;
    for (const SystemFact& system : facts_.systems) {
      SystemStart start;
      start.progress = {.identity = system.identity, .base = AppliedBy(system.marker), .later = {}};
      decision_.systems.push_back(std::move(start));
    }
    if (action == RestoreAction::kPublishEmpty) ReportDropped();
    return std::move(decision_);
  }

  // The old line ends: what it had not applied yet never will be.
  void ReportDropped() {
    if (!facts_.newest.has_value()) return;
    Warn(Concat({"the line up to ", Name(facts_.newest->id), " is left behind"}));
    for (const SystemFact& system : facts_.systems) {
      const SystemProgress* listed = facts_.newest->System(system.identity);
      if (listed == nullptr) continue;
      const auto position = PositionOf(*listed, AppliedBy(system.marker));
      const uint64_t rows = position.has_value() ? Behind(*listed, *position).Rows() : 0;
      if (rows > 0) {
        Warn(Concat(
            {"system ", system.identity, ": ", std::to_string(rows), " rows that it had not taken are dropped"}));
      }
    }
  }

  Result<RestoreDecision> Anew() {
    WEIR_RETURN_IF_ERROR(NeedReachable("--restore none waits for every system"));
    const bool ahead = std::any_of(facts_.systems.begin(), facts_.systems.end(),
                                   [](const SystemFact& system) { return AppliedBy(system.marker).has_value(); });
    const bool untouched = !facts_.newest.has_value() && facts_.damaged.empty() && !facts_.first_published;
    if (request_.rewind.has_value() && *request_.rewind != NewestNumber() && facts_.newest.has_value()) {
      return RewindUsed();
    }
    if (ahead && request_.rewind != NewestNumber()) return Error(NeedsRewind("--restore none"));
    return Empty(untouched && !ahead ? RestoreAction::kFirstStart : RestoreAction::kPublishEmpty);
  }

  Result<RestoreDecision> RewindUsed() {
    Report(Concat({"--rewind=", std::to_string(*request_.rewind), " has been used: the newest checkpoint is ",
                   std::to_string(NewestNumber()), " by now and is taken"}));
    return Resume();
  }

  Status NeedsRewind(std::string_view what) const {
    std::string message = Concat({what, ": "});
    for (const SystemFact& system : facts_.systems) {
      const auto applied = AppliedBy(system.marker);
      if (!applied.has_value()) continue;
      if (request_.from == RestoreRequest::From::kPath && !IsAhead(system)) continue;
      message += Concat({"system ", system.identity, " is at ", Name(*applied), " already, written by storage ",
                         system.marker->storage.ToString(), "; "});
    }
    message += Concat({"rows behind the restored point would be written again; who accepts that says --rewind=",
                       std::to_string(NewestNumber())});
    if (request_.rewind.has_value())
      message += Concat({" (--rewind=", std::to_string(*request_.rewind), " was given)"});
    return Status::FailedPrecondition(std::move(message));
  }

  Result<RestoreDecision> Chosen() {
    WEIR_CHECK(facts_.chosen.has_value());
    const CheckpointMetadata& chosen = *facts_.chosen;
    const bool in_line = facts_.newest.has_value() && facts_.newest->IsOrDescendsFrom(chosen.id.id);
    if (in_line && !request_.rewind.has_value()) {
      Report(Concat(
          {"the storage holds ", Name(facts_.newest->id), ", which comes from ", request_.path, ": it is taken"}));
      return Resume();
    }
    if (in_line && facts_.newest->id.id == chosen.id.id && *request_.rewind == chosen.id.number) return Resume();
    WEIR_RETURN_IF_ERROR(NeedReachable("a restore by choice waits for every system"));
    if (in_line && *request_.rewind != NewestNumber()) return RewindUsed();
    return PublishChosen(chosen);
  }

  Result<RestoreDecision> PublishChosen(const CheckpointMetadata& chosen) {
    WEIR_RETURN_IF_ERROR(CheckUids(chosen));
    if (chosen.job == facts_.job) WEIR_RETURN_IF_ERROR(CheckRemovedSystems(chosen));
    bool ahead = false;
    for (const SystemFact& system : facts_.systems) {
      WEIR_ASSIGN_OR_RETURN(SystemStart start, StartOfChosen(chosen, system));
      ahead = ahead || IsAhead(system);
      decision_.systems.push_back(std::move(start));
    }
    if (ahead && request_.rewind != NewestNumber()) return Error(NeedsRewind(Concat({"--restore ", request_.path})));
    decision_.action = RestoreAction::kPublishChosen;
    ReportDropped();
    return std::move(decision_);
  }

  // True if the system holds output that the chosen checkpoint does not know.
  bool IsAhead(const SystemFact& system) const {
    const auto applied = AppliedBy(system.marker);
    if (!applied.has_value()) return false;
    const SystemProgress* listed = facts_.chosen->System(system.identity);
    if (listed != nullptr && facts_.chosen->job == facts_.job) return !Same(listed->Target(), applied);
    return !facts_.chosen->IsOrDescendsFrom(applied->id);
  }

  Result<SystemStart> StartOfChosen(const CheckpointMetadata& chosen, const SystemFact& system) {
    const auto applied = AppliedBy(system.marker);
    const SystemProgress* listed = chosen.job == facts_.job ? chosen.System(system.identity) : nullptr;
    SystemStart start;
    start.progress = {.identity = system.identity, .base = applied, .later = {}};
    start.is_new = listed == nullptr;
    if (listed == nullptr) return start;
    const auto target = listed->Target();
    const CheckpointId* hint = HintOf(system.identity);
    if (!applied.has_value() && target.has_value()) {
      const bool has_all = hint != nullptr && hint->id == target->id;
      if (has_all || request_.assume == target->number) {
        WarnOfNoMarker(system.identity, *target);
        start.progress.base = target;
        return start;
      }
      if (listed->base.has_value()) return Error(NoMarker(*listed));
    }
    const auto position = PositionOf(*listed, applied);
    if (position.has_value() && *position < listed->later.size()) {
      return Error(Status::FailedPrecondition(
          Concat({"system ", system.identity, " has not applied ", Name(chosen.id), " at ", request_.path,
                  " yet: only an applied checkpoint can be restored by choice; start with --restore latest"})));
    }
    return start;
  }

  Status NoMarker(const SystemProgress& progress) const {
    std::string message = Concat({"system ", progress.identity, " has no marker of job '", facts_.job,
                                  "' though it was known to be at least at "});
    message += progress.base.has_value() ? Name(*progress.base) : "a checkpoint that it confirmed";
    message += "; if its output is there, say up to which checkpoint with --assume <number>, one of";
    for (const auto& at : {progress.base}) {
      if (at.has_value()) message += Concat({" ", std::to_string(at->number)});
    }
    for (const CheckpointOutput& output : progress.later)
      message += Concat({" ", std::to_string(output.checkpoint.number)});
    return Status::FailedPrecondition(std::move(message));
  }

  Result<RestoreDecision> Resume() {
    const CheckpointMetadata& newest = *facts_.newest;
    decision_.action = RestoreAction::kResume;
    WEIR_RETURN_IF_ERROR(CheckUids(newest));
    WEIR_RETURN_IF_ERROR(CheckRemovedSystems(newest));
    if (!facts_.damaged.empty()) {
      WEIR_RETURN_IF_ERROR(NeedReachable("whether it names a damaged checkpoint must be known"));
    }
    for (const SystemFact& system : facts_.systems) {
      const SystemProgress* listed = newest.System(system.identity);
      Result<SystemStart> start = listed == nullptr ? StartOfNew(newest, system) : StartOfListed(*listed, system);
      if (!start.has_value()) return Error(NamingDamage(std::move(start).error()));
      decision_.systems.push_back(std::move(*start));
    }
    for (const DamagedCheckpoint& damaged : facts_.damaged) {
      Warn(Concat({"checkpoint ", std::to_string(damaged.number),
                   " is damaged and passed over, no system names it: ", damaged.cause.message()}));
    }
    return std::move(decision_);
  }

  Status NamingDamage(Status status) const {
    if (facts_.damaged.empty() || status.code() != StatusCode::kFailedPrecondition) return status;
    const DamagedCheckpoint& damaged = facts_.damaged.front();
    return {status.code(), Concat({status.message(), "; checkpoint ", std::to_string(damaged.number),
                                   " is damaged and can't be passed over: ", damaged.cause.message()})};
  }

  Result<SystemStart> StartOfNew(const CheckpointMetadata& newest, const SystemFact& system) {
    if (!system.reachable) {
      return Error(Status::Unavailable(Concat({"system ", system.identity, " can't be reached, and it is new to ",
                                               Name(newest.id), ": the start waits for it"})));
    }
    const auto applied = AppliedBy(system.marker);
    const bool foreign = applied.has_value() && system.marker->storage != facts_.storage &&
                         !newest.IsOrDescendsFrom(applied->id) && request_.rewind != applied->number;
    if (foreign) {
      return Error(Status::FailedPrecondition(
          Concat({"system ", system.identity, " is new to ", Name(newest.id), " but is at ", Name(*applied),
                  " of job '", facts_.job, "', written by storage ", system.marker->storage.ToString(),
                  "; --rewind=", std::to_string(applied->number), " accepts that output as it is"})));
    }
    Report(Concat({"system ", system.identity, " is new to ", Name(newest.id)}));
    SystemStart start;
    start.progress = {.identity = system.identity, .base = applied, .later = {}};
    start.is_new = true;
    return start;
  }

  Result<SystemStart> StartOfListed(const SystemProgress& listed, const SystemFact& system) {
    SystemStart start;
    start.reachable = system.reachable;
    if (!system.reachable) {
      start.progress = listed;
      Report(Concat({"system ", system.identity, " can't be reached; its output waits"}));
      return start;
    }
    const CheckpointId* hint = HintOf(system.identity);
    const bool known = listed.base.has_value() || (hint != nullptr && PositionOf(listed, *hint).has_value()) ||
                       AssumedPosition(listed).has_value();
    if (!AppliedBy(system.marker).has_value() && known) {
      WEIR_ASSIGN_OR_RETURN(start.progress, WithoutMarker(listed, hint));
      return start;
    }
    WEIR_ASSIGN_OR_RETURN(start.progress, ProgressFromMarker(listed, system.marker));
    return start;
  }

  // Where --assume says that the system is.
  std::optional<size_t> AssumedPosition(const SystemProgress& listed) const {
    if (!request_.assume.has_value()) return std::nullopt;
    if (listed.base.has_value() && listed.base->number == *request_.assume) return 0;
    for (size_t i = 0; i < listed.later.size(); ++i) {
      if (listed.later[i].checkpoint.number == *request_.assume) return i + 1;
    }
    return std::nullopt;
  }

  Result<SystemProgress> WithoutMarker(const SystemProgress& listed, const CheckpointId* hint) {
    std::optional<size_t> position;
    if (hint != nullptr && Same(listed.Target(), *hint)) position = listed.later.size();
    if (!position.has_value()) position = AssumedPosition(listed);
    if (!position.has_value()) return Error(NoMarker(listed));
    SystemProgress rest = Behind(listed, *position);
    WarnOfNoMarker(listed.identity, *rest.base);
    return rest;
  }

  Status CheckUids(const CheckpointMetadata& checkpoint) {
    OperatorMatch match = MatchOperators(request_, facts_.uids, checkpoint);
    WEIR_RETURN_IF_ERROR(match.refusal);
    decision_.renamed = std::move(match.renamed);
    std::move(match.report.begin(), match.report.end(), std::back_inserter(decision_.report));
    return Status::Ok();
  }

  // Systems that the checkpoint lists and the definition lacks.
  Status CheckRemovedSystems(const CheckpointMetadata& checkpoint) {
    for (const SystemProgress& listed : checkpoint.systems) {
      const bool defined =
          std::any_of(facts_.systems.begin(), facts_.systems.end(),
                      [&listed](const SystemFact& system) { return system.identity == listed.identity; });
      const CheckpointId* hint = HintOf(listed.identity);
      const SystemProgress rest = Unconfirmed(listed, hint == nullptr ? std::nullopt : std::optional(*hint));
      if (defined || rest.later.empty()) continue;
      const std::string rows = std::to_string(rest.Rows());
      if (!request_.drop_output.contains(listed.identity)) {
        return Status::FailedPrecondition(
            Concat({"system ", listed.identity, " is not in the job definition and has not confirmed ", rows,
                    " rows; --drop-output ", listed.identity, " gives them up"}));
      }
      Warn(Concat({"system ", listed.identity, ": ", rows, " unconfirmed rows are dropped"}));
    }
    return Status::Ok();
  }

  const RestoreRequest& request_;
  const RestoreFacts& facts_;
  RestoreDecision decision_;
};

// What --map-operator asks for, one by one.
class Renaming {
 public:
  Renaming(const std::set<std::string>& uids, const CheckpointMetadata& checkpoint, OperatorMatch& match)
      : uids_(uids), checkpoint_(checkpoint), match_(match) {
    for (std::string& uid : checkpoint.StatefulUids()) stored_.insert(std::move(uid));
  }

  Status Add(const std::string& from, const std::string& to) {
    const std::string what = Concat({"--map-operator ", from, "=", to, ": "});
    if (!uids_.contains(to)) return Refused(what, "the job definition has no operator with state that is called '", to);
    if (uids_.contains(from)) return Refused(what, "the job definition still has an operator '", from);
    if (!stored_.contains(from)) {
      const bool used = stored_.contains(to);
      match_.report.push_back(
          {used ? LogLevel::kInfo : LogLevel::kWarning,
           Concat({what, Name(checkpoint_.id),
                   used ? " has its state under the new name already" : " holds no state under either name"})});
      return Status::Ok();
    }
    if (stored_.contains(to)) return Refused(what, Name(checkpoint_.id) + " holds state of both, also of '", to);
    for (const auto& [other, taken] : match_.renamed) {
      if (taken == to) return Refused(what, "the same state would also come from '", other);
    }
    match_.renamed.emplace(from, to);
    return Status::Ok();
  }

 private:
  static Status Refused(std::string_view what, std::string_view why, std::string_view uid) {
    return Status::FailedPrecondition(Concat({what, why, uid, "'"}));
  }

  const std::set<std::string>& uids_;
  const CheckpointMetadata& checkpoint_;
  std::set<std::string> stored_;
  OperatorMatch& match_;
};

}  // namespace

OperatorMatch MatchOperators(const RestoreRequest& request, const std::set<std::string>& uids,
                             const CheckpointMetadata& checkpoint) {
  OperatorMatch match;
  Renaming renaming(uids, checkpoint, match);
  for (const auto& [from, to] : request.map_operators) {
    const Status status = renaming.Add(from, to);
    if (!status.ok() && match.refusal.ok()) match.refusal = status;
  }
  std::string missing;
  for (const std::string& uid : checkpoint.StatefulUids()) {
    if (uids.contains(uid) || match.renamed.contains(uid)) continue;
    match.dropped.push_back(uid);
    missing += missing.empty() ? "'" : ", '";
    missing += uid;
    missing += '\'';
  }
  if (missing.empty()) return match;
  if (request.allow_non_restored_state) {
    match.report.push_back(
        {LogLevel::kWarning,
         Concat({"state of ", missing, " is dropped: the job definition has no operator with state of that name"})});
  } else if (match.refusal.ok()) {
    match.refusal = Status::FailedPrecondition(Concat(
        {Name(checkpoint.id), " holds state of ", missing,
         ", and the job definition has no operator with state of that name; --allow-non-restored-state drops it, "
         "--map-operator OLD=NEW gives it to an operator of another name"}));
  }
  return match;
}

Result<RestoreDecision> DecideRestore(const RestoreRequest& request, const RestoreFacts& facts) {
  return Decider(request, facts).Decide();
}

Result<SystemProgress> ProgressFromMarker(const SystemProgress& progress, const std::optional<Marker>& marker) {
  const auto applied = AppliedBy(marker);
  if (const auto position = PositionOf(progress, applied)) return Behind(progress, *position);
  if (!applied.has_value()) {
    return Error(Status::FailedPrecondition(
        Concat({"system ", progress.identity, " has no marker though it was at ", Name(*progress.base)})));
  }
  std::string message = Concat({"system ", progress.identity, " is at ", Name(*applied), ", written by storage ",
                                marker->storage.ToString(), ", which is not in this line: it knows "});
  message += progress.base.has_value() ? Name(*progress.base) : "no marker";
  message += Concat({" and ", std::to_string(progress.later.size()), " later outputs"});
  if (!progress.later.empty()) message += Concat({" up to ", Name(progress.later.back().checkpoint)});
  if (progress.base.has_value() && applied->number < progress.base->number) {
    message += Concat({"; the system was put back: output behind checkpoint ", std::to_string(applied->number),
                       " up to ", std::to_string(progress.base->number), " is not kept any more"});
  }
  return Error(Status::FailedPrecondition(std::move(message)));
}

}  // namespace weir::checkpoint
