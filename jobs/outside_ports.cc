#include "connectors/kafka/rdkafka_client.h"
#include "connectors/postgres/libpq_client.h"
#include "jobs/definition_command.h"

namespace weir::jobs {

OutsidePorts NewOutsidePorts() {
  return {.file_system = NewPosixFileSystem(),
          .kafka = connectors::NewRdKafkaClientFactory(),
          .postgres = connectors::NewLibpqClientFactory()};
}

}  // namespace weir::jobs
