#include "operators/options.h"

#include "base/check.h"
#include "operators/raw_value.h"

namespace weir::operators {

const OptionValue* Options::Find(std::string_view name) const {
  for (const auto& [member, value] : object_.members) {
    if (member == name) return &value;
  }
  return nullptr;
}

void Options::Set(std::string name, OptionValue value) {
  for (auto& [member, present] : object_.members) {
    if (member != name) continue;
    present = std::move(value);
    return;
  }
  object_.members.emplace_back(std::move(name), std::move(value));
}

const OptionValue& Options::Require(std::string_view name) const {
  const OptionValue* value = Find(name);
  if (value == nullptr)
    check_internal::Fail(__FILE__, __LINE__, "the option is given or has a default", std::string(name));
  return *value;
}

const std::string& Options::String(std::string_view name) const {
  const OptionValue& value = Require(name);
  WEIR_CHECK(value.type == OptionType::kString || value.type == OptionType::kEnum ||
             value.type == OptionType::kExpression);
  return value.text;
}

bool Options::Bool(std::string_view name) const {
  const OptionValue& value = Require(name);
  WEIR_CHECK_EQ(value.type, OptionType::kBool);
  return value.boolean;
}

int64_t Options::Integer(std::string_view name) const {
  const OptionValue& value = Require(name);
  WEIR_CHECK(value.type == OptionType::kInteger || value.type == OptionType::kBytes);
  return value.integer;
}

Duration Options::Time(std::string_view name) const {
  const OptionValue& value = Require(name);
  WEIR_CHECK_EQ(value.type, OptionType::kDuration);
  return std::chrono::milliseconds(value.integer);
}

std::vector<std::string> Options::Strings(std::string_view name) const {
  std::vector<std::string> strings;
  const OptionValue* value = Find(name);
  if (value == nullptr) return strings;
  WEIR_CHECK_EQ(value->type, OptionType::kStringList);
  for (const OptionValue& item : value->list) strings.push_back(item.text);
  return strings;
}

std::vector<std::pair<std::string, std::string>> Options::StringMap(std::string_view name) const {
  std::vector<std::pair<std::string, std::string>> map;
  const OptionValue* value = Find(name);
  if (value == nullptr) return map;
  WEIR_CHECK(value->type == OptionType::kStringMap || value->type == OptionType::kExpressionMap);
  for (const auto& [member, item] : value->members) map.emplace_back(member, item.text);
  return map;
}

Options Options::Object(std::string_view name) const {
  const OptionValue& value = Require(name);
  WEIR_CHECK_EQ(value.type, OptionType::kObject);
  return Options(value);
}

std::vector<Options> Options::Objects(std::string_view name) const {
  std::vector<Options> objects;
  const OptionValue* value = Find(name);
  if (value == nullptr) return objects;
  WEIR_CHECK_EQ(value->type, OptionType::kObjectList);
  for (const OptionValue& item : value->list) objects.emplace_back(item);
  return objects;
}

std::vector<std::pair<std::string, Options>> Options::ObjectMap(std::string_view name) const {
  std::vector<std::pair<std::string, Options>> map;
  const OptionValue* value = Find(name);
  if (value == nullptr) return map;
  WEIR_CHECK_EQ(value->type, OptionType::kObjectMap);
  for (const auto& [member, item] : value->members) map.emplace_back(member, Options(item));
  return map;
}

std::string Options::PathOf(std::string_view name) const { return PathJoin(object_.path, name); }

}  // namespace weir::operators
