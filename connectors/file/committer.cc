#include "connectors/file/committer.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fault_site.h"
#include "connectors/file/marker.h"
#include "connectors/marker_text.h"

namespace weir::connectors {

using checkpoint::Committable;
using checkpoint::Marker;

FileCommitter::FileCommitter(FileSystem& fs, SinkFolder folder) : fs_(fs), folder_(std::move(folder)) {}

Result<std::optional<Marker>> FileCommitter::Peek() { return ReadMarkerFile(fs_, folder_.marker()); }

Status FileCommitter::Fence() {
  if (lock_ != nullptr) return Status::Ok();
  WEIR_RETURN_IF_ERROR(folder_.Ensure(fs_));
  Result<std::unique_ptr<FileLock>> lock = fs_.Lock(folder_.lock());
  if (!lock.has_value())
    return lock.error().WithContext("sink folder " + folder_.path() + " is in use by this job already");
  lock_ = std::move(*lock);
  return Status::Ok();
}

Result<std::optional<Marker>> FileCommitter::ReadMarker() {
  WEIR_CHECK(lock_ != nullptr);
  return ReadMarkerFile(fs_, folder_.marker());
}

Status FileCommitter::Verify(std::span<const Committable> listed) {
  std::string visible;
  Status damage;
  for (const Committable& committable : listed) {
    WEIR_ASSIGN_OR_RETURN(const Part part, PartFromJson(committable.payload));
    bool is_visible = false;
    const Status status = VerifyEither(part, is_visible);
    if (is_visible && visible.empty()) visible = part.name;
    if (status.ok()) continue;
    if (status.code() != StatusCode::kCorruption) return status;
    if (damage.ok()) damage = status;
  }
  if (damage.ok() || visible.empty()) return damage;
  return Status::FailedPrecondition(damage.message() + "; and part " + visible + " can be seen in " + folder_.path() +
                                    " already: to go back to an older checkpoint would write its rows again");
}

Status FileCommitter::VerifyEither(const Part& part, bool& visible) const {
  const Status published = checkpoint::VerifySealedFile(fs_, folder_.Part(part.name), part, true);
  visible = published.ok() || published.code() == StatusCode::kCorruption;
  if (published.code() != StatusCode::kNotFound) return published;
  const Status hidden = checkpoint::VerifySealedFile(fs_, folder_.HiddenPart(part.name), part, true);
  return hidden.code() == StatusCode::kNotFound ? Missing(part) : hidden;
}

Status FileCommitter::Missing(const Part& part) const {
  return Status::Corruption("part " + part.name + " of the checkpoint is neither at " + folder_.HiddenPart(part.name) +
                            " nor at " + folder_.Part(part.name));
}

Status FileCommitter::Sign(const Marker& marker, std::span<const Committable> listed) {
  WEIR_CHECK(lock_ != nullptr);
  inherited_.clear();
  for (const Committable& committable : listed) {
    WEIR_ASSIGN_OR_RETURN(Part part, PartFromJson(committable.payload));
    inherited_.insert(std::move(part.name));
  }
  WEIR_RETURN_IF_ERROR(WriteFileDurably(fs_, folder_.marker(), MarkerToText(marker)));
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(folder_.hidden_path()));
  for (const std::string& name : names) {
    // This attempt's writers may be at work already.
    if (!SinkFolder::IsPart(name) || inherited_.contains(name) || IsOfAttempt(name, marker.attempt)) continue;
    WEIR_RETURN_IF_ERROR(fs_.Remove(folder_.HiddenPart(name)));
  }
  return Status::Ok();
}

Status FileCommitter::Apply(const Marker& marker, std::span<const Committable> committables) {
  WEIR_CHECK(lock_ != nullptr);
  WEIR_RETURN_IF_ERROR(CheckOwner(marker.attempt));
  for (const Committable& committable : committables) {
    WEIR_ASSIGN_OR_RETURN(const Part part, PartFromJson(committable.payload));
    WEIR_RETURN_IF_ERROR(Publish(part));
    inherited_.erase(part.name);
  }
  if (!committables.empty()) {
    WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_.path()));
    WEIR_RETURN_IF_ERROR(fs_.SyncDirectory(folder_.hidden_path()));
  }
  WEIR_RETURN_IF_ERROR(WriteFileDurably(fs_, folder_.marker(), MarkerToText(marker)));
  FAULT_SITE("file.marker-replaced");
  return Status::Ok();
}

Status FileCommitter::CheckOwner(const UniqueId& attempt) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<Marker> found, ReadMarkerFile(fs_, folder_.marker()));
  if (!found.has_value()) {
    return Status::FailedPrecondition("marker file " + folder_.marker() +
                                      " is gone: the sink folder was emptied or replaced");
  }
  if (found->attempt == attempt) return Status::Ok();
  return Status::Fenced("sink folder " + folder_.path() + " was taken over by attempt " + found->attempt.ToString());
}

// A part has been published before if its final name is there with its content; a power loss between two folders' syncs
// can leave the hidden name beside it.
Status FileCommitter::Publish(const Part& part) {
  const std::string final_path = folder_.Part(part.name);
  const std::string hidden_path = folder_.HiddenPart(part.name);
  const Status published = checkpoint::VerifySealedFile(fs_, final_path, part, true);
  if (published.ok()) {
    const Status removed = fs_.Remove(hidden_path);
    return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
  }
  if (published.code() != StatusCode::kNotFound) return published;
  const Status hidden = checkpoint::VerifySealedFile(fs_, hidden_path, part, inherited_.contains(part.name));
  if (hidden.code() == StatusCode::kNotFound) return Missing(part);
  WEIR_RETURN_IF_ERROR(hidden);
  WEIR_RETURN_IF_ERROR(fs_.Rename(hidden_path, final_path));
  FAULT_SITE("file.part-renamed");
  return Status::Ok();
}

}  // namespace weir::connectors
