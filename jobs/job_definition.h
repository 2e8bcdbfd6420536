// What the user wrote, checked: a job's settings and its nodes, each with its options and its inputs resolved to other
// nodes. A plain value. Read from JSON or YAML by ParseJobDefinition, which reports every problem at once; the graph
// that runs it is jobs/job_graph.h.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/http_server.h"
#include "jobs/restart_strategy.h"
#include "operators/options.h"
#include "operators/raw_value.h"
#include "operators/registry.h"

namespace weir::jobs {

enum class NodeKind : uint8_t { kSource, kOperator, kSink };

// How rows go from one node to the next. kAuto: forward where both have the same parallelism, else rebalance; behind a
// key_by always hash.
enum class EdgeKind : uint8_t { kAuto, kForward, kHash, kRebalance, kBroadcast };

struct NodeInput {
  size_t node = 0;       // index in JobDefinition::nodes
  std::string side_tag;  // empty: the main output
  EdgeKind edge = EdgeKind::kAuto;
};

struct NodeDefinition {
  NodeKind kind = NodeKind::kOperator;
  std::string id;                       // the uid of its state
  std::string type;                     // connector or operator type, known to the registry
  std::optional<uint32_t> parallelism;  // the job's if absent
  std::vector<NodeInput> inputs;
  operators::Options options;
  std::string path;  // JSON path, "/operators/1"
};

struct CheckpointSettings {
  std::string storage = "./checkpoints";
  Duration interval = std::chrono::seconds(5);
  Duration min_pause = std::chrono::seconds(0);
  Duration timeout = std::chrono::minutes(10);
  uint32_t retain = 3;
  uint32_t tolerated_failures = 3;
  uint64_t output_bytes_max = uint64_t{1} << 30;
  bool delete_on_stop = false;
};

struct JobDefinition {
  std::string name;
  uint32_t parallelism = 1;
  uint32_t key_groups = 128;
  CheckpointSettings checkpoint;
  RestartSettings restart;
  uint64_t memory_bytes_max = uint64_t{1} << 30;
  uint64_t state_bytes_max = uint64_t{256} << 20;
  std::string state_directory;  // local working files; empty: under the storage
  Duration stop_timeout = std::chrono::seconds(20);
  std::optional<HttpAddress> metrics;  // where the process shows how it is; nothing: nowhere
  std::vector<NodeDefinition> nodes;   // sources, operators, sinks, in the order of the definition
};

struct DefinitionProblem {
  std::string file;
  uint64_t line = 0;  // from 1; 0: unknown
  operators::Problem problem;
  bool warning = false;
};
// "job.json:12: /operators/0/wher: unknown key \"wher\" (did you mean \"where\"?)".
std::string ToString(const DefinitionProblem& problem);

// Where a definition's references and overrides come from.
struct DefinitionInputs {
  std::string file_name;  // for messages; ".yaml" or ".yml" reads YAML, everything else JSON
  std::string_view text;
  std::function<std::optional<std::string>(const std::string& name)> environment;  // ${NAME}
  std::function<Result<std::string>(const std::string& path)> read_file;           // ${file:path}
  std::vector<std::pair<std::string, std::string>> overrides;                      // --set path=value
};

struct ParsedDefinition {
  JobDefinition job;
  operators::RawValue shown;  // as it may be shown (definition_shown.h)
  std::vector<DefinitionProblem> warnings;
};

// All problems, or the job. Any thread; reads only through `inputs`.
std::expected<ParsedDefinition, std::vector<DefinitionProblem>> ParseJobDefinition(const DefinitionInputs& inputs,
                                                                                   const operators::Registry& registry);

}  // namespace weir::jobs
