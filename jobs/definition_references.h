// What changes a definition before it is checked: `--set path=value`, then `${NAME}` and `${file:path}` inside its
// strings. A value that came from a reference is secret from then on. Pure but for the two functions it is given; any
// thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jobs/job_definition.h"
#include "operators/raw_value.h"

namespace weir::jobs {

// `path` is a JSON pointer ("/operators/2/where") or names joined by dots ("checkpoint.interval"); a step into a list
// is an index or the "id" of an element. Members that are missing on the way are made. A value that is JSON is taken as
// such, everything else as a string. Returns the pointer of what was set; empty if a problem was added.
std::string ApplyOverride(operators::RawValue& root, const std::string& path, const std::string& value,
                          operators::Problems& problems);

// In all strings but those that give the definition its shape (id, connector, type, input, inputs, edge, name). "$${"
// stands for a plain "${". A file's last line end is left out. Returns the texts that were put in.
std::vector<std::string> ResolveReferences(operators::RawValue& root, const DefinitionInputs& inputs,
                                           operators::Problems& problems);

}  // namespace weir::jobs
