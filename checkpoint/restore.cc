// The order is the point: everything that can refuse the start without harm comes before the fence, everything that
// decides comes after it, and a marker is signed last, when the checkpoint it belongs to is on the disk.
#include "checkpoint/restore.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/fault_site.h"
#include "base/log.h"
#include "checkpoint/applied_hint.h"
#include "checkpoint/claim.h"
#include "checkpoint/sealed_file.h"

namespace weir::checkpoint {
namespace {

Marker MarkerAt(const StartContext& context, const std::optional<CheckpointId>& checkpoint) {
  return {.job = context.storage->job(),
          .storage = context.storage->id(),
          .attempt = context.attempt,
          .checkpoint = checkpoint.value_or(CheckpointId{})};
}

std::vector<Committable> AllOf(const SystemProgress& progress) {
  std::vector<Committable> all;
  for (const CheckpointOutput& output : progress.later) {
    all.insert(all.end(), output.committables.begin(), output.committables.end());
  }
  return all;
}

std::vector<SystemProgress> ProgressOf(const std::vector<SystemStart>& starts) {
  std::vector<SystemProgress> systems;
  for (const SystemStart& start : starts) systems.push_back(start.progress);
  std::sort(systems.begin(), systems.end(),
            [](const SystemProgress& a, const SystemProgress& b) { return a.identity < b.identity; });
  return systems;
}

bool IsDamage(const Status& status) {
  return status.code() == StatusCode::kCorruption || status.code() == StatusCode::kNotFound;
}

Status PublishNow(const StartContext& context, const CheckpointMetadata& metadata) {
  WEIR_RETURN_IF_ERROR(context.storage->Begin(metadata.id.number));
  const PublishOutcome outcome = context.storage->Publish(metadata);
  FAULT_SITE("start.after-publish");
  return outcome.status;
}

// A system that went away since the fence may be signed later, by its applier; whoever must be there fails the start.
Status SignAll(const StartContext& context, const CheckpointMetadata& checkpoint, bool all_needed,
               std::vector<SystemStart>& starts) {
  for (size_t i = 0; i < starts.size(); ++i) {
    SystemStart& start = starts[i];
    if (!start.reachable) continue;
    const SystemProgress* listed = checkpoint.System(start.progress.identity);
    const std::vector<Committable> all = listed == nullptr ? std::vector<Committable>{} : AllOf(*listed);
    const Status status = (*context.systems)[i].committer->Sign(MarkerAt(context, start.progress.base), all);
    FAULT_SITE("start.after-sign");
    if (status.code() == StatusCode::kUnavailable && !all_needed && !start.is_new) {
      start.reachable = false;
    } else if (!status.ok()) {
      return status.WithContext("system " + start.progress.identity);
    }
  }
  return Status::Ok();
}

void DeleteLeftovers(const StartContext& context) {
  const Result<CheckpointStorage::Garbage> garbage = context.storage->FindLeftovers(context.retain);
  const Status status = garbage.has_value() ? context.storage->DeleteGarbage(*garbage) : garbage.error();
  if (!status.ok()) LogWarning(status.WithContext("left-overs of aborted checkpoints can't be deleted").ToString());
}

// One run of StartAttempt.
class Starter {
 public:
  Starter(const RestoreRequest& request, const StartContext& context) : request_(request), context_(context) {}

  Result<RestoredJob> Run() {
    WEIR_RETURN_IF_ERROR(GatherStorage());
    WEIR_RETURN_IF_ERROR(FindNewestWhole());
    WEIR_RETURN_IF_ERROR(ReadChosen());
    WEIR_RETURN_IF_ERROR(ReadMarkers(&Committer::Peek));
    WEIR_RETURN_IF_ERROR(CheckPlaces());
    WEIR_RETURN_IF_ERROR(Decide());
    WEIR_RETURN_IF_ERROR(VerifyChosen());
    FAULT_SITE("start.after-peek");
    WEIR_RETURN_IF_ERROR(Fence());
    FAULT_SITE("start.after-fence");
    WEIR_RETURN_IF_ERROR(ReadMarkers(&Committer::ReadMarker));
    FAULT_SITE("start.after-read");
    WEIR_RETURN_IF_ERROR(Decide());
    while (decision_.action == RestoreAction::kResume) {
      WEIR_ASSIGN_OR_RETURN(const bool output_is_whole, VerifyOutput());
      if (output_is_whole) break;
      WEIR_RETURN_IF_ERROR(FindNewestWhole());
      WEIR_RETURN_IF_ERROR(Decide());
    }
    WEIR_RETURN_IF_ERROR(VerifyChosen());
    return Act();
  }

