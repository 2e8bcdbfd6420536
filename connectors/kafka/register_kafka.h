// Puts the kafka source and sink into the registry. Called once at start.
#pragma once

#include "connectors/kafka/client.h"
#include "operators/registry.h"

namespace weir::connectors {

// `factory` outlives the registry and everything made by it.
void RegisterKafka(operators::Registry& registry, KafkaClientFactory& factory);

}  // namespace weir::connectors
