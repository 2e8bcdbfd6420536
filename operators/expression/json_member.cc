#include "operators/expression/json_member.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

namespace weir::operators::expression {

struct JsonReader::State {
  simdjson::ondemand::parser parser;
  std::string buffer;
};

namespace {

bool TakeDigits(std::string_view& text) {
  const size_t before = text.size();
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
  return text.size() < before;
}

// JSON's grammar of a number.
bool IsJsonNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') return false;
  if (!TakeDigits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!TakeDigits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!TakeDigits(text)) return false;
  }
  return text.empty();
}

// The text with each number replaced by 0; nothing if one of them is none.
std::optional<std::string> WithoutNumbers(std::string_view text) {
  std::string plain;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool number = !in_string && (c == '-' || (c >= '0' && c <= '9'));
    if (!number) {
      if (c == '"') in_string = !in_string;
      plain.push_back(c);
      if (in_string && c == '\\' && i + 1 < text.size()) plain.push_back(text[++i]);
      continue;
    }
    const size_t end = std::min(text.find_first_not_of("+-.eE0123456789", i), text.size());
    if (!IsJsonNumber(text.substr(i, end - i))) return std::nullopt;
    plain.push_back('0');
    i = end - 1;
  }
  return plain;
}

// The whole token, without blanks behind it.
Value NumberValue(std::string_view token, Arena& arena) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
    token.remove_suffix(1);
  }
  int64_t integer = 0;
  const auto end = std::from_chars(token.data(), token.data() + token.size(), integer);
  if (end.ec == std::errc() && end.ptr == token.data() + token.size()) return Value::Int64(integer);
  return Value::Text(ValueType::kDecimal, arena.Copy(token));
}

bool ReadMember(simdjson::ondemand::value value, Arena& arena, Value* out) {
  simdjson::ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  switch (type) {
    case simdjson::ondemand::json_type::object:
    case simdjson::ondemand::json_type::array: {
      std::string_view raw;
      if (type == simdjson::ondemand::json_type::object) {
        simdjson::ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS || object.raw_json().get(raw) != simdjson::SUCCESS)
          return false;
      } else {
        simdjson::ondemand::array array;
        if (value.get_array().get(array) != simdjson::SUCCESS || array.raw_json().get(raw) != simdjson::SUCCESS)
          return false;
      }
      *out = Value::Text(ValueType::kJson, arena.Copy(raw));
      return true;
    }
    case simdjson::ondemand::json_type::string: {
      std::string_view text;
      if (value.get_string().get(text) != simdjson::SUCCESS) return false;
      *out = Value::Text(ValueType::kString, arena.Copy(text));
      return true;
    }
    case simdjson::ondemand::json_type::boolean: {
      bool truth = false;
      if (value.get_bool().get(truth) != simdjson::SUCCESS) return false;
      *out = Value::Bool(truth);
      return true;
    }
    case simdjson::ondemand::json_type::number: {
      const std::string_view token = value.raw_json_token();
      double checked = 0;
      const simdjson::error_code error = value.get_double().get(checked);
      if (error != simdjson::SUCCESS && error != simdjson::NUMBER_ERROR) return false;
      *out = NumberValue(token, arena);
      return true;
    }
    case simdjson::ondemand::json_type::null: *out = Value::Null(); return true;
  }
  return false;
}

}  // namespace

JsonReader::JsonReader() : state_(std::make_unique<State>()) {}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;

JsonReader::Outcome JsonReader::Read(std::string_view json, std::string_view member, Arena& arena, Value* out) {
  // The text may stand at the end of an arena; simdjson reads beyond its end.
  std::string& buffer = state_->buffer;
  if (buffer.size() < json.size() + simdjson::SIMDJSON_PADDING) buffer.resize(json.size() + simdjson::SIMDJSON_PADDING);
  std::copy(json.begin(), json.end(), buffer.begin());
  std::memset(buffer.data() + json.size(), 0, simdjson::SIMDJSON_PADDING);
  simdjson::ondemand::document document;
  if (state_->parser.iterate(buffer.data(), json.size(), buffer.size()).get(document) != simdjson::SUCCESS)
    return Outcome::kBroken;
  simdjson::ondemand::json_type type{};
  if (document.type().get(type) != simdjson::SUCCESS) return Outcome::kBroken;
  if (type != simdjson::ondemand::json_type::object) return Outcome::kNotAnObject;
  simdjson::ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return Outcome::kBroken;
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return Outcome::kBroken;
    if (key != member) continue;
    simdjson::ondemand::value value;
    if (field.value().get(value) != simdjson::SUCCESS) return Outcome::kBroken;
    return ReadMember(value, arena, out) ? Outcome::kFound : Outcome::kBroken;
  }
  return Outcome::kAbsent;
}

bool IsJson(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  simdjson::error_code error = parser.parse(text.data(), text.size()).get(element);
  if (error != simdjson::NUMBER_ERROR) return error == simdjson::SUCCESS;
  // Numbers beyond double are JSON all the same: look at the rest with zeros in their place.
  const std::optional<std::string> plain = WithoutNumbers(text);
  if (!plain) return false;
  error = parser.parse(plain->data(), plain->size()).get(element);
  return error == simdjson::SUCCESS;
}

}  // namespace weir::operators::expression
