// A definition as it was written, before any check: what JSON and YAML have in common. jobs/ reads one from text;
// CheckOptions (operators/options_check.h) turns it into Options. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::operators {

enum class RawKind : uint8_t { kNull, kBool, kNumber, kString, kList, kObject };

// "null", "a boolean", "a number", ... for messages.
std::string_view RawKindName(RawKind kind);

struct RawValue {
  RawKind kind = RawKind::kNull;
  bool boolean = false;
  std::string text;  // a number as it was written, a string's content
  std::vector<RawValue> list = {};
  std::vector<std::pair<std::string, RawValue>> members = {};  // in the order of the text; names are unique
  std::string path = {};                                       // JSON pointer, "/sources/0/topics/1"; empty: the whole
  uint64_t line = 0;                                           // from 1; 0: unknown
  bool secret = false;  // holds the value of a `${...}` reference: never printed; its text may stand for a number

  // Null if this is no object or has no such member.
  const RawValue* Find(std::string_view name) const;
  RawValue* Find(std::string_view name);
  // As a message shows it: scalars as JSON, cut to 80 bytes; "a list of 3", "an object"; "<secret>".
  std::string Printed() const;
};

// "text" between double quotes, as messages show names.
std::string Quoted(std::string_view text);
// The same for a text of any length, as messages show values: one line, cut to 80 bytes.
std::string QuotedExcerpt(std::string_view text);
// `parent` with one more step: "/" and "~" in `name` are written "~1" and "~0".
std::string PathJoin(std::string_view parent, std::string_view name);

}  // namespace weir::operators
