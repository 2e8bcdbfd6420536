#include "operators/option_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "operators/options_check.h"

namespace weir::operators {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr std::array kDurationUnits = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000},
                                       Unit{"d", 86'400'000}};
constexpr std::array kByteUnits = {Unit{"B", 1},
                                   Unit{"kB", 1000},
                                   Unit{"KB", 1000},
                                   Unit{"MB", 1'000'000},
                                   Unit{"GB", 1'000'000'000},
                                   Unit{"TB", 1'000'000'000'000},
                                   Unit{"KiB", int64_t{1} << 10},
                                   Unit{"MiB", int64_t{1} << 20},
                                   Unit{"GiB", int64_t{1} << 30},
                                   Unit{"TiB", int64_t{1} << 40}};

template <size_t N>
std::optional<int64_t> ParseWithUnit(std::string_view text, const std::array<Unit, N>& units, bool space_allowed) {
  size_t digits = 0;
  int64_t number = 0;
  while (digits < text.size() && IsDigit(text[digits])) {
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, text[digits] - '0', &number)) {
      return std::nullopt;
    }
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  if (text.empty()) return number;
  if (space_allowed && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != text) continue;
    if (__builtin_mul_overflow(number, unit.factor, &number)) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`, letters' case apart.
size_t EditDistance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string Bounds(const OptionSpec& spec) {
  const std::string_view unit = spec.type == OptionType::kDuration ? "ms" : "";
  std::string text;
  if (spec.min.has_value() && spec.max.has_value()) {
    text = " from " + std::to_string(*spec.min);
    text += unit;
    text += " to " + std::to_string(*spec.max);
    text += unit;
  } else if (spec.min.has_value()) {
    text = ", at least " + std::to_string(*spec.min);
    text += unit;
  } else if (spec.max.has_value()) {
    text = ", at most " + std::to_string(*spec.max);
    text += unit;
  }
  return text;
}

}  // namespace

std::optional<int64_t> ParseDurationMs(std::string_view text) {
  constexpr int64_t kLongestMs = std::numeric_limits<int64_t>::max() / 1'000'000;  // in nanoseconds it still fits
  const std::optional<int64_t> ms = ParseWithUnit(text, kDurationUnits, false);
  return ms <= kLongestMs ? ms : std::nullopt;
}

std::optional<int64_t> ParseBytes(std::string_view text) { return ParseWithUnit(text, kByteUnits, true); }

std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::string digits;
  int64_t exponent = 0;
  size_t i = 0;
  for (; i < text.size() && IsDigit(text[i]); ++i) digits += text[i];
  if (digits.empty()) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && IsDigit(text[i]); ++i) {
      digits += text[i];
      --exponent;
    }
    if (exponent == 0) return std::nullopt;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::string_view rest = text.substr(i + 1);
    const bool down = rest.starts_with('-');
    if (down || rest.starts_with('+')) rest.remove_prefix(1);
    if (rest.empty() || rest.size() > 3 || !std::all_of(rest.begin(), rest.end(), IsDigit)) return std::nullopt;
    int64_t written = 0;
    for (const char c : rest) written = written * 10 + (c - '0');
    exponent += down ? -written : written;
    i = text.size();
  }
  if (i != text.size()) return std::nullopt;
  for (; exponent < 0 && digits.size() > 1 && digits.back() == '0'; ++exponent) digits.pop_back();
  if (std::all_of(digits.begin(), digits.end(), [](char c) { return c == '0'; })) return 0;
  if (exponent < 0) return std::nullopt;
  if (exponent > 20) return std::nullopt;
  digits.append(static_cast<size_t>(exponent), '0');
  int64_t number = 0;
  for (const char c : digits) {
    const int64_t digit = negative ? '0' - c : c - '0';
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, digit, &number))
      return std::nullopt;
  }
  return number;
}

std::string SuggestName(std::string_view name, std::span<const std::string> known) {
  constexpr size_t kNameBytesMax = 64;
  if (name.size() > kNameBytesMax) return {};
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kNameBytesMax) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string> known) {
  std::string message = "unknown ";
  message += what;
  message += " \"";
  message += name.substr(0, 80);
  message += '"';
  const std::string suggestion = SuggestName(name, known);
  if (!suggestion.empty()) message += " (did you mean \"" + suggestion + "\"?)";
  return message;
}

std::string JoinChoices(std::span<const std::string> choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string_view NumberNoun(OptionType type) {
  if (type == OptionType::kDuration) return "a duration";
  if (type == OptionType::kBytes) return "a size";
  return "a whole number of 64 bits";
}

std::string Expected(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kString: return spec.min.value_or(0) > 0 ? "a string that is not empty" : "a string";
    case OptionType::kBool: return "true or false";
    case OptionType::kInteger: return "a whole number" + Bounds(spec);
    case OptionType::kDuration: return "a duration such as \"500ms\", \"5s\", \"2m\", \"1h\"" + Bounds(spec);
    case OptionType::kBytes: return "a size such as \"64MiB\", \"10kB\" or a number of bytes" + Bounds(spec);
    case OptionType::kEnum: return JoinChoices(spec.choices);
    case OptionType::kExpression: return "an SQL expression";
    case OptionType::kStringList: return spec.choices.empty() ? "a list of strings" : JoinChoices(spec.choices);
    case OptionType::kStringMap: return "an object of strings";
    case OptionType::kExpressionMap: return "an object of names and SQL expressions";
    case OptionType::kObject: return "an object";
    case OptionType::kObjectList: return "a list of objects";
    case OptionType::kObjectMap: return "an object of objects";
  }
  return "?";
}

}  // namespace weir::operators
