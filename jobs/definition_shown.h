// A definition as it may be shown: as it was written, with its references as references and its secrets hidden. Pure;
// any thread.
#pragma once

#include "operators/raw_value.h"
#include "operators/registry.h"

namespace weir::jobs {

// `written`: of a definition without problems, before its references were resolved. What an option calls secret, and
// what holds a reference, shows that reference if it is nothing else, and otherwise "<secret>"; so does what no option
// is known for.
operators::RawValue ShownDefinition(operators::RawValue written, const operators::Registry& registry);

}  // namespace weir::jobs
