// How an option's type reads in a message. Pure; for operators/options_check.cc and the published schema.
#pragma once

#include <string>
#include <string_view>

#include "operators/options.h"

namespace weir::operators {

// What the spec accepts: "a duration such as \"5s\", at least 1ms".
std::string Expected(const OptionSpec& spec);
// "a whole number", "a duration", "a size".
std::string_view NumberNoun(OptionType type);

}  // namespace weir::operators
