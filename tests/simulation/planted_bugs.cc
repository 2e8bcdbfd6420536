#include "tests/simulation/planted_bugs.h"

#include <string>
#include <utility>
#include <vector>

namespace weir::simulation {
namespace {

using operators::SourceReader;
using operators::SourceSplit;

class ForgetfulFile final : public WritableFile {
 public:
  explicit ForgetfulFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status Append(std::string_view data) override { return file_->Append(data); }
  Status Sync() override { return Status::Ok(); }
  Status Close() override { return file_->Close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

class ForgetfulFileSystem final : public FileSystem {
 public:
  explicit ForgetfulFileSystem(FileSystem& fs) : fs_(fs) {}
  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(auto file, fs_.OpenForWrite(path, mode));
    return std::make_unique<ForgetfulFile>(std::move(file));
  }
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override { return fs_.OpenForRead(path); }
  Status Rename(const std::string& from, const std::string& to) override { return fs_.Rename(from, to); }
  Status Link(const std::string& from, const std::string& to) override { return fs_.Link(from, to); }
  Status Remove(const std::string& path) override { return fs_.Remove(path); }
  Status RemoveTree(const std::string& path) override { return fs_.RemoveTree(path); }
  Status CreateDirectories(const std::string& path) override { return fs_.CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& path) override { return fs_.List(path); }
  Status SyncDirectory(const std::string&) override { return Status::Ok(); }
  Result<Info> Stat(const std::string& path) override { return fs_.Stat(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return fs_.Lock(path); }
  Result<uint64_t> FreeBytes(const std::string& path) override { return fs_.FreeBytes(path); }

 private:
  FileSystem& fs_;
};

class EarlyReader final : public SourceReader {
 public:
  explicit EarlyReader(std::unique_ptr<SourceReader> reader) : reader_(std::move(reader)) {}
  Status Open(operators::ReaderContext& context) override { return reader_->Open(context); }
  Status AddSplits(std::vector<SourceSplit> splits) override { return reader_->AddSplits(std::move(splits)); }
  void NoMoreSplits() override { reader_->NoMoreSplits(); }
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override { return reader_->PollNext(output); }
  std::vector<SourceSplit> SnapshotState(CheckpointId checkpoint) override {
    std::vector<SourceSplit> splits = reader_->SnapshotState(checkpoint);
    // The one before is durable by now; that it is applied nobody has said.
    if (before_.number != 0) (void)reader_->NotifyCheckpointApplied(before_);
    before_ = checkpoint;
    return splits;
  }
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }
  Status HandleEvent(const std::string& event) override { return reader_->HandleEvent(event); }
  std::optional<MonotonicTime> NextDeadline() const override { return reader_->NextDeadline(); }

 private:
  std::unique_ptr<SourceReader> reader_;
  CheckpointId before_;
};

class EarlySource final : public operators::Source {
 public:
  explicit EarlySource(std::unique_ptr<operators::Source> source) : source_(std::move(source)) {}
  Result<std::unique_ptr<operators::SplitEnumerator>> CreateEnumerator() override {
    return source_->CreateEnumerator();
  }
  Result<std::unique_ptr<SourceReader>> CreateReader() override {
    WEIR_ASSIGN_OR_RETURN(auto reader, source_->CreateReader());
    return std::make_unique<EarlyReader>(std::move(reader));
  }
  bool bounded() const override { return source_->bounded(); }

 private:
  std::unique_ptr<operators::Source> source_;
};

}  // namespace

std::unique_ptr<FileSystem> MakeForgetful(FileSystem& fs) { return std::make_unique<ForgetfulFileSystem>(fs); }

operators::Registry WithEarlyAcknowledgement(const operators::Registry& registry) {
  operators::Registry changed;
  for (const auto& [name, type] : registry.operators()) changed.Add(type);
  for (const auto& [name, type] : registry.sinks()) changed.Add(type);
  for (const auto& [name, type] : registry.sources()) {
    operators::SourceType early = type;
    early.create = [create =
                        type.create](const operators::Options& options) -> Result<std::unique_ptr<operators::Source>> {
      WEIR_ASSIGN_OR_RETURN(auto source, create(options));
      return std::make_unique<EarlySource>(std::move(source));
    };
    changed.Add(std::move(early));
  }
  return changed;
}

}  // namespace weir::simulation
