// The sink "file": JSON lines in parts of one folder, exactly once by default. The folder is a system of its own,
// "file:<absolute path>"; all file sinks of a job on one folder share a committer. Made by the registry.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "connectors/file/writer.h"
#include "operators/registry.h"

namespace weir::connectors {

class FileSink final : public operators::Sink {
 public:
  FileSink(FileSystem& fs, FileWriterOptions options, std::string row_kind_column);
  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override;
  std::string system() const override;
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext& context) override;

 private:
  FileSystem& fs_;
  const FileWriterOptions options_;
  const std::string row_kind_column_;
};

// `fs` outlives everything that the type creates. Relative paths are below `working_directory`, refused if that is
// empty.
operators::SinkType FileSinkType(FileSystem& fs, std::string working_directory);

}  // namespace weir::connectors
