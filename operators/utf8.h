// What is UTF-8 and what is not: no overlong forms, no surrogates, nothing beyond U+10FFFF. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::operators {

// The length of the sequence at the front of `text`, 0 if there is no valid one.
size_t Utf8SequenceLength(std::string_view text);
bool IsUtf8(std::string_view text);

}  // namespace weir::operators
