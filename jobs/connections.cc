#include "base/process.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/postgres/libpq_client.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

Connections::Connections()
    : file_system_(NewPosixFileSystem()),
      kafka_(connectors::NewRdKafkaClientFactory()),
      postgres_(connectors::NewLibpqClientFactory()) {
  operators::RegisterOperators(registry_);
  connectors::RegisterConnectors(registry_, ports());
}

Connections::~Connections() = default;

connectors::ConnectorPorts Connections::ports() const {
  return {.file_system = file_system_.get(),
          .kafka = kafka_.get(),
          .postgres = postgres_.get(),
          .working_directory = CurrentDirectory()};
}

}  // namespace weir::jobs
