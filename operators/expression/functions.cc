#include "operators/expression/functions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace weir::operators::expression {
namespace {

constexpr auto kFunctions = std::to_array<Function>({
    {"abs", 1, 1, std::nullopt, Abs},
    {"btrim", 1, 2, ValueType::kString, TrimBoth},
    {"ceil", 1, 1, std::nullopt, Ceil},
    {"ceiling", 1, 1, std::nullopt, Ceil},
    {"char_length", 1, 1, ValueType::kInt64, Length},
    {"character_length", 1, 1, ValueType::kInt64, Length},
    {"concat", 1, std::numeric_limits<size_t>::max(), ValueType::kString, nullptr},
    {"date_trunc", 2, 2, std::nullopt, nullptr},  // becomes a node of its own
    {"floor", 1, 1, std::nullopt, Floor},
    {"left", 2, 2, ValueType::kString, Left},
    {"length", 1, 1, ValueType::kInt64, Length},
    {"lower", 1, 1, ValueType::kString, Lower},
    {"ltrim", 1, 2, ValueType::kString, TrimLeft},
    {"mod", 2, 2, std::nullopt, Mod},
    {"replace", 3, 3, ValueType::kString, Replace},
    {"right", 2, 2, ValueType::kString, Right},
    {"round", 1, 2, std::nullopt, Round},
    {"row_kind", 0, 0, ValueType::kString, KindOfRow},
    {"rtrim", 1, 2, ValueType::kString, TrimRight},
    {"sign", 1, 1, std::nullopt, Sign},
    {"split_part", 3, 3, ValueType::kString, SplitPart},
    {"strpos", 2, 2, ValueType::kInt64, StrPos},
    {"substr", 2, 3, ValueType::kString, Substring},
    {"substring", 2, 3, ValueType::kString, Substring},
    {"to_timestamp", 1, 1, ValueType::kTimestampTz, ToTimestamp},
    {"trunc", 1, 2, std::nullopt, Trunc},
    {"upper", 1, 1, ValueType::kString, Upper},
});

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  const auto* found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

std::string_view SuggestFunction(std::string_view name) {
  std::string_view best;
  size_t best_distance = 3;
  if (name.size() > 64) return best;
  for (const Function& function : kFunctions) {
    const size_t distance = EditDistance(name, function.name);
    if (distance < best_distance) {
      best = function.name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace weir::operators::expression