 private:
  Status GatherStorage() {
    CheckpointStorage& storage = *context_.storage;
    facts_.job = storage.job();
    facts_.storage = storage.id();
    facts_.storage_path = storage.root();
    facts_.first_published = storage.FirstPublished();
    facts_.uids = context_.uids;
    WEIR_ASSIGN_OR_RETURN(facts_.greatest_number, storage.GreatestNumber());
    WEIR_ASSIGN_OR_RETURN(candidates_, storage.DurableNumbers());
    for (const System& system : *context_.systems) {
      facts_.systems.push_back({.identity = system.identity, .reachable = true, .marker = std::nullopt});
    }
    return Status::Ok();
  }

  // The next candidate whose metadata and files are as they were written.
  Status FindNewestWhole() {
    facts_.newest.reset();
    while (next_candidate_ < candidates_.size()) {
      const uint64_t number = candidates_[next_candidate_++];
      Result<CheckpointMetadata> metadata = context_.storage->LoadMetadata(number);
      Status status = metadata.has_value()
                          ? context_.storage->VerifyFiles(*metadata, CheckpointStorage::Verify::kChecksums)
                          : metadata.error();
      if (status.ok()) {
        facts_.newest = std::move(*metadata);
        ReadHints(*facts_.newest);
        return Status::Ok();
      }
      if (!IsDamage(status)) return status.WithContext("checkpoint " + std::to_string(number) + " can't be read");
      facts_.damaged.push_back({.number = number, .cause = std::move(status)});
    }
    return Status::Ok();
  }

  // Once, where the decision is for it; the subtasks rely on that.
  Status VerifyChosen() {
    if (decision_.action != RestoreAction::kPublishChosen || chosen_verified_) return Status::Ok();
    WEIR_RETURN_IF_ERROR(VerifyCheckpointFolder(context_.storage->file_system(), request_.path, *facts_.chosen,
                                                CheckpointStorage::Verify::kChecksums));
    chosen_verified_ = true;
    return Status::Ok();
  }

  void ReadHints(const CheckpointMetadata& checkpoint) {
    std::set<std::string> identities;
    for (const SystemFact& system : facts_.systems) identities.insert(system.identity);
    for (const SystemProgress& system : checkpoint.systems) identities.insert(system.identity);
    for (const std::string& identity : identities) {
      const auto hint = ReadAppliedHint(context_.storage->file_system(), context_.storage->root(), identity);
      if (hint.has_value()) facts_.applied_hints[identity] = *hint;
    }
  }

  Status ReadChosen() {
    if (request_.from != RestoreRequest::From::kPath) return Status::Ok();
    Result<std::string> folder = FindCheckpointFolder(context_.storage->file_system(), request_.path);
    if (folder.has_value()) {
      request_.path = std::move(*folder);
      WEIR_ASSIGN_OR_RETURN(facts_.chosen, ReadCheckpointFolder(context_.storage->file_system(), request_.path));
      ReadHints(*facts_.chosen);
      return request_.claim ? CheckClaimable(context_.storage->file_system(), request_.path, *facts_.chosen)
                            : Status::Ok();
    }
    if (folder.error().code() != StatusCode::kNotFound) return folder.error();
    if (!IsRetiredAncestor()) return folder.error().WithContext("--restore");
    request_.from = RestoreRequest::From::kLatest;
    report_.push_back({.text = "the storage holds checkpoint " + std::to_string(facts_.newest->id.number) +
                               ", which comes from " + request_.path + ": it is taken"});
    return Status::Ok();
  }

  // True if `path` was a checkpoint of this storage, or a savepoint that it claimed, from which the newest one comes: a
  // command line that is repeated must work when retention or the claim has removed what it names.
  bool IsRetiredAncestor() const {
    if (!facts_.newest.has_value()) return false;
    const bool repeated = !request_.rewind.has_value() || *request_.rewind != facts_.newest->id.number;
    if (!repeated) return false;
    std::vector<CheckpointId> line = facts_.newest->restored_from;
    line.insert(line.end(), facts_.newest->ancestors.begin(), facts_.newest->ancestors.end());
    std::vector<std::string> folders;
    for (const CheckpointId& id : line) folders.push_back(context_.storage->CheckpointFolder(id.number));
    if (facts_.newest->claimed.has_value()) folders.push_back(facts_.newest->claimed->folder);
    std::string path = request_.path;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return std::ranges::any_of(folders, [&path](const std::string& folder) {
      return path == folder || path == JoinPath(folder, kMetadataName);
    });
  }

