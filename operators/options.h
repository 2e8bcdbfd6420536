// Options of sources, operators and sinks: each type declares its own as a list of OptionSpec, and from that one list
// come the check of a definition (every problem at once, with JSON path and a suggestion for a misspelled key), the
// published JSON schema and the documentation. Values arrive as OptionValue trees, so nothing here or in a connector
// needs a JSON library. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace weir::operators {

enum class OptionType : uint8_t {
  kString,
  kBool,
  kInteger,        // int64
  kDuration,       // "500ms", "5s", "2m", "1h", or a number of milliseconds
  kBytes,          // "64MiB", "10kB", or a number of bytes
  kEnum,           // one of `choices`
  kExpression,     // SQL text over the input's columns
  kStringList,     // a list of strings, or one string
  kStringMap,      // an object of strings, numbers or booleans, all kept as text (Kafka properties)
  kExpressionMap,  // an object: name -> expression, in order
  kObject,         // an object with `members`
  kObjectList,     // a list of objects with `members`
  kObjectMap,      // an object: free name -> object with `members`, in order
};

struct OptionSpec {
  std::string name;  // the JSON key, kebab-case
  OptionType type = OptionType::kString;
  bool required = false;
  std::string default_text = {};  // as it would be written; empty: none
  std::string doc;                // one sentence, with units
  std::vector<std::string> choices = {};
  std::vector<OptionSpec> members = {};
  std::optional<int64_t> min = {};  // kInteger, kDuration (ms), kBytes; of a kString 1: not empty
  std::optional<int64_t> max = {};
  bool secret = false;  // the value is never printed
};

// A value that has been checked against its spec. Durations are ms, sizes bytes, in `integer`.
struct OptionValue {
  OptionType type = OptionType::kString;
  std::string text;
  int64_t integer = 0;
  bool boolean = false;
  std::vector<OptionValue> list = {};
  std::vector<std::pair<std::string, OptionValue>> members = {};  // in the order of the definition
  std::string path;                                               // JSON path, e.g. "/sources/0/topics/1"
  bool secret = false;  // holds the value of a `${...}` reference, or its spec says so: never printed
};

// The options of one object, defaults filled in. Asking for a name that is neither given nor defaulted, or as another
// type, is a broken invariant and aborts; lists and maps that are not there are empty.
class Options {
 public:
  Options() = default;
  explicit Options(OptionValue object) : object_(std::move(object)) {}

  bool Has(std::string_view name) const { return Find(name) != nullptr; }  // given or defaulted
  const std::string& String(std::string_view name) const;                  // also kEnum, kExpression
  bool Bool(std::string_view name) const;
  int64_t Integer(std::string_view name) const;  // also kBytes
  Duration Time(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> StringMap(std::string_view name) const;  // also kExpressionMap
  Options Object(std::string_view name) const;
  std::vector<Options> Objects(std::string_view name) const;
  std::vector<std::pair<std::string, Options>> ObjectMap(std::string_view name) const;
  const std::string& path() const { return object_.path; }
  // The path of a member, for a problem: "/operators/2/where".
  std::string PathOf(std::string_view name) const;
  const OptionValue* Find(std::string_view name) const;  // null: not there
  void Set(std::string name, OptionValue value);         // replaces; for what the definition's reader derives

 private:
  const OptionValue& Require(std::string_view name) const;
  OptionValue object_;
};

// One thing that is wrong with a definition. File and line are added by jobs/, which knows where a path stands.
struct Problem {
  std::string path;      // JSON path
  std::string value;     // as written; empty for what is missing; "<secret>" for a secret
  std::string expected;  // what would be right
  std::string message;   // the sentence for a person
};
using Problems = std::vector<Problem>;

}  // namespace weir::operators
