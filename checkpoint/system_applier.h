// Brings the output of durable checkpoints to one external system, in order, and recovers when the system was down or
// an apply's outcome is unknown (R5). Owned by the coordinator and called on its thread; the committer's calls run on a
// worker of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mailbox.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "checkpoint/checkpoint_metadata.h"
#include "checkpoint/committer.h"
#include "checkpoint/restore_decision.h"

namespace weir {
class FileSystem;
}

namespace weir::checkpoint {

struct ApplierOptions {
  Duration backoff_min = std::chrono::milliseconds(100);
  Duration backoff_max = std::chrono::seconds(10);
  uint32_t retries_max = 10;  // consecutive errors other than kUnavailable, which is retried for ever
};

struct UnconfirmedOutput {
  std::string system;
  uint64_t checkpoints = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  Status last_error;
};

class SystemApplier {
 public:
  struct Ports {
    std::string job;
    UniqueId storage;
    UniqueId attempt;
    const Clock* clock = nullptr;
    Wakeup* wakeup = nullptr;
    WorkerFactory* workers = nullptr;
    FileSystem* file_system = nullptr;
    std::string root;  // of the storage, for the hint applied/<system>
  };

  SystemApplier(ApplierOptions options, Ports ports, const SystemStart& start, std::unique_ptr<Committer> committer);
  ~SystemApplier();

  // Output of a checkpoint that is durable; numbers rise.
  void Add(CheckpointOutput output);
  // Takes results and submits the next call. True if something was done.
  bool Step();
  // When Step has to run without being woken.
  std::optional<MonotonicTime> NextDeadline() const;

  // What `_metadata` says of this system.
  const SystemProgress& progress() const { return progress_; }
  const std::string& identity() const { return progress_.identity; }
  // True if nothing of a checkpoint up to `number` waits and the system has been seen since the start.
  bool Has(uint64_t number) const;
  UnconfirmedOutput unconfirmed() const;
  // Not ok: the job can't go on. kFenced: another process has taken over.
  const Status& failure() const { return failure_; }

 private:
  struct Recovered {  // peek, fence, read
    Result<std::optional<Marker>> marker;
  };
  struct Signed {
    Status status;
  };
  struct Applied {
    CheckpointId checkpoint;
    Status status;
  };
  struct Examined {  // the marker after a fenced apply
    Result<std::optional<Marker>> marker;
  };
  using Event = std::variant<Recovered, Signed, Applied, Examined>;

  void SubmitRecover();
  void SubmitSign();
  void SubmitApply();
  void SubmitExamine();
  void Handle(Recovered event);
  void Handle(Signed event);
  void Handle(Applied event);
  void Handle(Examined event);
  void Retry(const Status& cause);
  Status TakenOverBy(const Marker& marker) const;
  void Confirm(CheckpointId checkpoint);
  void Recount();  // after each change of progress_
  Marker MarkerOf(std::optional<CheckpointId> checkpoint) const;

  const ApplierOptions options_;
  const Ports ports_;
  const std::shared_ptr<Committer> committer_;  // worker's thread
  Mailbox<Event> events_;                       // synchronises itself

  // Owner's thread only.
  SystemProgress progress_;
  uint64_t waiting_rows_ = 0;  // of progress_.later
  uint64_t waiting_bytes_ = 0;
  bool signed_;       // by this attempt, and no outcome is unknown
  bool ever_signed_;  // by this attempt
  // Who may have written the marker besides us without having taken over: whoever had when it was read before signing,
  // nobody once we have signed. Nothing: it was never read, and so anybody.
  std::optional<UniqueId> before_;
  bool busy_ = false;           // a call is with the worker
  uint32_t failures_ = 0;       // consecutive
  uint32_t hard_failures_ = 0;  // those that are not kUnavailable
  std::optional<MonotonicTime> retry_at_;
  Status last_error_;
  Status failure_;

  std::unique_ptr<Worker> worker_;  // last: ends first
};

}  // namespace weir::checkpoint
