// The operator `project`: makes rows of computed columns. `columns` maps new names to expressions, in order; `keep:
// all` puts the input's other columns in front of them (an input column with a new column's name gives way), without
// those of `drop`, and with the names of `rename`. With `when` only the rows for which that is TRUE are changed:
// streams of many tables take one project for each table. Text that is only passed on is not copied. Kinds and event
// times stay; the key does not: project comes before key_by, or key_by follows it.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType ProjectType();

}  // namespace weir::operators
