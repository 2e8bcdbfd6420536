// The real KafkaClient: librdkafka (2.0.2 and later). Its threads call nothing of ours but the Wakeup; every other
// callback is served from calls of the owner's thread.
#pragma once

#include <memory>

#include "connectors/kafka/client.h"

namespace weir::connectors {

// Any thread; holds no state.
std::unique_ptr<KafkaClientFactory> NewRdKafkaClientFactory();

}  // namespace weir::connectors
