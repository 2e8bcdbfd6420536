// `weir preflight`: asks the systems of a definition whether the job would find there what it needs.
#include <iostream>

#include "connectors/preflight.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

ExitCode PreflightCommand(const DefinitionArguments& arguments) {
  const Connections connections;
  const auto parsed = LoadDefinition(arguments, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;
  size_t problems = 0;
  for (const NodeDefinition& node : parsed->job.nodes) {
    if (node.kind == NodeKind::kOperator) continue;
    const bool source = node.kind == NodeKind::kSource;
    const auto findings = source ? connectors::PreflightSource(node.type, node.options, connections.ports())
                                 : connectors::PreflightSink(node.type, node.options, connections.ports());
    for (const connectors::PreflightFinding& finding : findings) {
      if (!finding.ok) ++problems;
      std::cout << (finding.ok ? "ok       " : "problem  ") << (source ? "source " : "sink ") << node.id << ": "
                << finding.text << "\n"
                << std::flush;
    }
  }
  std::cout << arguments.path << ": " << problems << (problems == 1 ? " problem\n" : " problems\n");
  return problems == 0 ? ExitCode::kOk : ExitCode::kProblems;
}

}  // namespace weir::jobs
