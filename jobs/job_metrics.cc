#include "jobs/job_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "jobs/metrics_text.h"

namespace weir::jobs {
namespace {

using Labels = MetricsText::Labels;

struct NamedHelp {
  std::string_view name;
  std::string_view help;
};

// Of single connectors and operators. One that is not listed is shown all the same.
constexpr NamedHelp kNamedHelp[] = {
    {"applied_watermark_seconds", "Watermark of the rows that the newest applied checkpoint has brought to the sink."},
    {"apply_errors", "Statements of the sink that its system has refused."},
    {"best_effort", "1 while rows leave as they come, 0 while they wait for the watermark."},
    {"conflicts", "Rows that the target's newer version has kept out."},
    {"deletes", "Rows that the sink has deleted."},
    {"event_time_seconds", "Event time of the newest row of the batch that the source has read last."},
    {"frontier_proposed_seconds", "Time up to which every partition is resolved."},
    {"frontier_seconds", "Time up to which rows may leave, announced to all readers."},
    {"mode_switches", "Switches between consistent and best effort."},
    {"partition_lag", "Records between the reader's position and the partition's end."},
    {"partition_offset", "Offset of the next record that the reader takes."},
    {"partition_polled_seconds", "When the reader has asked for the partition's records last."},
    {"partition_resolved_seconds", "The partition's newest resolved time."},
    {"partitions_paused", "Partitions that wait because they are too far ahead of the frontier."},
    {"records_received", "Records that the reader has taken."},
    {"resolved_backwards", "Resolved times that lay before the partition's newest one."},
    {"rows_duplicate", "Rows that have come before."},
    {"rows_early", "Rows that have left above the watermark."},
    {"rows_stale", "Rows that are older than what was resolved or applied."},
    {"rows_waiting", "Rows in state that wait for the watermark."},
    {"seeks", "Searches for the offset of a time."},
    {"upserts", "Rows that the sink has inserted or updated."},
    {"waiting_bytes", "Bytes of the rows that wait for the frontier."},
    {"waiting_rows", "Rows that wait for the frontier."},
    {"watermark_seconds", "The chain's watermark: no row with this time or an older one follows."},
};

std::string_view HelpOf(std::string_view name) {
  const auto* found = std::ranges::find(kNamedHelp, name, &NamedHelp::name);
  return found == std::end(kNamedHelp) ? "Of single connectors and operators." : found->help;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
double Number(uint64_t count) { return static_cast<double>(count); }

class Page {
 public:
  explicit Page(const JobReading& reading) : reading_(reading) {}

  std::string Text(const ProcessReading& process) {
    AddProcess(process);
    AddJob();
    AddCheckpoints();
    AddSystems();
    for (const SubtaskReading& subtask : reading_.subtasks) AddSubtask(subtask);
    for (const NamedReading& named : reading_.named) AddNamed(named);
    AddLags();
    return text_.Text();
  }

 private:
  Labels Of(Labels more) const {
    more.insert(more.begin(), {"job", reading_.job});
    return more;
  }
  void Gauge(std::string_view name, std::string_view help, double value) { text_.Gauge(name, help, Of({}), value); }
  void Counter(std::string_view name, std::string_view help, double value) { text_.Counter(name, help, Of({}), value); }

  void AddProcess(const ProcessReading& process) {
    text_.Gauge("weir_build_info", "Which Weir this is; always 1.",
                {{"version", process.version}, {"build", process.build}}, 1);
    text_.Gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", {},
                static_cast<double>(reading_.process_began_wall_ns) / 1e9);
    text_.Counter("process_cpu_seconds_total", "CPU time of all threads, user and system.", {}, process.cpu_seconds);
    text_.Gauge("process_resident_memory_bytes", "Resident size.", {}, Number(process.resident_bytes));
    text_.Gauge("process_open_fds", "Open descriptors.", {}, Number(process.open_descriptors));
  }

  void AddJob() {
    for (const RunState state : kRunStates) {
      text_.Gauge("weir_job_state", "1 for the state that the job is in, else 0.",
                  Of({{"state", std::string(RunStateName(state))}}), state == reading_.state ? 1 : 0);
    }
    Counter("weir_job_restarts_total", "Restarts in this process.", Number(reading_.restarts));
    if (reading_.attempt_began.has_value()) {
      Gauge("weir_job_uptime_seconds", "Since the newest attempt has begun.",
            Seconds(reading_.now - *reading_.attempt_began));
    }
    Gauge("weir_state_bytes_max", "Memory that keyed state may take, RocksDB's caches and buffers with it.",
          Number(reading_.state_bytes_max));
    Gauge("weir_memory_bytes_max", "Bound of the process's memory.", Number(reading_.memory_bytes_max));
  }

  void AddCheckpoints() {
    const checkpoint::CheckpointStats& stats = reading_.checkpoints;
    Gauge("weir_checkpoint_durable_number", "Newest checkpoint that is durable.", Number(stats.last_number));
    Gauge("weir_checkpoint_applied_number", "Newest checkpoint that every system has.", Number(stats.applied_number));
    Gauge("weir_checkpoint_interval_seconds", "From one checkpoint to the next, as the definition says.",
          Seconds(reading_.checkpoint_interval));
    Counter("weir_checkpoints_completed_total", "Durable checkpoints of the newest attempt.", Number(stats.completed));
    Counter("weir_checkpoints_failed_total", "Failed checkpoints of the newest attempt.", Number(stats.failed));
    if (stats.durable_at.has_value()) {
      Gauge("weir_checkpoint_durable_age_seconds", "Since the newest checkpoint was durable.",
            Seconds(reading_.now - *stats.durable_at));
      Gauge("weir_checkpoint_duration_seconds", "From the newest checkpoint's trigger until it was durable.",
            Seconds(stats.last_duration));
      Gauge("weir_checkpoint_state_bytes", "State that the newest checkpoint refers to.", Number(stats.last_bytes));
      Gauge("weir_checkpoint_new_bytes", "State that was written for the newest checkpoint.",
            Number(stats.last_bytes_new));
    }
    if (stats.applied_at.has_value()) {
      Gauge("weir_checkpoint_applied_age_seconds", "Since a checkpoint was applied in every system.",
            Seconds(reading_.now - *stats.applied_at));
    }
  }

  void AddSystems() {
    for (const checkpoint::SystemStats& system : reading_.checkpoints.systems) {
      const Labels labels = Of({{"system", system.waiting.system}});
      text_.Gauge("weir_output_waiting_bytes", "Durable output that the system has not confirmed.", labels,
                  Number(system.waiting.bytes));
      text_.Gauge("weir_output_waiting_rows", "The same in rows.", labels, Number(system.waiting.rows));
      text_.Gauge("weir_output_waiting_checkpoints", "The same in checkpoints.", labels,
                  Number(system.waiting.checkpoints));
    }
  }

  void AddSubtask(const SubtaskReading& subtask) {
    const Labels labels = Of({{"vertex", subtask.vertex}, {"subtask", std::to_string(subtask.index)}});
    text_.Counter("weir_rows_in_total", "Rows that the chain's head has taken; a source: emitted.", labels,
                  Number(subtask.rows_in));
    text_.Counter("weir_rows_out_total", "Rows that have left the chain's end; a sink: written.", labels,
                  Number(subtask.rows_out));
    text_.Counter("weir_bytes_in_total", "Bytes that the source has read.", labels, Number(subtask.bytes_in));
    text_.Counter("weir_bad_records_total", "Records that were skipped or given to the dead letters.", labels,
                  Number(subtask.bad_records));
    text_.Counter("weir_late_rows_total", "Rows that came behind the watermark.", labels, Number(subtask.late_rows));
    text_.Counter("weir_blocked_total", "Steps that could not go on because of a full output.", labels,
                  Number(subtask.blocked));
    if (subtask.is_source && subtask.lag_records >= 0) {
      text_.Gauge("weir_lag_records", "Records between the source's position and the end.", labels,
                  static_cast<double>(subtask.lag_records));
    }
    if (subtask.has_sink) {
      text_.Gauge("weir_unsealed_bytes", "Output of the sink since the last barrier.", labels,
                  Number(subtask.unsealed_bytes));
    }
  }

  void AddNamed(const NamedReading& named) {
    Labels labels = Of({{"uid", named.uid}});
    if (named.subtask.has_value()) labels.emplace_back("subtask", std::to_string(*named.subtask));
    labels.insert(labels.end(), named.labels.begin(), named.labels.end());
    const std::string name = "weir_" + named.name;
    if (named.is_counter) {
      text_.Counter(name + "_total", HelpOf(named.name), std::move(labels), named.value);
    } else {
      text_.Gauge(name, HelpOf(named.name), std::move(labels), named.value);
    }
  }

  // A source is as far as its foremost subtask, a sink as its hindmost.
  void AddLags() {
    const double now = static_cast<double>(reading_.now_wall_ns) / 1e9;
    std::map<std::string, double> read;
    std::map<std::string, double> applied;
    for (const NamedReading& named : reading_.named) {
      if (std::isnan(named.value)) continue;
      if (named.name == "event_time_seconds") {
        const auto [at, added] = read.emplace(named.uid, named.value);
        at->second = std::max(at->second, named.value);
      } else if (named.name == "applied_watermark_seconds") {
        const auto [at, added] = applied.emplace(named.uid, named.value);
        at->second = std::min(at->second, named.value);
      }
    }
    for (const auto& [uid, time] : read) {
      text_.Gauge("weir_source_lag_seconds", "How old the newest row was that the source has read, measured now.",
                  Of({{"uid", uid}}), now - time);
    }
    for (const auto& [uid, time] : applied) {
      text_.Gauge("weir_target_lag_seconds", "How far the target is behind: now less the watermark applied to it.",
                  Of({{"uid", uid}}), now - time);
    }
  }

  const JobReading& reading_;
  MetricsText text_;
};

}  // namespace

std::string MetricsPage(const JobReading& reading, const ProcessReading& process) {
  return Page(reading).Text(process);
}

}  // namespace weir::jobs
