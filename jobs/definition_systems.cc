#include "jobs/definition_systems.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "operators/registry.h"
#include "operators/sink.h"

namespace weir::jobs {
namespace {

using Settings = std::map<std::string, std::string>;

// The names of those that only one of the two has, or has with another value.
std::string Differences(const Settings& a, const Settings& b) {
  std::set<std::string> names;
  for (const auto& [from, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const auto& [name, value] : *from) {
      const auto found = other->find(name);
      if (found == other->end() || found->second != value) names.insert(name);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Every sink that has a system, with its node.
template <class Visit>
void VisitSystems(const JobDefinition& job, const operators::Registry& registry, const Visit& visit) {
  for (const NodeDefinition& node : job.nodes) {
    if (node.kind != NodeKind::kSink) continue;
    const operators::SinkType* type = registry.FindSink(node.type);
    if (type == nullptr || !type->create) continue;
    const auto sink = type->create(node.options);
    if (!sink.has_value() || (*sink)->system().empty()) continue;  // what is wrong, the start tells
    visit(node, **sink);
  }
}

}  // namespace

void CheckSharedSystems(const JobDefinition& job, const operators::Registry& registry, operators::Problems& problems) {
  struct First {
    std::string id;
    Settings settings;
  };
  std::map<std::string, First> by_system;
  VisitSystems(job, registry, [&](const NodeDefinition& node, const operators::Sink& sink) {
    const auto [first, is_first] = by_system.try_emplace(sink.system(), First{node.id, sink.committer_settings()});
    const std::string differences = Differences(first->second.settings, sink.committer_settings());
    if (is_first || differences.empty()) return;
    problems.push_back({node.path, "", "the same connection options as in sink \"" + first->second.id + "\"",
                        "sinks \"" + first->second.id + "\" and \"" + node.id + "\" write to " + sink.system() +
                            " through one committer, and their options for it differ: " + differences});
  });
}

std::set<std::string> SystemsOf(const JobDefinition& job, const operators::Registry& registry) {
  std::set<std::string> systems;
  VisitSystems(job, registry,
               [&](const NodeDefinition&, const operators::Sink& sink) { systems.insert(sink.system()); });
  return systems;
}

}  // namespace weir::jobs
