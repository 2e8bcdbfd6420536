// Text that becomes sealed files behind a task's back: a sink writer appends and seals without waiting, a Worker of its
// own writes, fsyncs and closes. Used by one task's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mailbox.h"
#include "base/status.h"
#include "base/worker.h"
#include "checkpoint/sealed_file.h"
#include "operators/sink.h"

namespace weir::connectors {

class BackgroundFiles {
 public:
  // `worker_name`: what the system shows for the thread.
  BackgroundFiles(std::unique_ptr<checkpoint::FileSealer> sealer, const operators::WriterContext& context,
                  const std::string& worker_name);
  ~BackgroundFiles();

  // Keeps `gauge` at the bytes that were submitted since TakeSealed. It outlives this object.
  void CountUnsealed(std::atomic<uint64_t>& gauge) { unsealed_ = &gauge; }

  // Text of the open file that is not on its way yet: the caller appends here, then says Submit.
  std::string& text() { return text_; }
  // To the file `name`; nothing if there is no text.
  void Submit(const std::string& name);
  // The same, and then the file is closed.
  void SubmitSeal(const std::string& name, uint64_t rows);

  // Hears what the Worker has done; all below are as of then.
  void TakeResults();
  // The first failure; final.
  const Status& failure() const { return failure_; }
  uint64_t waiting_bytes() const { return waiting_bytes_; }  // submitted, not written
  bool sealing() const { return seals_waiting_ > 0; }
  // Sealed since the last call, in order.
  std::vector<checkpoint::SealedFile> TakeSealed();

  // On the Worker, before what is submitted later; the result counts as a failure of the files.
  void SubmitJob(std::move_only_function<Status(checkpoint::FileSealer&)> job);

 private:
  // What a job of the Worker has done.
  struct Done {
    Status status;
    std::string buffer = {};  // back for the next text
    uint64_t bytes = 0;
    std::vector<checkpoint::SealedFile> sealed = {};
  };

  std::string text_;
  std::string spare_;  // an empty buffer with room
  uint64_t waiting_bytes_ = 0;
  uint64_t seals_waiting_ = 0;
  std::atomic<uint64_t>* unsealed_ = nullptr;
  std::vector<checkpoint::SealedFile> sealed_;
  Status failure_;

  Mailbox<Done> done_;                                    // synchronises itself
  const std::unique_ptr<checkpoint::FileSealer> sealer_;  // the Worker's only
  std::unique_ptr<Worker> worker_;                        // last: its jobs use the two above
};

}  // namespace weir::connectors
