// The sink "blackhole": takes every row and forgets it; the subtask's metrics count. For measuring what is before it.
#pragma once

#include "operators/registry.h"

namespace weir::connectors {

operators::SinkType BlackholeSinkType();

}  // namespace weir::connectors
