#include "operators/options_check.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "operators/option_text.h"

namespace weir::operators {
namespace {

class Checker {
 public:
  explicit Checker(Problems& problems) : problems_(problems) {}

  OptionValue Object(const RawValue& raw, std::span<const OptionSpec> specs) {
    OptionValue object;
    object.type = OptionType::kObject;
    object.path = raw.path;
    for (const auto& [name, value] : raw.members) {
      const auto spec =
          std::find_if(specs.begin(), specs.end(), [&name](const OptionSpec& s) { return s.name == name; });
      if (spec == specs.end()) {
        UnknownKey(name, value, specs);
      } else if (auto checked = Value(value, *spec)) {
        object.members.emplace_back(name, std::move(*checked));
      }
    }
    for (const OptionSpec& spec : specs) {
      if (raw.Find(spec.name) != nullptr) continue;
      if (spec.required) {
        problems_.push_back(
            {PathJoin(raw.path, spec.name), "", Expected(spec), "required key \"" + spec.name + "\" is missing"});
      } else if (!spec.default_text.empty()) {
        object.members.emplace_back(spec.name, Default(spec, PathJoin(raw.path, spec.name)));
      }
    }
    return object;
  }

 private:
  void UnknownKey(const std::string& name, const RawValue& value, std::span<const OptionSpec> specs) {
    std::vector<std::string> known;
    for (const OptionSpec& spec : specs) known.push_back(spec.name);
    problems_.push_back(
        {value.path, "", known.empty() ? "no key" : "one of " + JoinChoices(known), UnknownName("key", name, known)});
  }

  std::nullopt_t Wrong(const RawValue& raw, const OptionSpec& spec, std::string message) {
    problems_.push_back({raw.path, spec.secret ? "<secret>" : raw.Printed(), Expected(spec), std::move(message)});
    return std::nullopt;
  }

  std::nullopt_t WrongKind(const RawValue& raw, const OptionSpec& spec) {
    return Wrong(raw, spec, "\"" + spec.name + "\" is " + std::string(RawKindName(raw.kind)));
  }

  std::optional<OptionValue> Value(const RawValue& raw, const OptionSpec& spec) {
    std::optional<OptionValue> value = Typed(raw, spec);
    if (value.has_value()) {
      value->type = spec.type;
      value->path = raw.path;
      value->secret = raw.secret || spec.secret;
    }
    return value;
  }

  std::optional<OptionValue> Typed(const RawValue& raw, const OptionSpec& spec) {
    switch (spec.type) {
      case OptionType::kString:
      case OptionType::kExpression: return Text(raw, spec);
      case OptionType::kEnum: return Choice(raw, spec);
      case OptionType::kBool: return Boolean(raw, spec);
      case OptionType::kInteger:
      case OptionType::kDuration:
      case OptionType::kBytes: return Number(raw, spec);
      case OptionType::kStringList: return StringList(raw, spec);
      case OptionType::kStringMap:
      case OptionType::kExpressionMap: return TextMap(raw, spec);
      case OptionType::kObject:
        if (raw.kind != RawKind::kObject) return WrongKind(raw, spec);
        return Object(raw, spec.members);
      case OptionType::kObjectList: return ObjectList(raw, spec);
      case OptionType::kObjectMap: return ObjectMap(raw, spec);
    }
    return std::nullopt;
  }

  std::optional<OptionValue> Text(const RawValue& raw, const OptionSpec& spec) {
    if (raw.kind != RawKind::kString) return WrongKind(raw, spec);
    if (raw.text.empty() && MustHoldText(spec)) {
      return Wrong(raw, spec, "\"" + spec.name + "\" is empty");
    }
    if (raw.secret && spec.type == OptionType::kExpression) {
      return Wrong(raw, spec, "an expression can't hold a reference: its text appears in errors");
    }
    OptionValue value;
    value.text = raw.text;
    return value;
  }

  std::optional<OptionValue> Choice(const RawValue& raw, const OptionSpec& spec) {
    if (raw.kind != RawKind::kString) return WrongKind(raw, spec);
    if (std::find(spec.choices.begin(), spec.choices.end(), raw.text) == spec.choices.end()) {
      if (raw.secret) return Wrong(raw, spec, "\"" + spec.name + "\" is none of its choices");
      return Wrong(raw, spec, UnknownName(spec.name, raw.text, spec.choices));
    }
    OptionValue value;
    value.text = raw.text;
    return value;
  }

  std::optional<OptionValue> Boolean(const RawValue& raw, const OptionSpec& spec) {
    OptionValue value;
    if (raw.kind == RawKind::kBool) {
      value.boolean = raw.boolean;
    } else if (raw.kind == RawKind::kString && raw.secret && (raw.text == "true" || raw.text == "false")) {
      value.boolean = raw.text == "true";
    } else {
      return WrongKind(raw, spec);
    }
    return value;
  }

  std::optional<OptionValue> Number(const RawValue& raw, const OptionSpec& spec) {
    const bool text_allowed = raw.secret || spec.type != OptionType::kInteger;
    if (raw.kind != RawKind::kNumber && !(raw.kind == RawKind::kString && text_allowed)) return WrongKind(raw, spec);
    std::optional<int64_t> number;
    if (raw.kind == RawKind::kNumber || spec.type == OptionType::kInteger) {
      number = ParseInteger(raw.text);
    } else {
      number = spec.type == OptionType::kDuration ? ParseDurationMs(raw.text) : ParseBytes(raw.text);
    }
    const bool natural = spec.type != OptionType::kInteger;
    if (!number.has_value() || (natural && *number < 0)) {
      return Wrong(raw, spec, "\"" + spec.name + "\" is not " + std::string(NumberNoun(spec.type)));
    }
    if (spec.min.has_value() && *number < *spec.min) return Wrong(raw, spec, "\"" + spec.name + "\" is too small");
    if (spec.max.has_value() && *number > *spec.max) return Wrong(raw, spec, "\"" + spec.name + "\" is too large");
    OptionValue value;
    value.integer = *number;
    value.text = raw.text;
    return value;
  }

