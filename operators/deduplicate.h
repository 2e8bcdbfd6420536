// Passes a row on only if it is newer than what its key has had: what comes again, and what was overtaken, goes.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType DeduplicateType();

}  // namespace weir::operators
