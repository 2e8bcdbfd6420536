// The real PostgresClient: libpq, in pipeline mode.
#pragma once

#include <memory>

#include "connectors/postgres/client.h"

namespace weir::connectors {

// Any thread; holds no state.
std::unique_ptr<PostgresClientFactory> NewLibpqClientFactory();

}  // namespace weir::connectors
