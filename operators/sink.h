// The contract of a sink connector's author: a writer in each subtask, and for exactly-once delivery one Committer a
// system (checkpoint/committer.h). The writer is called on the task's thread and never waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "checkpoint/committable.h"
#include "checkpoint/committer.h"
#include "operators/batch.h"
#include "operators/metrics.h"

namespace weir::operators {

struct WriterContext {
  std::string job;
  std::string uid;
  uint32_t subtask = 0;
  uint32_t parallelism = 1;
  UniqueId attempt;
  FileSystem* file_system = nullptr;
  std::string output_folder = {};  // for segments (checkpoint/sealed_file.h)
  std::string segment_stem = {};   // what their names begin with: no other writer of any start has it
  const Clock* clock = nullptr;
  WorkerFactory* workers = nullptr;
  Wakeup* wakeup = nullptr;  // wakes this writer's task
  SubtaskMetrics* metrics = nullptr;
};

class SinkWriter {
 public:
  virtual ~SinkWriter() = default;
  virtual Status Open(WriterContext& context) = 0;
  // False while the writer's bounded buffers are full; it wakes the task when that ends. Nothing is written meanwhile.
  virtual bool CanWrite() = 0;
  // Takes the batch over. An error ends the task.
  virtual Status Write(Batch batch) = 0;
  // Every row with a time at or below `watermark` has been written. Default: nothing.
  virtual Status ProcessWatermark(Watermark watermark);
  // When nothing more comes for now: pass on what a linger would hold back.
  virtual Status Flush();
  // At a barrier, repeated until it says true: everything written so far is acknowledged by the system (at least once)
  // or sealed on disk (exactly once). The task takes no row meanwhile; the writer wakes it.
  virtual Result<bool> ReadyForBarrier() = 0;
  // Right after ReadyForBarrier said true. Exactly once: what was sealed since the last call. At least once: nothing.
  virtual Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId checkpoint) = 0;
};

// Who commits for a job on one system.
struct CommitterContext {
  std::string job;
  UniqueId attempt;
  FileSystem* file_system = nullptr;
  std::string output_folder = {};  // where the segments of the job's writers are
  const Clock* clock = nullptr;
  NamedMetrics* metrics = nullptr;  // null: nobody looks
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<std::unique_ptr<SinkWriter>> CreateWriter() = 0;
  // The system's identity, the same for all sinks of a job that share a committer. Empty: at least once, no committer.
  virtual std::string system() const = 0;
  // What the committer is made of besides, by option: all sinks of a job on one system must say the same. Values may be
  // secrets.
  virtual std::map<std::string, std::string> committer_settings() const { return {}; }
  virtual Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const CommitterContext& context) = 0;
};

}  // namespace weir::operators
