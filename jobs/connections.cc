#include "base/process.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

Connections::Connections() : outside_(NewOutsidePorts()) {
  operators::RegisterOperators(registry_);
  connectors::RegisterConnectors(registry_, ports());
}

connectors::ConnectorPorts Connections::ports() const {
  return {.file_system = outside_.file_system.get(),
          .kafka = outside_.kafka.get(),
          .postgres = outside_.postgres.get(),
          .working_directory = CurrentDirectory()};
}

}  // namespace weir::jobs
