#include "jobs/definition_schema.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

#include "jobs/definition_specs.h"
#include "operators/options_check.h"

namespace weir::jobs {
namespace {

using Json = nlohmann::ordered_json;
using operators::OptionSpec;
using operators::OptionType;

// A string with a `${NAME}` or `${file:path}` in it, which may stand for anything.
Json Reference() { return {{"type", "string"}, {"pattern", "\\$\\{[^}]+\\}"}}; }

Json OrReference(Json schema) {
  Json any = Json::array();
  any.push_back(std::move(schema));
  any.push_back(Reference());
  return {{"anyOf", std::move(any)}};
}

Json ObjectSchema(const std::vector<OptionSpec>& specs);

// A whole number with its bounds. Durations and sizes are never negative.
Json NumberSchema(const OptionSpec& spec) {
  Json schema = {{"type", "integer"}};
  if (spec.min.has_value()) {
    schema["minimum"] = *spec.min;
  } else if (spec.type != OptionType::kInteger) {
    schema["minimum"] = 0;
  }
  schema["maximum"] = spec.max.value_or(std::numeric_limits<int64_t>::max());
  return schema;
}

// A number, a text with a unit, or a reference. A bound on a text says no more than that it isn't zero.
Json UnitSchema(const OptionSpec& spec) {
  const std::string digits = spec.min.value_or(0) > 0 ? "^0*[1-9][0-9]*" : "^[0-9]+";
  const std::string unit =
      spec.type == OptionType::kDuration ? "(ms|s|m|h|d)?$" : "( ?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB))?$";
  Json any = Json::array();
  any.push_back(NumberSchema(spec));
  any.push_back({{"type", "string"}, {"pattern", digits + unit}});
  any.push_back(Reference());
  return {{"anyOf", std::move(any)}};
}

Json StringListSchema(const OptionSpec& spec) {
  Json item = {{"type", "string"}};
  if (!spec.choices.empty()) {
    item = {{"enum", spec.choices}};
  } else if (spec.required) {
    item["minLength"] = 1;
  }
  Json list = {{"type", "array"}, {"items", item}};
  if (spec.required) list["minItems"] = 1;
  Json any = Json::array();
  any.push_back(std::move(item));
  any.push_back(std::move(list));
  return {{"anyOf", std::move(any)}};
}

Json MapSchema(const OptionSpec& spec, Json item) {
  Json schema = {{"type", "object"}, {"additionalProperties", std::move(item)}};
  if (spec.required) schema["minProperties"] = 1;
  return schema;
}

Json OptionSchema(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kString:
    case OptionType::kExpression: {
      Json schema = {{"type", "string"}};
      if (operators::MustHoldText(spec)) schema["minLength"] = 1;
      return schema;
    }
    case OptionType::kBool: return OrReference({{"type", "boolean"}});
    case OptionType::kInteger: return OrReference(NumberSchema(spec));
    case OptionType::kDuration:
    case OptionType::kBytes: return UnitSchema(spec);
    case OptionType::kEnum: return OrReference({{"enum", spec.choices}});
    case OptionType::kStringList: return StringListSchema(spec);
    case OptionType::kStringMap: return MapSchema(spec, {{"type", {"string", "number", "boolean"}}});
    case OptionType::kExpressionMap: return MapSchema(spec, {{"type", "string"}, {"minLength", 1}});
    case OptionType::kObject: return ObjectSchema(spec.members);
    case OptionType::kObjectList: {
      Json schema = {{"type", "array"}, {"items", ObjectSchema(spec.members)}};
      if (spec.required) schema["minItems"] = 1;
      return schema;
    }
    case OptionType::kObjectMap: return MapSchema(spec, ObjectSchema(spec.members));
  }
  return Json::object();
}

Json ObjectSchema(const std::vector<OptionSpec>& specs) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const OptionSpec& spec : specs) {
    Json property = OptionSchema(spec);
    if (!spec.doc.empty()) property["description"] = spec.doc;
    if (!spec.default_text.empty() && spec.default_text != "{}" && spec.default_text != "[]") {
      property["description"] = spec.doc + (spec.doc.empty() ? "" : " ") + "Default: " + spec.default_text + ".";
    }
    properties[spec.name] = std::move(property);
    if (spec.required) required.push_back(spec.name);
  }
  Json schema = {{"type", "object"}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  schema["additionalProperties"] = false;
  return schema;
}

// One type of node, complete.
Json NodeSchema(NodeKind kind, const std::string& name, const std::string& doc, const std::vector<OptionSpec>& options,
                int max_inputs) {
  Json schema = ObjectSchema(NodeSpecs(kind, options));
  Json& properties = schema["properties"];
  properties["id"]["pattern"] = kIdPattern;
  properties[std::string(TypeKey(kind))] = {{"const", name}};
  if (kind != NodeKind::kSource) {
    properties["input"]["minLength"] = 1;
    Json& inputs = properties["inputs"]["anyOf"];
    inputs[0]["minLength"] = 1;
    inputs[1]["minItems"] = 1;
    inputs[1]["uniqueItems"] = true;
    if (max_inputs >= 0) inputs[1]["maxItems"] = max_inputs;
    Json one = {{"required", {"input"}}};
    Json several = {{"required", {"inputs"}}};
    schema["oneOf"] = Json::array();
    schema["oneOf"].push_back(std::move(one));
    schema["oneOf"].push_back(std::move(several));
  }
  Json described = {{"description", doc}};
  described.update(schema);
  return described;
}

template <class Types, class MaxInputs>
void AddKind(Json& schema, NodeKind kind, const Types& types, MaxInputs max_inputs) {
  const std::string key(TypeKey(kind));
  const std::string list(ListName(kind));
  Json names = Json::array();
  Json cases = Json::array();
  for (const auto& [name, type] : types) {
    const std::string definition = list + "-" + name;
    names.push_back(name);
    Json condition = {{"properties", {{key, {{"const", name}}}}}, {"required", Json::array({key})}};
    cases.push_back({{"if", std::move(condition)}, {"then", {{"$ref", "#/$defs/" + definition}}}});
    schema["$defs"][definition] = NodeSchema(kind, name, type.doc, type.options, max_inputs(type));
  }
  Json items = {{"type", "object"}, {"required", Json::array({"id", key})}};
  items["properties"][key] = {{"enum", std::move(names)}};
  if (!cases.empty()) items["allOf"] = std::move(cases);
  Json& property = schema["properties"][list];
  property["items"] = std::move(items);
  if (kind != NodeKind::kOperator) {
    property["minItems"] = 1;
    schema["required"].push_back(list);
  }
}

}  // namespace

std::string DefinitionSchema(const operators::Registry& registry) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Weir job definition"}};
  schema.update(ObjectSchema(JobSpecs()));
  schema["properties"]["name"]["pattern"] = kIdPattern;
  schema["$defs"] = Json::object();
  AddKind(schema, NodeKind::kSource, registry.sources(), [](const auto&) { return -1; });
  AddKind(schema, NodeKind::kOperator, registry.operators(),
          [](const operators::OperatorType& type) { return type.max_inputs; });
  AddKind(schema, NodeKind::kSink, registry.sinks(), [](const auto&) { return -1; });
  return schema.dump(2) + "\n";
}

}  // namespace weir::jobs
