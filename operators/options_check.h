// From what was written to what a type asked for: checks an object against a list of specs, collects every problem at
// once and fills in defaults. Pure; any thread. Never prints a secret.
//
// Defaults are texts as a definition would hold them: "5s", "1024", "true", "latest"; a list or map "[]", "{}" or one
// string. An object with the default "{}" is made of its members' defaults; any other that is not given is not there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/options.h"
#include "operators/raw_value.h"

namespace weir::operators {

// The options that are right; those with a problem are missing from it. Use it only if no problem was added.
Options CheckOptions(const RawValue& object, std::span<const OptionSpec> specs, Problems& problems);

// True for a kString or kExpression that an empty text doesn't fit.
bool MustHoldText(const OptionSpec& spec);

// The name among `known` that `name` was probably meant to be: at most one edit for each three letters. Empty: none.
std::string SuggestName(std::string_view name, std::span<const std::string> known);
// A problem's sentence with the suggestion, if there is one: `unknown key "wher" (did you mean "where"?)`.
std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string> known);

// "500ms", "5s", "2m", "1h", "1d" or a number of milliseconds -> milliseconds. Nothing for any other text.
std::optional<int64_t> ParseDurationMs(std::string_view text);
// "64MiB", "10kB", "3 GB" or a number -> bytes. Nothing for any other text.
std::optional<int64_t> ParseBytes(std::string_view text);
// A JSON number that is a whole number of 64 bits: "12", "-3", "1e3", "2.0".
std::optional<int64_t> ParseInteger(std::string_view text);

// "a, b or c".
std::string JoinChoices(std::span<const std::string> choices);

}  // namespace weir::operators
