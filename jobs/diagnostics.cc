#include "jobs/diagnostics.h"

#include <nlohmann/json.hpp>

#include <cmath>

#include "base/process.h"
#include "checkpoint/checkpoint_storage.h"
#include "jobs/health.h"

namespace weir::jobs {
namespace {

using OrderedJson = nlohmann::ordered_json;
using operators::RawKind;
using operators::RawValue;

double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// A text that is JSON as such; else as a text.
OrderedJson Parsed(const std::string& text) {
  OrderedJson value = OrderedJson::parse(text, nullptr, false);
  return value.is_discarded() ? OrderedJson(text) : value;
}

OrderedJson ToJson(const RawValue& value) {
  switch (value.kind) {
    case RawKind::kNull: return nullptr;
    case RawKind::kBool: return value.boolean;
    case RawKind::kNumber: return Parsed(value.text);
    case RawKind::kString: return value.text;
    case RawKind::kList: {
      OrderedJson list = OrderedJson::array();
      for (const RawValue& each : value.list) list.push_back(ToJson(each));
      return list;
    }
    case RawKind::kObject: {
      OrderedJson object = OrderedJson::object();
      for (const auto& [name, member] : value.members) object[name] = ToJson(member);
      return object;
    }
  }
  return nullptr;
}

std::string_view EdgeName(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kAuto: return "auto";
    case EdgeKind::kForward: return "forward";
    case EdgeKind::kHash: return "hash";
    case EdgeKind::kRebalance: return "rebalance";
    case EdgeKind::kBroadcast: return "broadcast";
  }
  return "?";
}

OrderedJson ProcessJson(const JobReading& reading, const ProcessReading& process) {
  return {{"weir-version", process.version},
          {"build", process.build},
          {"pid", ProcessId()},
          {"began-seconds", static_cast<double>(reading.process_began_wall_ns) / 1e9},
          {"uptime-seconds", static_cast<double>(reading.now_wall_ns - reading.process_began_wall_ns) / 1e9},
          {"cpu-seconds", process.cpu_seconds},
          {"resident-bytes", process.resident_bytes},
          {"open-descriptors", process.open_descriptors}};
}

OrderedJson StateJson(const JobReading& reading) {
  const Health health = JudgeHealth(reading);
  OrderedJson json = {{"name", reading.job},
                      {"state", RunStateName(reading.state)},
                      {"healthy", health.ok()},
                      {"causes", health.causes},
                      {"restarts", reading.restarts}};
  if (reading.attempt_began.has_value()) json["uptime-seconds"] = SecondsOf(reading.now - *reading.attempt_began);
  if (!reading.last_failure.empty()) json["last-failure"] = reading.last_failure;
  if (reading.restart_at.has_value()) json["restart-in-seconds"] = SecondsOf(*reading.restart_at - reading.now);
  json["start-report"] = reading.start_report;
  return json;
}

OrderedJson GraphJson(const GraphReading& graph) {
  OrderedJson vertices = OrderedJson::array();
  for (const GraphReading::Vertex& vertex : graph.vertices) {
    vertices.push_back({{"name", vertex.name}, {"parallelism", vertex.parallelism}, {"nodes", vertex.uids}});
  }
  OrderedJson edges = OrderedJson::array();
  for (const GraphReading::Edge& edge : graph.edges) {
    OrderedJson json = {
        {"from", graph.vertices[edge.from].name}, {"to", graph.vertices[edge.to].name}, {"kind", EdgeName(edge.kind)}};
    if (!edge.side_tag.empty()) json["side-output"] = edge.side_tag;
    edges.push_back(std::move(json));
  }
  return {{"vertices", std::move(vertices)}, {"edges", std::move(edges)}};
}

OrderedJson CheckpointsJson(const JobReading& reading) {
  const checkpoint::CheckpointStats& stats = reading.checkpoints;
  OrderedJson json = {{"durable", stats.last_number},
                      {"applied", stats.applied_number},
                      {"interval-seconds", SecondsOf(reading.checkpoint_interval)},
                      {"completed", stats.completed},
                      {"failed", stats.failed},
                      {"duration-seconds", SecondsOf(stats.last_duration)},
                      {"state-bytes", stats.last_bytes},
                      {"new-bytes", stats.last_bytes_new}};
  if (stats.durable_at.has_value()) json["durable-age-seconds"] = SecondsOf(reading.now - *stats.durable_at);
  if (stats.applied_at.has_value()) json["applied-age-seconds"] = SecondsOf(reading.now - *stats.applied_at);
  if (stats.pending_number.has_value()) json["pending"] = *stats.pending_number;
  if (!stats.last_failure.empty()) json["last-failure"] = stats.last_failure;
  return json;
}

OrderedJson SystemsJson(const JobReading& reading) {
  OrderedJson systems = OrderedJson::array();
  for (const checkpoint::SystemStats& system : reading.checkpoints.systems) {
    OrderedJson json = {{"system", system.waiting.system},
                        {"marker", system.marker.has_value() ? OrderedJson(*system.marker) : OrderedJson(nullptr)},
                        {"waiting-checkpoints", system.waiting.checkpoints},
                        {"waiting-rows", system.waiting.rows},
                        {"waiting-bytes", system.waiting.bytes}};
    if (!system.waiting.last_error.ok()) json["last-error"] = system.waiting.last_error.ToString();
    systems.push_back(std::move(json));
  }
  return systems;
}

// Splits with their positions, by source and subtask, as the newest checkpoint has them.
OrderedJson SourcesJson(FileSystem& fs, const std::string& storage_root) {
  const auto folder = checkpoint::FindCheckpointFolder(fs, storage_root);
  if (!folder.has_value()) return {{"checkpoint", nullptr}};
  const auto metadata = checkpoint::ReadCheckpointFolder(fs, *folder);
  if (!metadata.has_value()) return {{"checkpoint", nullptr}, {"error", metadata.error().ToString()}};
  OrderedJson splits = OrderedJson::object();
  for (const auto& vertex : metadata->vertices) {
    for (const auto& subtask : vertex.subtasks) {
      for (const auto& [uid, offsets] : subtask.offsets) {
        splits[uid].push_back({{"subtask", subtask.index}, {"splits", Parsed(offsets)}});
      }
    }
  }
  for (const auto& split : metadata->assigned_splits) {
    splits[split.uid].push_back({{"split", split.id}, {"begins-at", Parsed(split.position)}});
  }
  return {{"checkpoint", metadata->id.number}, {"sources", std::move(splits)}};
}

OrderedJson MetricsJson(const JobReading& reading) {
  OrderedJson subtasks = OrderedJson::array();
  for (const SubtaskReading& subtask : reading.subtasks) {
    subtasks.push_back({{"vertex", subtask.vertex},
                        {"subtask", subtask.index},
                        {"rows-in", subtask.rows_in},
                        {"rows-out", subtask.rows_out},
                        {"bad-records", subtask.bad_records},
                        {"late-rows", subtask.late_rows},
                        {"lag-records", subtask.lag_records},
                        {"blocked", subtask.blocked}});
  }
  OrderedJson named = OrderedJson::array();
  for (const NamedReading& each : reading.named) {
    if (std::isnan(each.value)) continue;
    OrderedJson json = {{"uid", each.uid}, {"name", each.name}};
    if (each.subtask.has_value()) json["subtask"] = *each.subtask;
    for (const auto& [label, value] : each.labels) json["labels"][label] = value;
    json["value"] = each.value;
    named.push_back(std::move(json));
  }
  return {{"subtasks", std::move(subtasks)}, {"named", std::move(named)}};
}

}  // namespace

std::string DiagnosticsJson(const DiagnosticsInputs& inputs) {
  const JobReading& reading = *inputs.reading;
  const OrderedJson json = {{"process", ProcessJson(reading, *inputs.process)},
                            {"job", StateJson(reading)},
                            {"checkpoints", CheckpointsJson(reading)},
                            {"systems", SystemsJson(reading)},
                            {"positions", SourcesJson(*inputs.file_system, inputs.storage_root)},
                            {"graph", GraphJson(reading.graph)},
                            {"metrics", MetricsJson(reading)},
                            {"definition", ToJson(*inputs.definition)}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace weir::jobs
