// Reads the lines of its files: one file after the other, or in turn when following. A Worker of the reader's own reads
// ahead; the task's thread cuts the bytes into lines and lets the format read them. The position in a file moves behind
// a line when the line's rows are emitted, so that a snapshot between two polls is exact. Memory: a read or two of 1
// MiB and one line a file that is being read.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/mailbox.h"
#include "connectors/file/source.h"
#include "connectors/format/format.h"
#include "operators/source.h"

namespace weir::connectors {

// A split's position: {"finished":false,"line":3,"offset":120}
struct FilePosition {
  uint64_t offset = 0;    // bytes behind the last line that was read
  uint64_t line = 0;      // lines read
  bool finished = false;  // the end was reached and nobody waits for more

  std::string ToJson() const;
  static Result<FilePosition> FromJson(std::string_view json);
};

class FileReader final : public operators::SourceReader {
 public:
  FileReader(FileSystem& fs, FileSourceOptions options, std::unique_ptr<Deserializer> deserializer);
  ~FileReader() override;

  Status Open(operators::ReaderContext& context) override;
  Status AddSplits(std::vector<operators::SourceSplit> splits) override;
  void NoMoreSplits() override { complete_ = true; }
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override;
  // A finished file is in one snapshot and then forgotten: the enumerator, which is asked before, knows it by then.
  std::vector<operators::SourceSplit> SnapshotState(CheckpointId checkpoint) override;
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }
  Status HandleEvent(const std::string& event) override;

 private:
  struct File {
    std::string path;
    FilePosition position;
    uint64_t read_offset = 0;  // of the next read
    std::string bytes;         // read, not cut into lines yet: from `begin` on
    size_t begin = 0;
    size_t searched = 0;      // no line end before this
    bool at_end = false;      // the last read came to the file's end
    bool end_told = false;    // the greatest watermark is out
    bool reported = false;    // finished, and a snapshot says so
    std::string long_line;    // the beginning of a line that is too long
    uint64_t long_bytes = 0;  // of that line so far; 0: none
  };
  struct ReadResult {
    std::string path;
    Result<std::string> bytes;
  };

  Status TakeResults();
  void RequestRead(const File& file);
  // Reads up to a batch of lines; the number of lines.
  Result<size_t> ReadLines(File& file, operators::SourceOutput& output);
  // The next whole line, or at the end of a file that is not followed what is left. False: more bytes are needed.
  bool NextLine(File& file, std::string_view& line, uint64_t& line_bytes);
  Status Deserialize(File& file, std::string_view line, operators::SourceOutput& output);
  Status BadLine(const File& file, std::string_view line, const Status& problem, operators::SourceOutput& output);
  bool Finished() const;

  FileSystem& fs_;
  const FileSourceOptions options_;
  const std::unique_ptr<Deserializer> deserializer_;
  std::string uid_;
  operators::SubtaskMetrics* metrics_ = nullptr;

  // The task's thread only.
  RowCollector collector_;
  std::deque<File> files_;
  size_t turn_ = 0;       // whose turn it is
  bool reading_ = false;  // one read at a time
  bool complete_ = false;

  std::unique_ptr<Mailbox<ReadResult>> results_;
  std::unique_ptr<Worker> worker_;  // last: its jobs post to the mailbox
};

}  // namespace weir::connectors
