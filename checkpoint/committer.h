// The contract of one external system's committer (checkpoint-protocol: fence, read, sign, apply). One per system and
// job. Every call blocks. During a start (restore.h) they come from the starting thread, afterwards from the
// committer's own Worker; one at a time, in the order Peek, Fence, ReadMarker, Verify, Sign, then Apply in the order of
// checkpoint numbers. After an error of Apply with code kUnavailable, kInternal, kIoError or kResourceExhausted the
// outcome is unknown: the caller peeks, fences, reads and decides again by the marker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/committable.h"

namespace weir::checkpoint {

// What the system itself holds of our progress.
struct Marker {
  std::string job;
  UniqueId storage;         // of the storage that wrote it
  UniqueId attempt;         // of the start that wrote it
  CheckpointId checkpoint;  // newest one whose output the system has; number 0: none yet, only signed
  friend bool operator==(const Marker&, const Marker&) = default;
};

class Committer {
 public:
  virtual ~Committer() = default;
  // Reads the marker without disturbing a running owner. Nothing: the system has no marker of this job.
  virtual Result<std::optional<Marker>> Peek() = 0;
  // After Peek: the place itself, where the system's identity is only one way to write its address; empty: that is all.
  // Two systems of one job may not be in one place: they would fence each other.
  virtual std::string place() const { return {}; }
  // Makes every older attempt unable to write; kFailedPrecondition if a live process can't be put out.
  virtual Status Fence() = 0;
  // After Fence: the marker, which can't change any more but by us.
  virtual Result<std::optional<Marker>> ReadMarker() = 0;
  // After Fence: is each of these complete, published already or still to be? A checkpoint that lists one for which the
  // answer is kCorruption or kNotFound is damaged.
  virtual Status Verify(std::span<const Committable> /*listed*/) { return Status::Ok(); }
  // Writes the marker with our storage and attempt; the checkpoint in it must be the one just read. `listed`: every
  // committable that the restored checkpoint lists for this system; what else an older attempt of the job left
  // behind unpublished is deleted.
  virtual Status Sign(const Marker& marker, std::span<const Committable> listed) = 0;
  // All committables and the marker become visible at once, or none. Doing it again is safe. kFenced: another
  // attempt has taken over.
  virtual Status Apply(const Marker& marker, std::span<const Committable> committables) = 0;
};

}  // namespace weir::checkpoint
