// The environment variables of the process: read here only. Any thread, as long as nobody changes them.
#pragma once

#include <optional>
#include <string>

namespace weir {

// Nothing if the variable is not set; an empty text if it is set to nothing.
std::optional<std::string> EnvironmentVariable(const std::string& name);

}  // namespace weir
