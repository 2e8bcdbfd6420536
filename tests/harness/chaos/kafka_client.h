// A KafkaClient whose calls fail: those that wait for the cluster as if no answer came, those of a consumer as if the
// client had failed for good. A call site is a method. Producers and members of a group are left as they are.
#pragma once

#include <memory>

#include "connectors/kafka/client.h"
#include "tests/harness/chaos/call_sites.h"

namespace weir::chaos {

std::unique_ptr<connectors::KafkaClientFactory> FailingKafka(std::unique_ptr<connectors::KafkaClientFactory> real,
                                                             std::shared_ptr<CallSites> sites);

}  // namespace weir::chaos
