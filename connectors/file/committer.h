// Publishes the parts of durable checkpoints in one sink folder (checkpoint-protocol, "Files"). The fence is a flock on
// a file of the job's hidden folder, held from Fence until the committer is gone; the marker is a file beside it. Parts
// of one checkpoint appear one by one, and then the marker: whoever reads the folder meanwhile sees some of them,
// whoever reads the marker knows which are complete. Called on the committer's own Worker only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/file_system.h"
#include "checkpoint/committer.h"
#include "connectors/file/folder.h"
#include "connectors/file/part.h"

namespace weir::connectors {

class FileCommitter final : public checkpoint::Committer {
 public:
  FileCommitter(FileSystem& fs, SinkFolder folder);

  Result<std::optional<checkpoint::Marker>> Peek() override;
  Status Fence() override;
  Result<std::optional<checkpoint::Marker>> ReadMarker() override;
  // A damaged part is kCorruption only while none of `listed` is visible: with one visible, an older checkpoint would
  // write its rows again, so that is kFailedPrecondition, which stops the start.
  Status Verify(std::span<const checkpoint::Committable> listed) override;
  Status Sign(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> listed) override;
  Status Apply(const checkpoint::Marker& marker, std::span<const checkpoint::Committable> committables) override;

 private:
  // Ours by the marker file, or kFenced.
  Status CheckOwner(const UniqueId& attempt);
  // Whole under its final or its hidden name? `visible` becomes true if the final one is there.
  Status VerifyEither(const Part& part, bool& visible) const;
  Status Missing(const Part& part) const;
  Status Publish(const Part& part);

  FileSystem& fs_;
  const SinkFolder folder_;
  std::unique_ptr<FileLock> lock_;
  std::set<std::string> inherited_;  // parts that an earlier attempt wrote: their content is checked before they appear
};

}  // namespace weir::connectors