  Status ReadMarkers(Result<std::optional<Marker>> (Committer::*read)()) {
    for (size_t i = 0; i < facts_.systems.size(); ++i) {
      SystemFact& fact = facts_.systems[i];
      if (!fact.reachable) continue;
      Result<std::optional<Marker>> marker = ((*context_.systems)[i].committer.get()->*read)();
      if (marker.has_value()) {
        fact.marker = std::move(*marker);
      } else if (marker.error().code() == StatusCode::kUnavailable) {
        Lost(fact, marker.error());
      } else {
        return marker.error().WithContext("system " + fact.identity);
      }
    }
    return Status::Ok();
  }

  Status CheckPlaces() const {
    std::map<std::string, std::string> identities;
    for (const System& system : *context_.systems) {
      const std::string place = system.committer->place();
      if (place.empty()) continue;
      const auto [first, is_new] = identities.emplace(place, system.identity);
      if (is_new) continue;
      return Status::FailedPrecondition("systems " + first->second + " and " + system.identity + " are both " + place +
                                        "; the sinks that write there must name it in the same way");
    }
    return Status::Ok();
  }

  Status Fence() {
    for (size_t i = 0; i < facts_.systems.size(); ++i) {
      SystemFact& fact = facts_.systems[i];
      if (!fact.reachable) continue;
      const Status status = (*context_.systems)[i].committer->Fence();
      if (status.code() == StatusCode::kUnavailable) {
        Lost(fact, status);
      } else if (!status.ok()) {
        return status.WithContext("system " + fact.identity);
      }
    }
    return Status::Ok();
  }

  void Lost(SystemFact& fact, const Status& cause) {
    LogWarning(cause.WithContext("system " + fact.identity + " can't be reached").ToString());
    fact.reachable = false;
    fact.marker.reset();
  }

  Status Decide() {
    WEIR_ASSIGN_OR_RETURN(decision_, DecideRestore(request_, facts_));
    if (!context_.fits) return Status::Ok();
    const state::StateOwners& renamed = decision_.renamed;
    if (decision_.action == RestoreAction::kResume) return context_.fits(*facts_.newest, renamed);
    return decision_.action == RestoreAction::kPublishChosen ? context_.fits(*facts_.chosen, renamed) : Status::Ok();
  }

  // False: output that the newest checkpoint lists is damaged, and it joins the damaged ones.
  Result<bool> VerifyOutput() {
    for (size_t i = 0; i < facts_.systems.size(); ++i) {
      SystemFact& fact = facts_.systems[i];
      const std::vector<Committable> due = AllOf(decision_.systems[i].progress);  // what is applied may be gone by now
      Status status = VerifySegments(due);
      if (status.ok() && fact.reachable && !due.empty()) status = (*context_.systems)[i].committer->Verify(due);
      if (status.ok()) continue;
      status = status.WithContext("system " + fact.identity);
      if (!IsDamage(status)) return Error(std::move(status));
      facts_.damaged.push_back({.number = facts_.newest->id.number, .cause = std::move(status)});
      return false;
    }
    return true;
  }

  // Of a system that can't be reached, all that waited: a segment stays as long as a retained checkpoint names it.
  Status VerifySegments(const std::vector<Committable>& due) {
    CheckpointStorage& storage = *context_.storage;
    for (const Committable& one : due) {
      if (one.segment.empty()) continue;
      const std::string path = JoinPath(storage.OutputFolder(), one.segment);
      const SealedFile file{one.segment, one.size_bytes, one.checksum, one.rows};
      WEIR_RETURN_IF_ERROR(VerifySealedFile(storage.file_system(), path, file, true));
    }
    return Status::Ok();
  }

  Result<RestoredJob> Act() {
    RestoredJob job;
    job.attempt = context_.attempt;
    job.next_number = decision_.next_number;
    job.systems = std::move(decision_.systems);
    for (size_t i = 0; i < job.systems.size(); ++i) {
      const SystemFact& fact = facts_.systems[i];
      if (fact.reachable) job.systems[i].seen_attempt = fact.marker.value_or(Marker{}).attempt;
    }
    job.renamed = std::move(decision_.renamed);
    job.report = std::move(report_);
    job.report.insert(job.report.end(), decision_.report.begin(), decision_.report.end());
    job.is_first_start = decision_.action == RestoreAction::kFirstStart;
    switch (decision_.action) {
      case RestoreAction::kFirstStart:
      case RestoreAction::kPublishEmpty: return job;  // PublishFirst does the rest
      case RestoreAction::kResume: WEIR_RETURN_IF_ERROR(Resume(job)); break;
      case RestoreAction::kPublishChosen: WEIR_RETURN_IF_ERROR(PublishChosen(job)); break;
    }
    DeleteLeftovers(context_);
    return job;
  }