  std::optional<OptionValue> StringList(const RawValue& raw, const OptionSpec& spec) {
    OptionValue value;
    OptionSpec item_spec;
    item_spec.name = spec.name;
    item_spec.type = spec.choices.empty() ? OptionType::kString : OptionType::kEnum;
    item_spec.choices = spec.choices;
    item_spec.required = spec.required;
    item_spec.secret = spec.secret;
    if (raw.kind == RawKind::kString) {
      std::optional<OptionValue> item = Value(raw, item_spec);
      if (!item.has_value()) return std::nullopt;
      value.list.push_back(std::move(*item));
      return value;
    }
    if (raw.kind != RawKind::kList) return WrongKind(raw, spec);
    if (raw.list.empty() && spec.required) return Wrong(raw, spec, "\"" + spec.name + "\" is empty");
    bool right = true;
    for (const RawValue& element : raw.list) {
      std::optional<OptionValue> item = Value(element, item_spec);
      right = right && item.has_value();
      if (item.has_value()) value.list.push_back(std::move(*item));
    }
    if (!right) return std::nullopt;
    return value;
  }

  std::optional<OptionValue> TextMap(const RawValue& raw, const OptionSpec& spec) {
    if (raw.kind != RawKind::kObject) return WrongKind(raw, spec);
    if (raw.members.empty() && spec.required) return Wrong(raw, spec, "\"" + spec.name + "\" is empty");
    const bool expressions = spec.type == OptionType::kExpressionMap;
    OptionSpec item_spec;
    item_spec.type = expressions ? OptionType::kExpression : OptionType::kString;
    item_spec.secret = spec.secret;
    OptionValue value;
    bool right = true;
    for (const auto& [name, member] : raw.members) {
      item_spec.name = name;
      RawValue text = member;
      if (!expressions && (member.kind == RawKind::kNumber || member.kind == RawKind::kBool)) {
        text.text = member.kind == RawKind::kNumber ? member.text : member.boolean ? "true" : "false";
        text.kind = RawKind::kString;
      }
      std::optional<OptionValue> item = Value(text, item_spec);
      right = right && item.has_value();
      if (item.has_value()) value.members.emplace_back(name, std::move(*item));
    }
    if (!right) return std::nullopt;
    return value;
  }

  std::optional<OptionValue> ObjectList(const RawValue& raw, const OptionSpec& spec) {
    if (raw.kind != RawKind::kList) return WrongKind(raw, spec);
    if (raw.list.empty() && spec.required) return Wrong(raw, spec, "\"" + spec.name + "\" is empty");
    OptionValue value;
    for (const RawValue& element : raw.list) {
      if (element.kind != RawKind::kObject) {
        Wrong(element, spec, "an element of \"" + spec.name + "\" is " + std::string(RawKindName(element.kind)));
        continue;
      }
      value.list.push_back(Object(element, spec.members));
    }
    return value;
  }

  std::optional<OptionValue> ObjectMap(const RawValue& raw, const OptionSpec& spec) {
    if (raw.kind != RawKind::kObject) return WrongKind(raw, spec);
    if (raw.members.empty() && spec.required) return Wrong(raw, spec, "\"" + spec.name + "\" is empty");
    OptionValue value;
    for (const auto& [name, member] : raw.members) {
      if (member.kind != RawKind::kObject) {
        Wrong(member, spec, "\"" + name + "\" is " + std::string(RawKindName(member.kind)));
        continue;
      }
      value.members.emplace_back(name, Object(member, spec.members));
    }
    return value;
  }

  // The default goes through the same check as a written value; a default that fails it is a mistake in the spec.
  OptionValue Default(const OptionSpec& spec, const std::string& path) {
    RawValue raw;
    raw.path = path;
    raw.text = spec.default_text;
    raw.kind = RawKind::kString;
    if (spec.type == OptionType::kBool) {
      raw.kind = RawKind::kBool;
      raw.boolean = spec.default_text == "true";
    } else if (spec.type == OptionType::kInteger) {
      raw.kind = RawKind::kNumber;
    } else if (spec.default_text == "[]") {
      raw.kind = RawKind::kList;
    } else if (spec.default_text == "{}") {
      raw.kind = RawKind::kObject;
    }
    const size_t before = problems_.size();
    std::optional<OptionValue> value = Value(raw, spec);
    if (!value.has_value() || problems_.size() != before) {
      check_internal::Fail(__FILE__, __LINE__, "a default passes its own spec", spec.name + " = " + spec.default_text);
    }
    return std::move(*value);
  }

  Problems& problems_;
};

}  // namespace

bool MustHoldText(const OptionSpec& spec) {
  return spec.required || spec.type == OptionType::kExpression || spec.min.value_or(0) > 0;
}

Options CheckOptions(const RawValue& object, std::span<const OptionSpec> specs, Problems& problems) {
  if (object.kind != RawKind::kObject) {
    problems.push_back(
        {object.path, object.Printed(), "an object", "this is " + std::string(RawKindName(object.kind))});
    return {};
  }
  return Options(Checker(problems).Object(object, specs));
}

}  // namespace weir::operators
