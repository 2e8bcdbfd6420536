// The JSON schema (draft 2020-12) of job definitions, made from the same specs as the check: what it can say, it says
// as ParseJobDefinition does; what depends on other nodes (inputs, cycles, keys, unique ids), on the environment, or on
// an expression's grammar only that one can. Published as jobs/job.schema.json. Pure; any thread.
#pragma once

#include <string>

#include "operators/registry.h"

namespace weir::jobs {

// Two spaces of indent, keys in the order of the specs, a line end at the end.
std::string DefinitionSchema(const operators::Registry& registry);

}  // namespace weir::jobs
