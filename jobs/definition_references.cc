#include "jobs/definition_references.h"

#include <algorithm>
#include <array>
#include <optional>

#include "jobs/definition_reader.h"
#include "operators/options_check.h"

namespace weir::jobs {
namespace {

using operators::PathJoin;
using operators::Problems;
using operators::RawKind;
using operators::RawValue;

std::vector<std::string> StepsOf(const std::string& path) {
  const bool pointer = path.starts_with('/');
  const char separator = pointer ? '/' : '.';
  std::vector<std::string> steps(1);
  for (size_t i = pointer ? 1 : 0; i < path.size(); ++i) {
    if (path[i] == separator) {
      steps.emplace_back();
    } else if (pointer && path[i] == '~' && i + 1 < path.size() && (path[i + 1] == '0' || path[i + 1] == '1')) {
      steps.back() += path[++i] == '0' ? '~' : '/';
    } else {
      steps.back() += path[i];
    }
  }
  return steps;
}

// The element that `step` names by its "id" or its index; null: none.
RawValue* ElementOf(RawValue& list, const std::string& step) {
  for (RawValue& element : list.list) {
    const RawValue* id = element.Find("id");
    if (id != nullptr && id->kind == RawKind::kString && id->text == step) return &element;
  }
  const std::optional<int64_t> index = operators::ParseInteger(step);
  if (!index.has_value() || *index < 0 || static_cast<size_t>(*index) >= list.list.size()) return nullptr;
  return &list.list[static_cast<size_t>(*index)];
}

RawValue ValueOf(const std::string& text) {
  std::vector<ReadProblem> unread;
  if (auto value = ReadJsonDefinition(text, unread); value.has_value() && unread.empty()) return std::move(*value);
  RawValue value;
  value.kind = RawKind::kString;
  value.text = text;
  return value;
}

void ClearLines(RawValue& value) {
  value.line = 0;
  for (RawValue& element : value.list) ClearLines(element);
  for (auto& [name, member] : value.members) ClearLines(member);
}

class Resolver {
 public:
  Resolver(const DefinitionInputs& inputs, Problems& problems) : inputs_(inputs), problems_(problems) {}

  void Resolve(RawValue& value) {
    if (value.kind == RawKind::kString) ResolveText(value);
    for (RawValue& element : value.list) Resolve(element);
    for (auto& [name, member] : value.members) {
      static constexpr std::array<std::string_view, 7> kShape = {"id",     "connector", "type", "input",
                                                                 "inputs", "edge",      "name"};
      const bool shape = std::find(kShape.begin(), kShape.end(), name) != kShape.end();
      if (!shape || !IsNodeOrJob(value)) Resolve(member);
    }
  }

  std::vector<std::string> secrets() && { return std::move(secrets_); }

 private:
  // The job's own object and the elements of its three lists.
  static bool IsNodeOrJob(const RawValue& value) {
    return std::count(value.path.begin(), value.path.end(), '/') <= 2 &&
           (value.path.empty() || value.path.starts_with("/sources/") || value.path.starts_with("/operators/") ||
            value.path.starts_with("/sinks/"));
  }

  void ResolveText(RawValue& value) {
    std::string resolved;
    const std::string& text = value.text;
    size_t at = 0;
    for (;;) {
      const size_t dollar = text.find("${", at);
      if (dollar == std::string::npos) break;
      if (dollar > 0 && text[dollar - 1] == '$') {
        resolved.append(text, at, dollar - 1 - at);
        resolved += "${";
        at = dollar + 2;
        continue;
      }
      resolved.append(text, at, dollar - at);
      const size_t end = text.find('}', dollar);
      if (end == std::string::npos) {
        problems_.push_back({value.path, value.Printed(), "${NAME} or ${file:path}; $${ for a plain ${",
                             "a reference begins with ${ and has no }"});
        return;
      }
      const std::string name = text.substr(dollar + 2, end - dollar - 2);
      const std::optional<std::string> found = Lookup(name, value.path);
      if (!found.has_value()) return;
      resolved += *found;
      secrets_.push_back(*found);
      value.secret = true;
      at = end + 1;
    }
    if (at == 0) return;
    resolved.append(text, at, std::string::npos);
    value.text = std::move(resolved);
  }

  std::optional<std::string> Lookup(const std::string& name, const std::string& path) {
    const std::string reference = "${" + name + "}";
    if (name.starts_with("file:")) {
      const std::string file = name.substr(5);
      Result<std::string> content =
          inputs_.read_file ? inputs_.read_file(file) : Error(Status::NotFound("no files here"));
      if (!content.has_value()) {
        problems_.push_back({path, reference, "a file that can be read",
                             "file \"" + file + "\" can't be read: " + content.error().message()});
        return std::nullopt;
      }
      if (content->ends_with('\n')) content->pop_back();
      if (content->ends_with('\r')) content->pop_back();
      return std::move(*content);
    }
    std::optional<std::string> value = inputs_.environment ? inputs_.environment(name) : std::nullopt;
    if (!value.has_value()) {
      problems_.push_back(
          {path, reference, "an environment variable that is set", "environment variable \"" + name + "\" is not set"});
    }
    return value;
  }

  const DefinitionInputs& inputs_;
  Problems& problems_;
  std::vector<std::string> secrets_;
};

}  // namespace

std::string ApplyOverride(RawValue& root, const std::string& path, const std::string& value, Problems& problems) {
  RawValue* at = &root;
  std::string pointer;
  for (const std::string& step : StepsOf(path)) {
    if (step.empty()) {
      problems.push_back(
          {path, "", "names joined by dots, or a JSON pointer", "the path \"" + path + "\" has an empty step"});
      return {};
    }
    if (at->kind == RawKind::kList) {
      RawValue* element = ElementOf(*at, step);
      if (element == nullptr) {
        problems.push_back(
            {pointer, "", "an index or an id of \"" + pointer + "\"", "nothing is called \"" + step + "\""});
        return {};
      }
      at = element;
      pointer = at->path;
      continue;
    }
    if (at->kind != RawKind::kObject) {
      problems.push_back({pointer, at->Printed(), "an object or a list",
                          "\"" + step + "\" can't be set in " + std::string(RawKindName(at->kind))});
      return {};
    }
    pointer = PathJoin(pointer, step);
    RawValue* member = at->Find(step);
    if (member == nullptr) {
      RawValue made;
      made.kind = RawKind::kObject;
      made.path = pointer;
      at->members.emplace_back(step, std::move(made));
      member = &at->members.back().second;
    }
    at = member;
  }
  *at = ValueOf(value);
  ClearLines(*at);
  SetPaths(*at, pointer);
  return pointer;
}

std::vector<std::string> ResolveReferences(RawValue& root, const DefinitionInputs& inputs, Problems& problems) {
  Resolver resolver(inputs, problems);
  resolver.Resolve(root);
  return std::move(resolver).secrets();
}

}  // namespace weir::jobs
