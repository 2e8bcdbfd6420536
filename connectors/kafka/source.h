// The `kafka` source: what its options make. Set up by the registry; its products run where their contracts say.
#pragma once

#include <memory>

#include "connectors/kafka/client.h"
#include "operators/registry.h"

namespace weir::connectors {

// `factory` outlives the type and everything made by it.
operators::SourceType KafkaSourceType(KafkaClientFactory& factory);

}  // namespace weir::connectors
