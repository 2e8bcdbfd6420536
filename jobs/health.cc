#include "jobs/health.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_escape.h"

namespace weir::jobs {
namespace {

std::string SecondsText(Duration duration) {
  const auto tenths = duration / std::chrono::milliseconds(100);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void JudgeState(const JobReading& reading, Health& health) {
  if (reading.state == RunState::kRunning || reading.state == RunState::kFinished) return;
  std::string cause = "the job is not running: " + std::string(RunStateName(reading.state));
  const bool failed = reading.state == RunState::kFailed || reading.state == RunState::kRestarting;
  if (failed && !reading.last_failure.empty()) cause += ": " + reading.last_failure;
  health.causes.push_back(std::move(cause));
}

void JudgeCheckpoints(const JobReading& reading, Health& health) {
  MonotonicTime since = reading.attempt_began.value_or(reading.now);
  if (reading.checkpoints.applied_at.has_value()) since = std::max(since, *reading.checkpoints.applied_at);
  const Duration silence = reading.now - since;
  if (silence <= kHealthIntervalsMax * reading.checkpoint_interval) return;
  health.causes.push_back("no checkpoint was applied for " + SecondsText(silence) + ", longer than " +
                          std::to_string(kHealthIntervalsMax) + " intervals of " +
                          SecondsText(reading.checkpoint_interval));
  if (reading.checkpoints.pending_number.has_value()) {
    health.causes.push_back("checkpoint " + std::to_string(*reading.checkpoints.pending_number) +
                            " is under way: not every subtask has confirmed it");
  }
  for (const checkpoint::SystemStats& system : reading.checkpoints.systems) {
    if (system.waiting.checkpoints == 0) continue;
    std::string cause = std::to_string(system.waiting.rows) + " rows wait for " + system.waiting.system;
    if (!system.waiting.last_error.ok()) cause += ": " + system.waiting.last_error.message();
    health.causes.push_back(std::move(cause));
  }
  if (!reading.checkpoints.last_failure.empty()) {
    health.causes.push_back("the last checkpoint that failed: " + reading.checkpoints.last_failure);
  }
}

void JudgePartitions(const JobReading& reading, Health& health) {
  const double now = static_cast<double>(reading.now_wall_ns) / 1e9;
  const double longest = std::chrono::duration<double>(kHealthUnpolledMax).count();
  for (const NamedReading& each : reading.named) {
    if (each.name != "partition_polled_seconds" || std::isnan(each.value) || now - each.value <= longest) continue;
    std::string cause = "source " + each.uid + ": ";
    for (const auto& [label, value] : each.labels) cause += label + " " + value + " ";
    cause += "was not polled for " + std::to_string(static_cast<int64_t>(now - each.value)) + " s";
    health.causes.push_back(std::move(cause));
  }
}

}  // namespace

Health JudgeHealth(const JobReading& reading) {
  Health health;
  JudgeState(reading, health);
  if (reading.state != RunState::kRunning) return health;
  JudgeCheckpoints(reading, health);
  JudgePartitions(reading, health);
  return health;
}

std::string HealthJson(const JobReading& reading, const Health& health) {
  std::string text = "{\"job\":";
  AppendJsonString(text, reading.job);
  text += ",\"state\":";
  AppendJsonString(text, RunStateName(reading.state));
  text += health.ok() ? ",\"healthy\":true,\"causes\":[" : ",\"healthy\":false,\"causes\":[";
  for (const std::string& cause : health.causes) {
    if (&cause != &health.causes.front()) text += ',';
    AppendJsonString(text, cause);
  }
  return text + "]}\n";
}

}  // namespace weir::jobs
