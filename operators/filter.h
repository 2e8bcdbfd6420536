// The operator `filter`: keeps the rows for which the expression `where` is TRUE (not FALSE, not NULL). With `when`
// only the rows for which that is TRUE are looked at; all others stay. A row whose evaluation fails goes the way of
// `on-error`. Rows keep their kinds, times, keys and text; nothing is copied.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType FilterType();

}  // namespace weir::operators
