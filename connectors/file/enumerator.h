// Finds the files of a file source and gives each to the reader that its name's hash chooses. State: the names that
// were ever assigned, as a JSON list. Control thread; listing folders is a Worker's job.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/mailbox.h"
#include "connectors/file/source.h"
#include "operators/source.h"

namespace weir::connectors {

// The event that makes a reader look at the ends of its files again.
inline constexpr std::string_view kFileGrownEvent = "look";

class FileEnumerator final : public operators::SplitEnumerator {
 public:
  FileEnumerator(FileSystem& fs, FileSourceOptions options);
  ~FileEnumerator() override;

  Status Start(operators::EnumeratorContext context, std::optional<std::string> restored,
               std::vector<operators::SourceSplit> splits) override;
  Status Step() override;
  bool ready() const override { return listed_; }
  Result<std::string> SnapshotState(CheckpointId checkpoint) override;

 private:
  using Listing = Result<std::vector<std::string>>;

  void SubmitListing();
  Status Assign(const std::vector<std::string>& paths);
  uint32_t ReaderOf(std::string_view path) const;

  FileSystem& fs_;
  const FileSourceOptions options_;
  operators::EnumeratorContext context_;
  std::set<std::string> known_;  // assigned by this attempt or one before
  bool listed_ = false;          // once at least: the first start's splits are fixed
  bool listing_ = false;
  MonotonicTime next_listing_;
  std::unique_ptr<Mailbox<Listing>> listings_;
  std::unique_ptr<Worker> worker_;  // last: its jobs post to the mailbox
};

}  // namespace weir::connectors
