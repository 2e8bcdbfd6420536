// Gives each row its key: the values of the named columns and of computed ones, in that order. Behind it the rows go to
// the subtask that owns the key (a hash edge). Columns stay as they are.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType KeyByType();

}  // namespace weir::operators
