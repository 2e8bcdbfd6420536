// Writes a subtask's rows as JSON lines into parts of a sink folder. Rows become text on the task's thread; a Worker of
// the writer's own opens, appends, fsyncs and closes. A part is sealed at every barrier, so that it never spans two
// checkpoints, and earlier when it reaches a bound. Sealed parts are the committables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "connectors/background_files.h"
#include "connectors/file/part.h"
#include "connectors/format/format.h"
#include "operators/sink.h"

namespace weir::connectors {

struct FileWriterOptions {
  std::string path;  // absolute
  std::string prefix = "part";
  int64_t roll_bytes = int64_t{128} << 20;
  int64_t roll_rows = INT64_MAX;
  Duration roll_age = std::chrono::hours(24 * 365);
  int64_t buffer_bytes_max = int64_t{8} << 20;  // text that waits for the Worker
  bool exactly_once = true;
};

class FileSinkWriter final : public operators::SinkWriter {
 public:
  FileSinkWriter(FileSystem& fs, FileWriterOptions options, std::unique_ptr<Serializer> serializer);
  ~FileSinkWriter() override;

  Status Open(operators::WriterContext& context) override;
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Status Flush() override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint) override;

 private:
  void SubmitSeal();

  // Set once.
  FileSystem& fs_;
  const FileWriterOptions options_;
  const std::unique_ptr<Serializer> serializer_;
  const Clock* clock_ = nullptr;
  std::string uid_;
  std::string stem_;

  // The task's thread only.
  std::string part_name_;  // empty: no part is open
  uint64_t part_bytes_ = 0;
  uint64_t part_rows_ = 0;
  MonotonicTime part_begin_;
  uint64_t sequence_ = 0;  // of the next part
  std::unique_ptr<BackgroundFiles> files_;
};

}  // namespace weir::connectors
