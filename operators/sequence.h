// Rows in order of their event time: each waits in keyed state until the watermark has passed it. All that a watermark
// frees leaves at once, so no barrier comes between rows of one time.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType SequenceType();

}  // namespace weir::operators
