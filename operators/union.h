// Joins the rows of any number of inputs into one stream, in the order in which they come. Rows of different schemas
// stay as they are.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType UnionType();

}  // namespace weir::operators
