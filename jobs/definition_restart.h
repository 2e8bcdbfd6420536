// The section `restart` of a definition: its options and what they mean together. Pure; any thread.
#pragma once

#include "jobs/restart_strategy.h"
#include "operators/options.h"
#include "operators/raw_value.h"

namespace weir::jobs {

operators::OptionSpec RestartSpec();

// `options`: checked against RestartSpec. `written`: the section as it stands in the definition, null if it isn't
// there; an option of another strategy is without effect, which is a warning.
RestartSettings ReadRestart(const operators::Options& options, const operators::RawValue* written,
                            operators::Problems& warnings);

}  // namespace weir::jobs
