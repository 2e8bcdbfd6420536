#include "operators/aggregate_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/json_escape.h"
#include "operators/aggregate_function.h"
#include "operators/key.h"
#include "operators/row_text.h"

namespace weir::operators {
namespace {

struct Recorded {
  AggregateFunction function;
  std::string_view of;
};

// Where the bracket that is open at the front of `text` closes; brackets in quotes don't count.
size_t ClosingBracket(std::string_view text) {
  int depth = 1;
  char quote = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

// "count(*);sum(amount);min(v)+values)" behind the type's beginning.
std::optional<std::vector<Recorded>> ReadCodec(std::string_view text) {
  std::vector<Recorded> read;
  while (!text.empty() && text != ")") {
    const size_t open = text.find('(');
    if (open == std::string_view::npos) return std::nullopt;
    const auto function = FindAggregateFunction(text.substr(0, open));
    text.remove_prefix(open + 1);
    const size_t close = ClosingBracket(text);
    if (!function.has_value() || close == std::string_view::npos) return std::nullopt;
    read.push_back({*function, text.substr(0, close)});
    text.remove_prefix(close + 1);
    if (constexpr std::string_view kValues = "+values"; text.starts_with(kValues)) text.remove_prefix(kValues.size());
    if (text.starts_with(';')) text.remove_prefix(1);
  }
  if (text != ")") return std::nullopt;
  return read;
}

}  // namespace

bool AppendAggregatesAsJson(std::string_view codec, std::string_view bytes, std::string& out) {
  if (!codec.starts_with(kAggregateGroupsCodec)) return false;
  const auto recorded = ReadCodec(codec.substr(kAggregateGroupsCodec.size()));
  const std::optional<uint64_t> rows = ReadVarint(bytes);
  if (!recorded.has_value() || !rows.has_value()) return false;
  std::string text = "{\"rows\":" + std::to_string(*rows) + ",\"aggregates\":[";
  Arena arena;
  Accumulator accumulator;
  for (const Recorded& each : *recorded) {
    if (!TakeAccumulator(bytes, each.function, accumulator)) return false;
    text += &each == recorded->data() ? "{\"function\":\"" : ",{\"function\":\"";
    text += AggregateFunctionName(each.function);
    text += "\",\"of\":";
    AppendJsonString(text, each.of);
    text += ",\"count\":" + std::to_string(accumulator.count) + ",\"result\":";
    AppendValueAsJson(text, ResultOf(each.function, accumulator, arena));
    text += '}';
  }
  if (!bytes.empty()) return false;
  out += text + "]}";
  return true;
}

bool AppendAggregateValueAsJson(std::string_view bytes, std::string& value, std::string& count) {
  const std::optional<uint64_t> times = ReadVarint(bytes);
  const std::optional<Value> read = times.has_value() ? TakeKeyValue(bytes) : std::nullopt;
  if (!read.has_value() || !bytes.empty()) return false;
  AppendValueAsJson(value, *read);
  count += std::to_string(*times);
  return true;
}

}  // namespace weir::operators
