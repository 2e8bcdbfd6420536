#include "jobs/definition_systems.h"

#include <map>
#include <memory>
#include <string>

#include "operators/registry.h"
#include "operators/sink.h"

namespace weir::jobs {

void CheckSharedSystems(const JobDefinition& job, const operators::Registry& registry, operators::Problems& problems) {
  struct First {
    std::string id;
    std::string settings;
  };
  std::map<std::string, First> by_system;
  for (const NodeDefinition& node : job.nodes) {
    if (node.kind != NodeKind::kSink) continue;
    const operators::SinkType* type = registry.FindSink(node.type);
    if (type == nullptr || !type->create) continue;
    const auto sink = type->create(node.options);
    if (!sink.has_value()) continue;  // the start tells
    const std::string system = (*sink)->system();
    if (system.empty()) continue;
    const auto [first, is_first] = by_system.try_emplace(system, First{node.id, (*sink)->committer_settings()});
    if (is_first || first->second.settings == (*sink)->committer_settings()) continue;
    problems.push_back({node.path, node.id, "the same connection options as in sink \"" + first->second.id + "\"",
                        "sinks \"" + first->second.id + "\" and \"" + node.id + "\" write to " + system +
                            " through one committer, and their options for it differ"});
  }
}

}  // namespace weir::jobs
