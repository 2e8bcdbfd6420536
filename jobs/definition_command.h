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

// What a process reaches the outside by.
struct OutsidePorts {
  std::unique_ptr<FileSystem> file_system;
  std::unique_ptr<connectors::KafkaClientFactory> kafka;
  std::unique_ptr<connectors::PostgresClientFactory> postgres;
};
// The real ones (jobs/outside_ports.cc), which only the program `weir` links: a test's program links others.
OutsidePorts NewOutsidePorts();

// The ports behind the connectors, and the registry that knows every type.
class Connections {
 public:
  Connections();
  const operators::Registry& registry() const { return registry_; }
  FileSystem& file_system() const { return *outside_.file_system; }
  connectors::ConnectorPorts ports() const;

 private:
  const OutsidePorts outside_;
  operators::Registry registry_;
};

// Reads and checks; prints every problem to standard error. Nothing: it has problems.
std::optional<ParsedDefinition> LoadDefinition(const DefinitionArguments& arguments,
                                               const operators::Registry& registry, FileSystem& fs);
// The same, and makes it the instance that the arguments name (jobs/definition_instance.h).
std::optional<ParsedDefinition> LoadInstance(const DefinitionArguments& arguments, const operators::Registry& registry,
                                             FileSystem& fs);

}  // namespace weir::jobs
