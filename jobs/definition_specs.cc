#include "jobs/definition_specs.h"

#include <algorithm>

#include "jobs/definition_restart.h"

namespace weir::jobs {
namespace {

using operators::OptionSpec;
using operators::OptionType;

constexpr int64_t kParallelismMax = 1024;
constexpr int64_t kKeyGroupsMax = 32768;
constexpr int64_t kBytesMin = 1 << 20;

OptionSpec CheckpointSpec() {
  OptionSpec spec{"checkpoint", OptionType::kObject, false, "{}",
                  "When checkpoints are taken and where they are kept."};
  spec.members = {
      {"storage", OptionType::kString, false, "./checkpoints", "Folder of all jobs' checkpoints."},
      {"interval", OptionType::kDuration, false, "5s", "From the start of one checkpoint to the start of the next."},
      {"min-pause", OptionType::kDuration, false, "0s", "At least this from the end of one to the start of the next."},
      {"timeout", OptionType::kDuration, false, "10m", "A checkpoint that takes longer is aborted; the job goes on."},
      {"retain", OptionType::kInteger, false, "3", "How many checkpoints are kept."},
      {"tolerated-failures", OptionType::kInteger, false, "3", "More failed checkpoints in a row restart the job."},
      {"output-bytes-max", OptionType::kBytes, false, "1GiB",
       "Output of exactly-once sinks that waits for its systems; at this bound the sinks stop, and with them the "
       "sources. When half of it comes in one interval, a checkpoint is taken at once."},
      {"on-stop", OptionType::kEnum, false, "retain",
       "What becomes of the checkpoints when the job has finished, or was stopped by `weir stop` or `weir savepoint "
       "--stop`, and everything is applied. A signal retains them."},
  };
  spec.members.back().choices = {"retain", "delete"};
  spec.members[0].min = 1;
  spec.members[1].min = 1;
  spec.members[3].min = 1;
  spec.members[4].min = 1;
  spec.members[4].max = 1000;
  spec.members[5].min = 0;
  spec.members[5].max = 1'000'000;
  spec.members[6].min = 1;
  return spec;
}

OptionSpec Bytes(std::string name, std::string default_text, std::string doc) {
  OptionSpec spec{std::move(name), OptionType::kBytes, false, std::move(default_text), std::move(doc)};
  spec.min = kBytesMin;
  return spec;
}

OptionSpec MetricsSpec() {
  OptionSpec spec{"metrics", OptionType::kObject, false, "",
                  "An HTTP server of this process: /metrics for Prometheus, /health, /diagnostics. Without it: none."};
  OptionSpec port{"port", OptionType::kInteger, false, "9464", "0: any that is free; the log says which."};
  port.min = 0;
  port.max = UINT16_MAX;
  OptionSpec host{"host", OptionType::kString, false, "127.0.0.1",
                  "The address to listen at. Nobody is asked who he is: one that other machines reach shows the job to "
                  "them."};
  host.min = 1;
  spec.members = {std::move(port), std::move(host)};
  return spec;
}

}  // namespace

bool IsId(std::string_view text) {
  if (text == "." || text == "..") return false;
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

std::string_view ListName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSource: return "sources";
    case NodeKind::kOperator: return "operators";
    case NodeKind::kSink: return "sinks";
  }
  return "?";
}

std::string_view NodeNoun(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSource: return "a source";
    case NodeKind::kOperator: return "an operator";
    case NodeKind::kSink: return "a sink";
  }
  return "?";
}

std::string_view TypeKey(NodeKind kind) { return kind == NodeKind::kOperator ? "type" : "connector"; }

std::vector<OptionSpec> JobSpecs() {
  OptionSpec parallelism{"parallelism", OptionType::kInteger, false, "1",
                         "Subtasks of each node that says nothing else."};
  parallelism.min = 1;
  parallelism.max = kParallelismMax;
  OptionSpec key_groups{
      "key-groups", OptionType::kInteger, false, "128",
      "Into how many parts keyed state can be divided; the greatest possible parallelism. A running job's may be "
      "doubled or halved, any number of times."};
  key_groups.min = 1;
  key_groups.max = kKeyGroupsMax;
  OptionSpec memory{"memory", OptionType::kObject, false, "{}", "Bound of the whole process."};
  memory.members = {Bytes("bytes-max", "1GiB", "Sources pause before the process holds more than this.")};
  OptionSpec state{"state", OptionType::kObject, false, "{}", "Keyed state."};
  state.members = {
      Bytes("bytes-max", "256MiB", "Memory for keyed state; what is beyond lies on the local disk."),
      {"directory", OptionType::kString, false, "", "Folder for local working files; default: under the storage."}};
  OptionSpec stop{"stop", OptionType::kObject, false, "{}", "How the job ends."};
  stop.members = {{"timeout", OptionType::kDuration, false, "20s", "How long a stop waits for the sinks to confirm."}};
  return {{"$schema", OptionType::kString, false, "", "For editors; ignored."},
          {"name", OptionType::kString, true, "",
           "The job's name: letters, digits, _ . -; its checkpoints lie in a folder of that name."},
          {"description", OptionType::kString, false, "", "For people; ignored."},
          std::move(parallelism),
          std::move(key_groups),
          CheckpointSpec(),
          RestartSpec(),
          std::move(memory),
          std::move(state),
          std::move(stop),
          MetricsSpec(),
          {"sources", OptionType::kObjectList, false, "", "Where rows come from."},
          {"operators", OptionType::kObjectList, false, "", "What happens to them."},
          {"sinks", OptionType::kObjectList, false, "", "Where they go."}};
}

std::vector<OptionSpec> NodeSpecs(NodeKind kind) {
  std::vector<OptionSpec> specs = {
      {"id", OptionType::kString, true, "",
       "Unique; state belongs to it, so that it should not change: letters, digits, _ . -"},
      {std::string(TypeKey(kind)), OptionType::kString, true, "", "Which type of node this is."},
      {"parallelism", OptionType::kInteger, false, "", "Number of subtasks; default: the job's."}};
  specs.back().min = 1;
  specs.back().max = kParallelismMax;
  if (kind == NodeKind::kSource) return specs;
  specs.push_back(
      {"input", OptionType::kString, false, "", "The node whose rows this one takes: an id, or <id>.<side output>."});
  specs.push_back({"inputs", OptionType::kStringList, false, "", "The same for several."});
  OptionSpec edge{"edge", OptionType::kStringList, false, "",
                  "How rows come from the inputs' subtasks to this node's: one for all inputs or one for each."};
  edge.choices = {"forward", "hash", "rebalance", "broadcast"};
  specs.push_back(std::move(edge));
  return specs;
}

std::vector<OptionSpec> NodeSpecs(NodeKind kind, const std::vector<OptionSpec>& of_type) {
  std::vector<OptionSpec> specs = NodeSpecs(kind);
  specs.insert(specs.end(), of_type.begin(), of_type.end());
  return specs;
}

}  // namespace weir::jobs