  // Of the checkpoint that is taken, once the start has chosen it.
  void Claim(CheckpointMetadata& checkpoint, RestoredJob& job) const {
    if (!request_.claim || !facts_.chosen.has_value()) return;
    checkpoint.claimed = {.folder = request_.path, .id = facts_.chosen->id};
    job.report.push_back({.text = "savepoint " + request_.path +
                                  " is claimed: it is deleted when the job has its next " + "durable checkpoint"});
  }

  Status Resume(RestoredJob& job) {
    WEIR_RETURN_IF_ERROR(context_.storage->SyncCheckpoint(*facts_.newest));
    for (const DamagedCheckpoint& damaged : facts_.damaged) {
      LogWarning("checkpoint " + std::to_string(damaged.number) + " is kept aside: " + damaged.cause.message());
      WEIR_RETURN_IF_ERROR(context_.storage->KeepAside(damaged.number));
    }
    WEIR_RETURN_IF_ERROR(SignAll(context_, *facts_.newest, false, job.systems));
    Claim(*facts_.newest, job);
    job.checkpoint = std::move(facts_.newest);
    return Status::Ok();
  }

  Status PublishChosen(RestoredJob& job) {
    CheckpointMetadata metadata = *facts_.chosen;
    WEIR_RETURN_IF_ERROR(context_.storage->Import(request_.path, context_.attempt, metadata));
    metadata.format_version = kMetadataFormatVersion;
    metadata.restored_from.push_back(facts_.chosen->id);
    metadata.ancestors = AncestorsOfChild(*facts_.chosen);
    metadata.job = facts_.job;
    metadata.storage = facts_.storage;
    metadata.attempt = context_.attempt;
    metadata.id = {.number = job.next_number++, .id = context_.random->NextId()};
    metadata.created_wall_ns = context_.clock->WallNs();
    metadata.savepoint = false;
    metadata.claimed.reset();
    Claim(metadata, job);
    metadata.systems = ProgressOf(job.systems);
    WEIR_RETURN_IF_ERROR(PublishNow(context_, metadata));
    WEIR_RETURN_IF_ERROR(SignAll(context_, metadata, true, job.systems));
    job.checkpoint = std::move(metadata);
    return Status::Ok();
  }

  RestoreRequest request_;
  const StartContext& context_;
  RestoreFacts facts_;
  std::vector<uint64_t> candidates_;  // numbers with a _metadata, falling
  size_t next_candidate_ = 0;
  bool chosen_verified_ = false;
  RestoreDecision decision_;
  std::vector<ReportLine> report_;
};

}  // namespace

Result<RestoredJob> StartAttempt(const RestoreRequest& request, const StartContext& context) {
  WEIR_CHECK(context.storage != nullptr && context.clock != nullptr && context.random != nullptr);
  WEIR_CHECK(context.systems != nullptr);
  return Starter(request, context).Run();
}

Status PublishFirst(const StartContext& context, std::map<std::string, std::string> enumerators,
                    std::vector<AssignedSplit> assigned, RestoredJob& job) {
  WEIR_CHECK(!job.checkpoint.has_value());
  CheckpointMetadata metadata;
  metadata.job = context.storage->job();
  metadata.storage = context.storage->id();
  metadata.attempt = context.attempt;
  metadata.id = {.number = job.next_number++, .id = context.random->NextId()};
  metadata.key_groups = context.key_groups;
  metadata.enumerators = std::move(enumerators);
  metadata.assigned_splits = std::move(assigned);
  metadata.created_wall_ns = context.clock->WallNs();
  metadata.systems = ProgressOf(job.systems);
  WEIR_RETURN_IF_ERROR(PublishNow(context, metadata));
  WEIR_RETURN_IF_ERROR(SignAll(context, metadata, true, job.systems));
  job.checkpoint = std::move(metadata);
  DeleteLeftovers(context);
  return Status::Ok();
}

}  // namespace weir::checkpoint
