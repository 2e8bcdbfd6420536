// Reads the lines of its files: one file after the other, or in turn when following. A Worker of the reader's own reads
// ahead; the task's thread cuts the bytes into lines and lets the format read them. The position in a file moves behind
// a line when the line's rows are emitted, so that a snapshot between two polls is exact. Memory: a read or two of 1
// MiB and one line a file that is being read.
//
// A followed file stays open, so that a new name or none changes nothing until it has been read to its end; it is
// finished when a look finds that it has no name left and has not grown. Beyond kOpenFilesMax files the others are
// opened for each look, and found again by identity. Each read begins with bytes that were read before and compares.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/mailbox.h"
#include "connectors/file/position.h"
#include "connectors/file/source.h"
#include "connectors/format/format.h"
#include "operators/source.h"

namespace weir::connectors {

inline constexpr size_t kOpenFilesMax = 256;  // that a reader keeps open while nothing new is in them

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
    std::string id;
    FilePosition position;
    std::shared_ptr<ReadableFile> open;  // null: not now
    uint64_t read_offset = 0;            // of the next read
    std::string bytes;  // read: up to kFingerprintBytes that are done, what is to be cut from `begin` on
    size_t begin = 0;
    size_t searched = 0;         // no line end before this
    bool at_end = false;         // the last read came to the file's end
    bool gone = false;           // and the file has no name left
    bool watermark_due = false;  // restored: to be emitted again
    bool end_told = false;       // the greatest watermark is out
    bool reported = false;       // finished, and a snapshot says so
    std::string long_line;       // the beginning of a line that is too long
    uint64_t long_bytes = 0;     // of that line so far; 0: none
  };
  struct ReadBytes {
    std::shared_ptr<ReadableFile> file;  // null: it can't be found any more
    FileInfo info;
    std::string bytes;
    bool at_end = false;
  };
  struct ReadResult {
    std::string id;
    Result<ReadBytes> read;
  };

  // Blocks: the worker's. From `offset` on, before which the bytes `before` lie.
  static Result<ReadBytes> Read(FileSystem& fs, std::shared_ptr<ReadableFile> file, const FilePosition& position,
                                uint64_t offset, const std::string& before);
  Status TakeResults();
  Status TakeRead(File& file, ReadBytes read);
  void RequestRead(const File& file);
  void Close(File& file);
  void Finish(File& file);
  void EmitDueWatermarks(operators::SourceOutput& output);
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
  std::function<void(std::string event)> send_event_;

  // The task's thread only.
  RowCollector collector_;
  std::deque<File> files_;
  size_t open_files_ = 0;
  size_t turn_ = 0;       // whose turn it is
  bool reading_ = false;  // one read at a time
  bool complete_ = false;
  bool watermarks_due_ = false;

  std::unique_ptr<Mailbox<ReadResult>> results_;
  std::unique_ptr<Worker> worker_;  // last: its jobs post to the mailbox
};

}  // namespace weir::connectors
