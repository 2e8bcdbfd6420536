#include "jobs/commands.h"

namespace weir::jobs {
ExitCode DemoCommand(const DemoArguments&) { return ExitCode::kBadUsage; }
}  // namespace weir::jobs
