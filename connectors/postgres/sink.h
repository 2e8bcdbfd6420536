// The `postgres` sink: rows inserted, updated by key and deleted in a table. The type is set up by the registry.
#pragma once

#include "connectors/postgres/client.h"
#include "operators/registry.h"

namespace weir::connectors {

// `factory` outlives the type and everything made by it.
operators::SinkType PostgresSinkType(PostgresClientFactory& factory);

}  // namespace weir::connectors
