#include "jobs/definition_instance.h"

#include <utility>

#include "jobs/definition_specs.h"
#include "operators/raw_value.h"
#include "operators/registry.h"
#include "operators/sink.h"

namespace weir::jobs {
namespace {

using operators::Problems;
using operators::Quoted;

bool IsDivided(const NodeDefinition& node, const operators::Registry& registry) {
  if (node.kind != NodeKind::kSource) return false;
  const operators::SourceType* type = registry.FindSource(node.type);
  return type != nullptr && type->divided_outside && type->divided_outside(node.options);
}

const NodeDefinition* FirstDivided(const JobDefinition& job, const operators::Registry& registry) {
  for (const NodeDefinition& node : job.nodes) {
    if (IsDivided(node, registry)) return &node;
  }
  return nullptr;
}

// What a node keeps in checkpoints, as the end of a sentence; empty: nothing.
std::string Kept(const NodeDefinition& node, const operators::Registry& registry) {
  switch (node.kind) {
    case NodeKind::kSource:
      return IsDivided(node, registry) ? "" : "keeps its positions, and each instance would read all of it";
    case NodeKind::kOperator: {
      const operators::OperatorType* type = registry.FindOperator(node.type);
      return type != nullptr && type->has_state ? "keeps state" : "";
    }
    case NodeKind::kSink: {
      const operators::SinkType* type = registry.FindSink(node.type);
      if (type == nullptr || !type->create) return "";
      const auto sink = type->create(node.options);
      if (!sink.has_value() || (*sink)->system().empty()) return "";  // what is wrong, the start tells
      return "is exactly once, and a partition's rows would be taken in twice by two instances";
    }
  }
  return "";
}

}  // namespace

void CheckDividedOutside(const JobDefinition& job, const operators::Registry& registry, Problems& problems) {
  const NodeDefinition* divided = FirstDivided(job, registry);
  if (divided == nullptr) return;
  for (const NodeDefinition& node : job.nodes) {
    const std::string kept = Kept(node, registry);
    if (kept.empty()) continue;
    problems.push_back({node.path, Quoted(node.type),
                        node.kind == NodeKind::kSink ? "delivery at-least-once, by key, without rows in state"
                                                     : "nodes that keep nothing in checkpoints",
                        Quoted(node.id) + " (" + node.type + ") " + kept + ": source " + Quoted(divided->id) +
                            " is divided among instances from outside, and a partition that moves to another "
                            "instance leaves behind what is in the checkpoints of the first"});
  }
}

Status NameInstance(JobDefinition& job, const operators::Registry& registry, const std::string& instance) {
  const NodeDefinition* divided = FirstDivided(job, registry);
  if (divided == nullptr) {
    if (instance.empty()) return {};
    return Status::InvalidArgument(
        "--instance is for jobs whose input is divided outside (a kafka source with assignment group), "
        "and " +
        Quoted(job.name) + " is none");
  }
  if (instance.empty()) {
    return Status::InvalidArgument("--instance NAME is missing: source " + Quoted(divided->id) + " of " +
                                   Quoted(job.name) +
                                   " is divided among instances, each with a name and a storage of its own");
  }
  if (!IsId(instance)) {
    return Status::InvalidArgument("--instance " + operators::QuotedExcerpt(instance) +
                                   " can't be a name: " + std::string(kIdInWords));
  }
  job.name += "@" + instance;
  for (NodeDefinition& node : job.nodes) {
    if (!IsDivided(node, registry)) continue;
    operators::OptionValue value;
    value.text = instance;
    value.path = node.options.PathOf("instance");
    node.options.Set("instance", std::move(value));
  }
  return {};
}

}  // namespace weir::jobs
