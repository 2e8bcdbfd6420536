// Text -> tree with the line of each value, from JSON or YAML alike. Knows nothing of what a definition means. Pure;
// any thread. Nothing throws: a text that can't be read is a problem with its line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/options.h"
#include "operators/raw_value.h"

namespace weir::jobs {

struct ReadProblem {
  uint64_t line = 0;
  operators::Problem problem;
};

// The bounds of a definition's text; past them it is refused, so that no text makes the reader run away.
inline constexpr size_t kDefinitionDepthMax = 64;
inline constexpr size_t kDefinitionValuesMax = 100'000;

// Nothing if the text can't be read at all; a key that stands twice is a problem, and the first one stays.
std::optional<operators::RawValue> ReadJsonDefinition(std::string_view text, std::vector<ReadProblem>& problems);
// Plain scalars have the types of YAML's core schema; quoted ones are strings. One document, no merge keys.
std::optional<operators::RawValue> ReadYamlDefinition(std::string_view text, std::vector<ReadProblem>& problems);

// True for a number as JSON writes it.
bool IsJsonNumber(std::string_view text);
// The line of the value at `path`, or of its nearest ancestor that is there.
uint64_t LineOf(const operators::RawValue& root, std::string_view path);
// Sets the paths of `value` and all that is in it, `value` itself being at `path`.
void SetPaths(operators::RawValue& value, const std::string& path);

}  // namespace weir::jobs
