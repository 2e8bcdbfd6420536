// One attempt of a job, from the lock on its storage to its last checkpoint: restores, builds the tasks and their
// channels, and lets an Executor run them. The same code in the binary and in the simulator; who owns a Job gives it
// every port.
//
// Life: Start blocks (it reads the checkpoint); then everything happens on the executor's lanes and the workers. The
// owner calls executor.Stop() before it destroys the Job.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/random.h"
#include "base/worker.h"
#include "checkpoint/restore.h"
#include "jobs/execution_plan.h"
#include "jobs/job_control.h"
#include "jobs/job_definition.h"
#include "jobs/job_graph.h"
#include "operators/runtime/executor.h"
#include "operators/runtime/task.h"
#include "state/state_budget.h"
#include "state/table_state.h"

namespace weir::jobs {

struct JobPorts {
  const Clock* clock = nullptr;
  FileSystem* file_system = nullptr;
  Random* random = nullptr;
  WorkerFactory* workers = nullptr;
  operators::Executor* executor = nullptr;
  const operators::Registry* registry = nullptr;
  // What keeps state behind the tables: RocksDB, in the simulator an ordered map.
  state::LocalStoreFactory* stores = nullptr;
  state::StateBudget* budget = nullptr;
  std::function<void()> on_done;  // any thread, once: the state is a final one
};

struct JobOptions {
  checkpoint::RestoreRequest restore;
  uint32_t batches_per_step = 16;
};

class Job {
 public:
  // Blocks. On an error nothing runs and the storage's lock is free again.
  static Result<std::unique_ptr<Job>> Start(JobDefinition definition, JobOptions options, JobPorts ports);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void RequestStop(Duration timeout, bool drain = false) { control_->RequestStop(timeout, drain); }
  bool stop_requested() const { return control_->stop_requested(); }
  void RequestSavepoint(checkpoint::SavepointRequest request) { control_->RequestSavepoint(std::move(request)); }
  // Once it has finished or stopped with everything applied, and the executor has stopped: the last call but the
  // destructor. Nothing can go on from this storage any more.
  Status DeleteCheckpoints();
  // The job's folder in the storage.
  const std::string& storage_root() const { return storage_->root(); }
  JobState state() const { return control_->state(); }
  Status cause() const { return control_->cause(); }
  checkpoint::CheckpointStats checkpoint_stats() const { return control_->stats(); }

  const JobDefinition& definition() const { return definition_; }
  const JobGraph& graph() const { return graph_; }
  // What the start did, for people: restored from where, what was dropped.
  const std::vector<checkpoint::ReportLine>& report() const { return report_; }

  struct Rates {
    uint64_t rows_in = 0;   // of sources
    uint64_t rows_out = 0;  // of sinks
    uint64_t bad_records = 0;
    int64_t lag_records = -1;
  };
  Rates rates() const;  // sums since the start; any thread
  const std::vector<std::unique_ptr<operators::Task>>& tasks() const { return tasks_; }
  // Of what runs outside tasks: enumerators and committers. Any thread.
  const operators::NamedMetrics& metrics() const { return metrics_; }

 private:
  friend class JobBuilder;
  Job() = default;

  JobDefinition definition_;
  JobGraph graph_;
  JobPorts ports_;
  std::vector<checkpoint::ReportLine> report_;

  operators::NamedMetrics metrics_;  // of enumerators and committers
  std::unique_ptr<checkpoint::CheckpointStorage> storage_;
  std::vector<std::unique_ptr<operators::Source>> sources_;  // by node; null for others
  std::vector<std::unique_ptr<operators::Sink>> sinks_;      // by node; null for others
  std::vector<checkpoint::System> systems_;
  std::shared_ptr<std::atomic<bool>> output_blocked_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::unique_ptr<operators::Channel>> channels_;
  std::vector<std::unique_ptr<operators::EnumeratorHost>> hosts_;
  std::vector<std::unique_ptr<HeldReader>> readers_;
  std::vector<std::unique_ptr<operators::Task>> tasks_;
  std::unique_ptr<JobControl> control_;
  std::unique_ptr<Worker> snapshots_;  // last: ends before the tasks
};

}  // namespace weir::jobs
