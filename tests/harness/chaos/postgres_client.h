// A PostgresClient whose calls fail as they do when the server or the way to it is lost: the session is gone, what was
// open in it is rolled back, and nobody is told whether the statements were done. A call site is the statements' text,
// shortened.
#pragma once

#include <memory>

#include "connectors/postgres/client.h"
#include "tests/harness/chaos/call_sites.h"

namespace weir::chaos {

std::unique_ptr<connectors::PostgresClientFactory> FailingPostgres(
    std::unique_ptr<connectors::PostgresClientFactory> real, std::shared_ptr<CallSites> sites);

}  // namespace weir::chaos
