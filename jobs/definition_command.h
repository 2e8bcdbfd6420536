// How the verbs of the command line read a definition. The main thread.
#pragma once

#include <memory>
#include <optional>

#include "base/file_system.h"
#include "connectors/kafka/client.h"
#include "connectors/postgres/client.h"
#include "connectors/register_connectors.h"
#include "jobs/commands.h"
#include "jobs/job_definition.h"
#include "operators/registry.h"

namespace weir::jobs {

// The real ports behind the connectors, and the registry that knows every type.
class Connections {
 public:
  Connections();
  ~Connections();
  const operators::Registry& registry() const { return registry_; }
  FileSystem& file_system() const { return *file_system_; }
  connectors::ConnectorPorts ports() const;

 private:
  std::unique_ptr<FileSystem> file_system_;
  std::unique_ptr<connectors::KafkaClientFactory> kafka_;
  std::unique_ptr<connectors::PostgresClientFactory> postgres_;
  operators::Registry registry_;
};

// Reads and checks; prints every problem to standard error. Nothing: it has problems.
std::optional<ParsedDefinition> LoadDefinition(const DefinitionArguments& arguments,
                                               const operators::Registry& registry, FileSystem& fs);
// The same, and makes it the instance that the arguments name (jobs/definition_instance.h).
std::optional<ParsedDefinition> LoadInstance(const DefinitionArguments& arguments, const operators::Registry& registry,
                                             FileSystem& fs);

}  // namespace weir::jobs
