// Sends each row to the side outputs whose condition holds for it: "<id>.<tag>" of the first such route in the order of
// the definition, or of all; a row that meets none goes to the tag `default`, if that is given, else it is dropped and
// not counted as bad. Nothing comes out of the main output.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

OperatorType RouteType();

}  // namespace weir::operators
