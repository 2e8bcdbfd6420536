#include "tests/jobs/json_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <regex>
#include <set>

namespace weir::jobs {
namespace {

using Json = nlohmann::json;

class SchemaValidator {
 public:
  explicit SchemaValidator(const Json& root) : root_(root) {}

  std::string Check(const Json& schema, const Json& value, const std::string& path) {
    static const std::set<std::string> kKnown = {"$schema",
                                                 "$defs",
                                                 "$ref",
                                                 "title",
                                                 "description",
                                                 "type",
                                                 "enum",
                                                 "const",
                                                 "pattern",
                                                 "minLength",
                                                 "minimum",
                                                 "maximum",
                                                 "items",
                                                 "minItems",
                                                 "maxItems",
                                                 "uniqueItems",
                                                 "properties",
                                                 "required",
                                                 "additionalProperties",
                                                 "minProperties",
                                                 "anyOf",
                                                 "oneOf",
                                                 "allOf",
                                                 "if",
                                                 "then"};
    for (const auto& [keyword, argument] : schema.items()) {
      EXPECT_TRUE(kKnown.contains(keyword)) << keyword;
      if (std::string problem = Keyword(keyword, argument, schema, value, path); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "number") return value.is_number();
    return value.is_number() && (value.is_number_integer() || std::floor(value.get<double>()) == value.get<double>());
  }

  std::string Keyword(const std::string& keyword, const Json& argument, const Json& schema, const Json& value,
                      const std::string& path) {
    const auto wrong = [&](bool is_wrong) {
      return is_wrong ? path + ": " + keyword + " " + argument.dump() : std::string();
    };
    if (keyword == "$ref")
      return Check(root_.at(Json::json_pointer(argument.get<std::string>().substr(1))), value, path);
    if (keyword == "type") {
      if (argument.is_string()) return wrong(!HasType(value, argument));
      return wrong(
          std::none_of(argument.begin(), argument.end(), [&](const Json& type) { return HasType(value, type); }));
    }
    if (keyword == "enum") return wrong(std::find(argument.begin(), argument.end(), value) == argument.end());
    if (keyword == "const") return wrong(argument != value);
    if (keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf") {
      const auto matches =
          std::count_if(argument.begin(), argument.end(), [&](const Json& s) { return Check(s, value, path).empty(); });
      if (keyword == "anyOf") return wrong(matches == 0);
      if (keyword == "oneOf") return wrong(matches != 1);
      return wrong(matches != static_cast<int64_t>(argument.size()));
    }
    if (keyword == "if") return Check(argument, value, path).empty() ? Check(schema.at("then"), value, path) : "";
    if (value.is_string()) return wrong(StringIsWrong(keyword, argument, value.get<std::string>()));
    if (value.is_number()) {
      return wrong((keyword == "minimum" && value < argument) || (keyword == "maximum" && value > argument));
    }
    if (value.is_array()) return List(keyword, argument, value, path);
    if (value.is_object()) return Object(keyword, argument, schema, value, path);
    return {};
  }

  static bool StringIsWrong(const std::string& keyword, const Json& argument, const std::string& value) {
    if (keyword == "minLength") return value.size() < argument.get<size_t>();
    return keyword == "pattern" && !std::regex_search(value, std::regex(argument.get<std::string>()));
  }

  std::string List(const std::string& keyword, const Json& argument, const Json& value, const std::string& path) {
    if (keyword == "minItems" && value.size() < argument.get<size_t>()) return path + ": too few";
    if (keyword == "maxItems" && value.size() > argument.get<size_t>()) return path + ": too many";
    if (keyword == "uniqueItems" && std::set<Json>(value.begin(), value.end()).size() != value.size())
      return path + ": twice";
    if (keyword != "items") return {};
    for (size_t i = 0; i < value.size(); ++i) {
      if (std::string problem = Check(argument, value[i], path + "/" + std::to_string(i)); !problem.empty())
        return problem;
    }
    return {};
  }

  std::string Object(const std::string& keyword, const Json& argument, const Json& schema, const Json& value,
                     const std::string& path) {
    if (keyword == "minProperties" && value.size() < argument.get<size_t>()) return path + ": too few members";
    if (keyword == "required") {
      for (const Json& name : argument) {
        if (!value.contains(name)) return path + ": " + name.dump() + " is missing";
      }
    }
    for (const auto& [name, member] : value.items()) {
      const bool listed = schema.contains("properties") && schema.at("properties").contains(name);
      std::string problem;
      if (keyword == "properties" && listed) problem = Check(argument.at(name), member, path + "/" + name);
      if (keyword == "additionalProperties" && !listed) {
        problem = argument == false ? path + ": unknown " + name : Check(argument, member, path + "/" + name);
      }
      if (!problem.empty()) return problem;
    }
    return {};
  }

  const Json& root_;
};

}  // namespace

std::string SchemaProblem(const Json& schema, const Json& value) {
  return SchemaValidator(schema).Check(schema, value, "");
}

}  // namespace weir::jobs
