// The small pieces of JSON's grammar that the reader applies to single tokens, and the slow walk that finds where a
// broken text is broken. Pure functions; strict as RFC 8259: no comments, no NaN, no lone surrogate, UTF-8 only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "operators/utf8.h"
#include "operators/value.h"

namespace weir::connectors {

// Objects and arrays nested deeper than this are refused.
inline constexpr size_t kJsonDepthMax = 200;

// A number token: Int64 where it is an integer of 64 bits, else a Decimal whose text is `token` itself ("-0" too, so
// that nothing is lost). Nothing if it is not JSON's number grammar.
std::optional<operators::Value> ParseJsonNumber(std::string_view token);

// What stands between a string's quotes, unescaped into `out`, which has room for escaped.size() bytes. The bytes
// written; nothing for an unknown escape, a cut-off \u or a lone surrogate.
std::optional<size_t> UnescapeJson(std::string_view escaped, char* out);

struct JsonProblem {
  size_t offset = 0;  // byte, from 0
  std::string what;   // "expected ',' or '}', found 'x'"
};

// The first thing that is wrong with `text` as one JSON value; nothing if it is one.
std::optional<JsonProblem> FindJsonProblem(std::string_view text);

using operators::IsUtf8;
using operators::Utf8SequenceLength;

}  // namespace weir::connectors
