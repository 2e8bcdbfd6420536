#include "connectors/register_connectors.h"

#include "base/check.h"
#include "connectors/blackhole/sink.h"
#include "connectors/file/sink.h"
#include "connectors/file/source.h"
#include "connectors/generator/source.h"
#include "connectors/kafka/register_kafka.h"
#include "connectors/postgres/sink.h"
#include "connectors/print/sink.h"

namespace weir::connectors {

void RegisterConnectors(operators::Registry& registry, const ConnectorPorts& ports) {
  WEIR_CHECK(ports.file_system != nullptr);
  registry.Add(FileSourceType(*ports.file_system, ports.working_directory));
  registry.Add(GeneratorSourceType());
  registry.Add(BlackholeSinkType());
  registry.Add(FileSinkType(*ports.file_system, ports.working_directory));
  registry.Add(PrintSinkType());
  if (ports.kafka != nullptr) RegisterKafka(registry, *ports.kafka);
  if (ports.postgres != nullptr) registry.Add(PostgresSinkType(*ports.postgres));
}

}  // namespace weir::connectors
