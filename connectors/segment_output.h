// Output segments (checkpoint/sealed_file.h) as every connector writes and reads them; what is in one is the
// connector's own business: a sequence of frames, the last of which says that it ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/committable.h"
#include "connectors/background_files.h"
#include "operators/sink.h"

namespace weir::connectors {

// The half of an exactly-once writer that is the same for all: one segment a barrier. The task's thread.
class SegmentOutput {
 public:
  // `system`: the identity that the committables carry.
  SegmentOutput(std::string system, const operators::WriterContext& context);

  // Frames that are not on their way yet: the caller appends here, then says Added.
  std::string& text() { return files_.text(); }
  // The text has so many rows more. Opens a segment if none is open.
  void Added(uint64_t rows);
  // True while a segment is open: it wants its last frame, and then Seal.
  bool begun() const { return !name_.empty(); }
  void Seal();
  bool sealing() const { return files_.sealing(); }
  // When nothing more comes for now.
  void Flush();

  // Hears what the Worker has done: the first failure, which is final.
  Status TakeResults();
  bool HasRoom() const;
  // What was sealed since the last call; no segment is open.
  std::vector<checkpoint::Committable> TakeCommittables();

 private:
  const std::string system_;
  const std::string uid_;
  const std::string stem_;
  std::string name_;  // of the open segment; empty: none is open
  uint64_t rows_ = 0;
  uint64_t sequence_ = 0;  // of the next segment
  BackgroundFiles files_;
};

// Reads a connector's frames. A frame is taken whole or left for the next piece.
class SegmentFrames {
 public:
  virtual ~SegmentFrames() = default;
  // Takes whole frames from the front of `bytes`; the rest stays. What it hands on is valid during the call.
  virtual Status TakeFrom(std::string_view& bytes) = 0;
  // The last frame was taken.
  virtual bool ended() const = 0;
};

// Gives the file `path` to `frames`. Stops at its first error, which comes back. Corruption names the file and the
// byte. Blocks: a committer's thread.
Status ReadSegmentFile(FileSystem& fs, const std::string& path, SegmentFrames& frames);

}  // namespace weir::connectors
