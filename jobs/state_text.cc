#include "jobs/state_text.h"

#include <optional>

#include "base/bytes.h"
#include "base/json_escape.h"
#include "connectors/format/json_text.h"
#include "operators/aggregate_text.h"
#include "operators/key.h"
#include "operators/row_text.h"
#include "state/codec.h"

namespace weir::jobs {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

void AppendBytes(std::string& out, std::string_view bytes) {
  if (connectors::IsUtf8(bytes)) return AppendJsonString(out, bytes);
  out += "{\"hex\":\"" + Hex(bytes) + "\"}";
}

// The first and second type of "pair(int64;pair(bytes;bool))".
std::optional<std::pair<std::string_view, std::string_view>> TypesOfPair(std::string_view codec) {
  constexpr std::string_view kPair = "pair(";
  if (!codec.starts_with(kPair) || !codec.ends_with(')')) return std::nullopt;
  const std::string_view types = codec.substr(kPair.size(), codec.size() - kPair.size() - 1);
  int depth = 0;
  for (size_t at = 0; at < types.size(); ++at) {
    if (types[at] == '(') ++depth;
    if (types[at] == ')') --depth;
    if (types[at] == ';' && depth == 0) return std::pair(types.substr(0, at), types.substr(at + 1));
  }
  return std::nullopt;
}

template <class T>
bool AppendNumber(std::string& out, std::string_view bytes) {
  const std::optional<T> number = state::Codec<T>::Decode(bytes);
  if (number.has_value()) out += std::to_string(*number);
  return number.has_value();
}

// False: `bytes` are none of type `codec`, or nobody here knows that type.
bool AppendTyped(std::string& out, std::string_view codec, std::string_view bytes) {
  if (codec == "int64") return AppendNumber<int64_t>(out, bytes);
  if (codec == "uint64") return AppendNumber<uint64_t>(out, bytes);
  if (codec == "bytes") {
    AppendBytes(out, bytes);
    return true;
  }
  if (codec == "bool") {
    const std::optional<bool> value = state::Codec<bool>::Decode(bytes);
    if (value.has_value()) out += *value ? "true" : "false";
    return value.has_value();
  }
  if (codec == "double") {
    const std::optional<double> value = state::Codec<double>::Decode(bytes);
    if (value.has_value()) operators::AppendValueAsJson(out, operators::Value::Double(*value));
    return value.has_value();
  }
  const auto types = TypesOfPair(codec);
  if (!types.has_value()) return operators::AppendAggregatesAsJson(codec, bytes, out);
  const std::optional<std::string_view> first = ReadLengthPrefixed(bytes);
  if (!first.has_value()) return false;
  std::string pair = "[";
  if (!AppendTyped(pair, types->first, *first)) return false;
  pair += ',';
  if (!AppendTyped(pair, types->second, bytes)) return false;
  out += pair + "]";
  return true;
}

// What key_by made.
bool AppendKeyValues(std::string& out, std::string_view key) {
  std::string values = "[";
  while (!key.empty()) {
    const std::optional<operators::Value> value = operators::TakeKeyValue(key);
    if (!value.has_value()) return false;
    if (values.size() > 1) values += ',';
    operators::AppendValueAsJson(values, *value);
  }
  out += values + "]";
  return true;
}

// One JSON object, member by member.
class EntryWriter {
 public:
  explicit EntryWriter(const StateEntry& entry) : entry_(entry) {
    AddText("uid", entry.state->uid);
    AddText("state", entry.state->name);
    AddText("kind", entry.state->kind);
  }

  std::string Write() {
    const std::string& kind = entry_.state->kind;
    if (kind == "operator") {
      std::string value;
      AppendForeignText(value, entry_.value);
      Add("value", value);
    } else {
      AddDecoded("key", entry_.key, [](std::string& out, std::string_view key) { return AppendKeyValues(out, key); });
      if (kind == "list") {
        WriteList();
      } else if (kind == "map") {
        WriteMap();
      } else if (kind == "timers") {
        WriteTimer();
      } else {
        if (!entry_.name_space.empty()) AddHex("namespace", entry_.name_space);
        WriteValue(entry_.state->codec);
      }
    }
    if (undecoded_) AddText("codec", entry_.state->codec);
    return line_ + "}";
  }

 private:
  void Add(std::string_view name, std::string_view json) {
    line_ += line_.empty() ? '{' : ',';
    AppendJsonString(line_, name);
    line_ += ':';
    line_ += json;
  }
  void AddText(std::string_view name, std::string_view text) {
    std::string json;
    AppendBytes(json, text);
    Add(name, json);
  }
  void AddHex(std::string_view name, std::string_view bytes) {
    undecoded_ = true;
    AddText(std::string(name) + "-hex", Hex(bytes));
  }
  template <class Append>
  void AddDecoded(std::string_view name, std::string_view bytes, Append append) {
    std::string json;
    if (append(json, bytes)) return Add(name, json);
    AddHex(name, bytes);
  }
  void AddTyped(std::string_view name, std::string_view bytes, std::string_view codec) {
    AddDecoded(name, bytes, [codec](std::string& out, std::string_view from) { return AppendTyped(out, codec, from); });
  }
  void WriteValue(std::string_view codec) { AddTyped("value", entry_.value, codec); }

  void WriteList() {
    if (entry_.name_space.empty()) return AddTyped("length", entry_.value, "uint64");
    if (entry_.name_space.size() == 8) {
      Add("index", std::to_string(ReadBigEndian64(entry_.name_space)));
    } else {
      AddHex("namespace", entry_.name_space);
    }
    WriteValue(entry_.state->codec);
  }

  void WriteMap() {
    const std::string& codec = entry_.state->codec;
    std::string member;
    std::string count;
    if (codec == operators::kAggregateValuesCodec &&
        operators::AppendAggregateValueAsJson(entry_.value, member, count)) {
      Add("member", member);
      return Add("value", count);
    }
    const auto types = TypesOfPair(codec);
    if (!types.has_value()) {
      AddHex("namespace", entry_.name_space);
      return AddHex("value", entry_.value);
    }
    AddTyped("member", entry_.name_space, types->first);
    WriteValue(types->second);
  }

  void WriteTimer() {
    if (entry_.name_space.size() < 8) return AddHex("namespace", entry_.name_space);
    constexpr uint64_t kSignBit = uint64_t{1} << 63;  // turned, so that times sort (state/timers.h)
    Add("time", std::to_string(static_cast<int64_t>(ReadBigEndian64(entry_.name_space) ^ kSignBit)));
    if (entry_.name_space.size() > 8) AddText("namespace", entry_.name_space.substr(8));
  }

  const StateEntry& entry_;
  std::string line_;
  bool undecoded_ = false;
};

}  // namespace

void AppendForeignText(std::string& out, std::string_view text) {
  if (text.find('\n') == std::string_view::npos && !connectors::FindJsonProblem(text).has_value()) {
    out += text;
  } else {
    AppendBytes(out, text);
  }
}

std::string EntryAsJson(const StateEntry& entry) { return EntryWriter(entry).Write(); }

}  // namespace weir::jobs
