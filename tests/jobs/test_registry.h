// The operators, and a source and a sink whose options are of every type, for tests of definitions.
#pragma once

#include "operators/registry.h"

namespace weir::jobs {

// Source "feed", sink "shelf".
operators::Registry TestRegistry();

}  // namespace weir::jobs
