// Puts every source and sink type into the registry: the one list of connectors. Called once at start.
#pragma once

#include <string>

#include "operators/registry.h"

namespace weir {
class FileSystem;
}

namespace weir::connectors {

class KafkaClientFactory;
class PostgresClientFactory;

// The outside world as connectors see it. What is pointed to outlives the registry and everything made by it.
struct ConnectorPorts {
  FileSystem* file_system = nullptr;
  KafkaClientFactory* kafka = nullptr;        // null: no kafka connectors
  PostgresClientFactory* postgres = nullptr;  // null: no postgres sink
  std::string working_directory = {};         // of relative paths in a definition; empty: they are refused
};

// file, generator, kafka; blackhole, file, kafka, postgres, print.
void RegisterConnectors(operators::Registry& registry, const ConnectorPorts& ports);

}  // namespace weir::connectors
