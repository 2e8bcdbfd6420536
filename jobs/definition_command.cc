// `weir validate`, `weir import` and `weir schema`, and the reading of definitions that `weir run` shares.
#include "jobs/definition_command.h"

#include <algorithm>
#include <iostream>

#include "base/fault_site.h"
#include "base/file_system.h"
#include "base/process.h"
#include "jobs/definition_instance.h"
#include "jobs/definition_schema.h"
#include "jobs/import_replicator.h"

namespace weir::jobs {

std::optional<ParsedDefinition> LoadDefinition(const DefinitionArguments& arguments,
                                               const operators::Registry& registry, FileSystem& fs) {
  const auto text = ReadFile(fs, arguments.path);
  if (!text.has_value()) {
    std::cerr << "weir: can't read the job definition " << arguments.path << ": " << text.error().message() << "\n";
    return std::nullopt;
  }
  DefinitionInputs inputs;
  inputs.file_name = arguments.path;
  inputs.text = *text;
  inputs.environment = EnvironmentVariable;
  inputs.read_file = [&fs](const std::string& path) { return ReadFile(fs, path); };
  inputs.overrides = arguments.overrides;
  auto parsed = ParseJobDefinition(inputs, registry);
  if (!parsed.has_value()) {
    for (const DefinitionProblem& problem : parsed.error()) std::cerr << ToString(problem) << "\n";
    const auto errors = std::count_if(parsed.error().begin(), parsed.error().end(),
                                      [](const DefinitionProblem& problem) { return !problem.warning; });
    std::cerr << arguments.path << ": " << errors << (errors == 1 ? " problem\n" : " problems\n");
    return std::nullopt;
  }
  for (const DefinitionProblem& warning : parsed->warnings) std::cerr << ToString(warning) << "\n";
  return std::move(*parsed);
}

std::optional<ParsedDefinition> LoadInstance(const DefinitionArguments& arguments, const operators::Registry& registry,
                                             FileSystem& fs) {
  auto parsed = LoadDefinition(arguments, registry, fs);
  if (!parsed.has_value()) return std::nullopt;
  if (const Status named = NameInstance(parsed->job, registry, arguments.instance); !named.ok()) {
    std::cerr << "weir: " << named.message() << "\n";
    return std::nullopt;
  }
  return parsed;
}

ExitCode ValidateCommand(const DefinitionArguments& arguments) {
  const Connections connections;
  // The instances of a definition are all alike.
  const bool named = !arguments.instance.empty();
  const auto parsed = named ? LoadInstance(arguments, connections.registry(), connections.file_system())
                            : LoadDefinition(arguments, connections.registry(), connections.file_system());
  if (!parsed.has_value()) return ExitCode::kBadUsage;
  std::cout << arguments.path << ": ok, job \"" << parsed->job.name << "\" with " << parsed->job.nodes.size()
            << " nodes\n";
  return ExitCode::kOk;
}

ExitCode ImportReplicatorCommand(const std::vector<std::string>& words) {
  std::vector<std::string> taken = words;
  // One word is a whole command line between quotes.
  if (words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos) {
    taken.clear();
    if (!SplitWords(words[0], taken)) {
      std::cerr << "weir: the command line has a quote that is not closed\n";
      return ExitCode::kBadUsage;
    }
  }
  if (!taken.empty() && !taken[0].starts_with("-") && taken[0] != "kafka") taken.erase(taken.begin());  // the program
  const ImportedJob job = ImportReplicator(taken);
  for (const std::string& note : job.notes) std::cerr << note << "\n";
  for (const std::string& problem : job.problems) std::cerr << "weir: " << problem << "\n";
  std::cout << job.definition;
  return job.problems.empty() ? ExitCode::kOk : ExitCode::kBadUsage;
}

ExitCode SchemaCommand() {
  const Connections connections;
  std::cout << DefinitionSchema(connections.registry());
  return ExitCode::kOk;
}

ExitCode ListFaultSitesCommand() {
  for (std::string_view site : FaultSites()) std::cout << site << "\n";
  return ExitCode::kOk;
}

}  // namespace weir::jobs
