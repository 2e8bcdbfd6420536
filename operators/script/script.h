// The operator `script`: a Lua script's hooks (docs/scripts.md) make rows of rows. Each row is given to the script by
// itself, with its kind and time, and what comes out keeps them; keys are gone, so that it stands before key_by. A
// script has no state beyond a row that would be saved. What fails, and what passes time-max or memory-max, goes the
// way of `on-error`; the next row meets a script in order.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType ScriptType();

}  // namespace weir::operators
