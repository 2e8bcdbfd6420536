// Finds the files of a file source and gives each to the reader that its split's hash chooses. A file is known by its
// identity, not by its name: a renamed one is no new split, and a new one under a known name is. Control thread;
// looking at the disk is a Worker's job.
//
// A split's id is the file's path, or "<n>:<path>" for a file that was found after the first start: an id is never used
// again. State: {"files":{"/in/a.log":{"device":66306,"inode":1312}},"next":1}; in older checkpoints a list of paths.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/file_system.h"
#include "base/mailbox.h"
#include "connectors/file/position.h"
#include "connectors/file/source.h"
#include "operators/source.h"

namespace weir::connectors {

// The event that makes a reader look at the ends of its files again.
inline constexpr std::string_view kFileGrownEvent = "look";
// From a reader, with a split's id behind it: the file is gone and the split finished. Its identity may come back with
// another file.
inline constexpr std::string_view kFileGoneEvent = "gone:";

class FileEnumerator final : public operators::SplitEnumerator {
 public:
  FileEnumerator(FileSystem& fs, FileSourceOptions options);
  ~FileEnumerator() override;

  Status Start(operators::EnumeratorContext context, std::optional<std::string> restored,
               std::vector<operators::SourceSplit> splits) override;
  Status Step() override;
  Status HandleEvent(uint32_t subtask, const std::string& event) override;
  bool ready() const override { return listed_ && !resolving_; }
  Result<std::string> SnapshotState(CheckpointId checkpoint) override;

 private:
  struct Listed {
    std::string path;
    FileIdentity identity;
    uint64_t size_bytes = 0;
  };
  struct Listing {
    std::vector<Listed> files;
    std::set<std::string> gone;  // splits whose file was gone before the folder was listed
  };
  struct Restored {
    std::string id;
    FilePosition position;
  };
  using Answer = Result<std::variant<Listing, std::vector<Restored>>>;

  Status ReadState(const std::string& text);
  void SubmitRestored(std::vector<operators::SourceSplit> splits);
  void SubmitListing();
  Result<std::vector<Listed>> ListFiles() const;  // blocks
  void AssignRestored(const std::vector<Restored>& splits);
  Status Assign(const Listing& listing);
  Status AddFile(const Listed& file, std::vector<std::vector<operators::SourceSplit>>& of_reader);
  void Know(const std::string& id, const FileIdentity& identity);
  void Forget(const std::string& id);
  uint32_t ReaderOf(std::string_view id) const;

  FileSystem& fs_;
  const FileSourceOptions options_;
  operators::EnumeratorContext context_;
  // By split: what was assigned by this attempt or one before and is not gone. Without identity: of an older
  // checkpoint.
  std::map<std::string, std::optional<FileIdentity>> known_;
  std::set<FileIdentity> identities_;  // of known_
  // Splits whose file is gone. Forgotten with a listing that was begun later: an earlier one may show the file still.
  std::set<std::string> gone_;
  uint64_t next_number_ = 1;  // of a split's id
  bool first_start_ = false;
  bool resolving_ = false;  // restored splits are being found again
  bool listed_ = false;     // once at least: the first start's splits are fixed
  bool listing_ = false;
  MonotonicTime next_listing_;
  std::unique_ptr<Mailbox<Answer>> answers_;
  std::unique_ptr<Worker> worker_;  // last: its jobs post to the mailbox
};

}  // namespace weir::connectors
