// The state of an aggregate as JSON, for people and tools: read without the definition, from the recorded type alone.
// Numbers keep every digit. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace weir::operators {

// How the recorded types of an aggregate's states begin: of its groups, and of the values behind min and max.
inline constexpr std::string_view kAggregateGroupsCodec = "aggregate/v1(";
inline constexpr std::string_view kAggregateValuesCodec = "aggregate-values/v1";

// {"rows":3,"aggregates":[{"function":"sum","of":"amount","count":3,"result":12.50}]}. False: `bytes` are no group of
// type `codec`; `out` is as it was.
bool AppendAggregatesAsJson(std::string_view codec, std::string_view bytes, std::string& out);

// A value behind min and max and how often it is there. False as above.
bool AppendAggregateValueAsJson(std::string_view bytes, std::string& value, std::string& count);

}  // namespace weir::operators
