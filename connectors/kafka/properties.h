// Which librdkafka properties a definition may set. Weir passes all through but those on which its own promises stand;
// they are refused with the reason. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/kafka/client.h"
#include "operators/options.h"

namespace weir::connectors {

// Why `name` may not be set in this role, as the end of a sentence; empty: it may.
std::string_view RefusedProperty(KafkaRole role, std::string_view name);

// True for a name whose value must never be printed: passwords, keys, tokens, JAAS configurations.
bool IsSecretProperty(std::string_view name);

// Appends a problem for each refused or unknown property and each bad value under the option "properties".
void CheckProperties(KafkaRole role, const operators::Options& options, KafkaClientFactory& factory,
                     operators::Problems& problems);

// The connection of a source's or sink's options: "bootstrap-servers", "sasl", "tls" and "properties".
KafkaConnection ConnectionFrom(const operators::Options& options);

}  // namespace weir::connectors
