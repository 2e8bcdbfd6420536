// A client of Confluent's schema registry, or of one that speaks like it: asks over HTTP for a schema by its id. Used
// by one reader on its task's thread, which waits for the answer, at most as long as the request timeout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "connectors/format/avro_reader.h"
#include "operators/options.h"

namespace weir::connectors {

struct SchemaRegistryOptions {
  std::string url;       // without a slash at its end
  std::string username;  // empty: no authentication
  std::string password;
  std::string ca_file;  // PEM; empty: the system's
  Duration request_timeout;
};

// The members of the option schema-registry.
std::vector<operators::OptionSpec> SchemaRegistryOptionSpecs();
void CheckSchemaRegistryOptions(const operators::Options& options, operators::Problems& problems);
SchemaRegistryOptions ParseSchemaRegistryOptions(const operators::Options& options);

// Talks to nobody yet. Errors of Fetch name the address and never what proves who we are:
//   kInvalidArgument     the registry has no such schema, or it is not an Avro schema
//   kUnavailable         no answer in time, or one that a server in trouble gives
//   kFailedPrecondition  it refuses this user, or what answers is no schema registry
std::unique_ptr<SchemaSource> NewSchemaRegistry(SchemaRegistryOptions options);

}  // namespace weir::connectors
