// What a process shows of its job, from the first attempt to the last: plain values, read at any time and from any
// thread without waiting for the job. The job's thread says where it is; while a job runs, its counters and its
// coordinator's figures are read as they stand. Nothing in a reading is secret but by a definition that is wrong.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "jobs/job.h"

namespace weir::jobs {

// A job's state as people see it: over all of its attempts.
enum class RunState : uint8_t {
  kStarting,
  kRunning,
  kStopping,
  kFinished,
  kStopped,
  kStoppedUnapplied,
  kFailed,
  kRestarting
};
inline constexpr RunState kRunStates[] = {RunState::kStarting, RunState::kRunning,   RunState::kStopping,
                                          RunState::kFinished, RunState::kStopped,   RunState::kStoppedUnapplied,
                                          RunState::kFailed,   RunState::kRestarting};
std::string_view RunStateName(RunState state);

struct SubtaskReading {
  std::string vertex;  // its name, "orders -> paid -> by_customer"
  uint32_t index = 0;
  bool is_source = false;
  bool has_sink = false;
  uint64_t rows_in = 0;
  uint64_t rows_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bad_records = 0;
  uint64_t late_rows = 0;
  int64_t lag_records = -1;  // -1: unknown
  uint64_t unsealed_bytes = 0;
  uint64_t blocked = 0;
};

// One of NamedMetrics.
struct NamedReading {
  std::string uid;
  std::string name;
  operators::MetricLabels labels;
  std::optional<uint32_t> subtask;  // nothing: of an enumerator or a committer
  bool is_counter = false;
  double value = 0;
};

// The job graph as it was built for the newest attempt.
struct GraphReading {
  struct Vertex {
    std::string name;
    uint32_t parallelism = 1;
    std::vector<std::string> uids;
  };
  struct Edge {
    uint32_t from = 0;  // index of a vertex
    uint32_t to = 0;
    std::string side_tag;
    EdgeKind kind = EdgeKind::kForward;
  };
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
};

struct JobReading {
  std::string job;
  RunState state = RunState::kStarting;
  Duration checkpoint_interval{};  // no checkpoint begins sooner after the one before
  int64_t now_wall_ns = 0;
  int64_t process_began_wall_ns = 0;
  MonotonicTime now;
  std::optional<MonotonicTime> attempt_began;  // when the newest attempt's tasks were made; nothing: not yet
  uint64_t restarts = 0;
  std::string last_failure;                 // why the job has last failed, or left output; empty: it has not
  std::optional<MonotonicTime> restart_at;  // of kRestarting
  checkpoint::CheckpointStats checkpoints;  // of the newest attempt
  std::vector<std::string> start_report;
  GraphReading graph;
  std::vector<SubtaskReading> subtasks;  // of a running attempt
  std::vector<NamedReading> named;
  uint64_t state_bytes_max = 0;
  uint64_t memory_bytes_max = 0;
};

class JobObserver {
 public:
  // Both outlive it.
  JobObserver(const JobDefinition& definition, const Clock& clock);

  // The job's thread.
  void Starting();
  // From now on the job's own figures are read. `job` stays until Detach, which waits for a reading that is being made
  // and keeps how the job has ended.
  void Attach(const Job& job);
  void Detach();
  void NotStarted(const Status& cause);
  void Restarting(uint64_t restarts, Duration delay);

  // Any thread.
  JobReading Read() const;

 private:
  void AddFigures(const Job& job, JobReading& reading) const;

  const JobDefinition& definition_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  JobReading last_;           // guarded by mutex_: what outlives an attempt
  const Job* job_ = nullptr;  // guarded by mutex_
};

}  // namespace weir::jobs
