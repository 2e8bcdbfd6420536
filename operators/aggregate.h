// Running aggregates of a key's rows: count, sum, min, max, avg, exact, and taken back by -U and -D rows. One row for
// each input row, or the last of each key in a batch:
//
//   +I for a key's first row; then +U (with `changelog: retract`, -U with the old values in front); -D with the last
//   values when the key's last row has been taken back, and its state is gone.
//
// State of uid: `groups`, a value for each key (number of rows, then the accumulators: operators/aggregate_function.h),
// and for each min and max under `retractions` a map `values-<i>`: the value in order (AppendOrdered) -> how often it
// is there (varint) and the value as it was written. So that a retracted extreme is found again it costs one more entry
// for each different value of a key; where rows are only ever added, `retractions: false` saves that.
#pragma once

#include "operators/registry.h"

namespace weir::operators {

// The option `keys` names the key's columns in the output; the definition's reader takes them from the key_by in front.
OperatorType AggregateType();

}  // namespace weir::operators
