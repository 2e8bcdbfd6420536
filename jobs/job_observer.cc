#include "jobs/job_observer.h"

#include <algorithm>

namespace weir::jobs {
namespace {

RunState RunStateOf(JobState state) {
  switch (state) {
    case JobState::kStarting: return RunState::kStarting;
    case JobState::kRunning: return RunState::kRunning;
    case JobState::kStopping: return RunState::kStopping;
    case JobState::kFinished: return RunState::kFinished;
    case JobState::kStopped: return RunState::kStopped;
    case JobState::kStoppedUnapplied: return RunState::kStoppedUnapplied;
    case JobState::kFailed: return RunState::kFailed;
  }
  return RunState::kFailed;
}

GraphReading GraphOf(const JobDefinition& definition, const JobGraph& graph) {
  GraphReading reading;
  for (const Vertex& vertex : graph.vertices) {
    GraphReading::Vertex& one = reading.vertices.emplace_back();
    one.name = vertex.name;
    one.parallelism = vertex.parallelism;
    for (const size_t node : vertex.nodes) one.uids.push_back(definition.nodes[node].id);
  }
  for (const Edge& edge : graph.edges) reading.edges.push_back({edge.from, edge.to, edge.side_tag, edge.kind});
  return reading;
}

void AddNamed(const operators::NamedMetrics& metrics, std::optional<uint32_t> subtask,
              std::vector<NamedReading>& named) {
  metrics.ForEach([&](const operators::NamedMetrics::Shown& shown) {
    named.push_back({shown.uid, shown.name, shown.labels, subtask, shown.is_counter, shown.value});
  });
}

SubtaskReading ReadSubtask(const operators::Task& task, bool has_sink) {
  const operators::SubtaskMetrics& metrics = task.metrics();
  const auto load = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  SubtaskReading reading;
  reading.vertex = task.name();
  reading.index = task.id().index;
  reading.is_source = task.is_source();
  reading.has_sink = has_sink;
  reading.rows_in = load(metrics.rows_in);
  reading.rows_out = load(metrics.rows_out);
  reading.bytes_in = load(metrics.bytes_in);
  reading.bad_records = load(metrics.bad_records);
  reading.late_rows = load(metrics.late_rows);
  reading.lag_records = load(metrics.lag_records);
  reading.unsealed_bytes = load(metrics.unsealed_bytes);
  reading.blocked = load(metrics.blocked);
  return reading;
}

}  // namespace

std::string_view RunStateName(RunState state) {
  switch (state) {
    case RunState::kStarting: return "starting";
    case RunState::kRunning: return "running";
    case RunState::kStopping: return "stopping";
    case RunState::kFinished: return "finished";
    case RunState::kStopped: return "stopped";
    case RunState::kStoppedUnapplied: return "stopped-unapplied";
    case RunState::kFailed: return "failed";
    case RunState::kRestarting: return "restarting";
  }
  return "?";
}

JobObserver::JobObserver(const JobDefinition& definition, const Clock& clock) : definition_(definition), clock_(clock) {
  last_.job = definition.name;
  last_.checkpoint_interval = std::max(definition.checkpoint.interval, definition.checkpoint.min_pause);
  last_.process_began_wall_ns = clock.WallNs();
  last_.state_bytes_max = definition.state_bytes_max;
  last_.memory_bytes_max = definition.memory_bytes_max;
}

void JobObserver::Starting() {
  const std::lock_guard lock(mutex_);
  last_.state = RunState::kStarting;
  last_.restart_at.reset();
  last_.attempt_began.reset();
}

void JobObserver::Attach(const Job& job) {
  const std::lock_guard lock(mutex_);
  job_ = &job;
  last_.attempt_began = clock_.Now();
  last_.graph = GraphOf(definition_, job.graph());
  last_.start_report.clear();
  for (const checkpoint::ReportLine& line : job.report()) last_.start_report.push_back(line.text);
}

void JobObserver::Detach() {
  const std::lock_guard lock(mutex_);
  last_.state = RunStateOf(job_->state());
  last_.checkpoints = job_->checkpoint_stats();
  if (const Status cause = job_->cause(); !cause.ok()) last_.last_failure = cause.ToString();
  job_ = nullptr;
}

void JobObserver::NotStarted(const Status& cause) {
  const std::lock_guard lock(mutex_);
  last_.state = RunState::kFailed;
  last_.last_failure = cause.ToString();
}

void JobObserver::Restarting(uint64_t restarts, Duration delay) {
  const std::lock_guard lock(mutex_);
  last_.state = RunState::kRestarting;
  last_.restarts = restarts;
  last_.restart_at = clock_.Now() + delay;
}

JobReading JobObserver::Read() const {
  const std::lock_guard lock(mutex_);
  JobReading reading = last_;
  reading.now = clock_.Now();
  reading.now_wall_ns = clock_.WallNs();
  if (job_ != nullptr) AddFigures(*job_, reading);
  return reading;
}

void JobObserver::AddFigures(const Job& job, JobReading& reading) const {
  reading.state = RunStateOf(job.state());
  reading.checkpoints = job.checkpoint_stats();
  for (const auto& task : job.tasks()) {
    const Vertex& vertex = job.graph().vertices[task->id().vertex];
    reading.subtasks.push_back(ReadSubtask(*task, definition_.nodes[vertex.nodes.back()].kind == NodeKind::kSink));
    AddNamed(task->metrics().named, task->id().index, reading.named);
  }
  AddNamed(job.metrics(), std::nullopt, reading.named);
}

}  // namespace weir::jobs
