// What the simulated cluster has for a committer that writes exactly once: the twins of connectors/kafka/
// rdkafka_transaction.cc and rdkafka_marker_reader.cc. A call is done when it comes back. Only one that
// must wait, for a cluster that can't be reached or for open transactions, lets time pass (SimKafka::SetPassTime).
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "connectors/kafka/client.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::simulation {

std::unique_ptr<connectors::KafkaTransactionalProducer> NewSimTransactionalProducer(
    SimKafka& broker, const std::string& address, const connectors::KafkaTransactionOptions& options);

std::unique_ptr<connectors::KafkaMarkerReader> NewSimMarkerReader(SimKafka& broker, const std::string& address,
                                                                  Duration timeout);

}  // namespace weir::simulation
