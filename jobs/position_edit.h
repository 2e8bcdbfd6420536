// A split's position, changed by hand. Pure; any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace weir::jobs {

// `position` is JSON as a source wrote it, `{"offset":42,"watermark":"17.0"}`. `change` is an object of the members
// that change, `{"offset":7}`, null removes one; or a number, which stands for the position's `offset` (or its only
// member) where no other member depends on it. What an old place has made known goes, unless `change` says it: a
// "watermark", and that the split is "finished".
//
// InvalidArgument says what was expected: `change` is no JSON, has a member that `position` lacks, or one of another
// type; numbers are whole, from 0 to 2^63-1.
Result<std::string> ChangePosition(const std::string& position, const std::string& change);

}  // namespace weir::jobs
