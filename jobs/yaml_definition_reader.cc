// YAML through yaml-cpp's nodes. A mark of the parser's is 0-based; ours are from 1.
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>
#include <utility>

#include "jobs/definition_reader.h"

namespace weir::jobs {
namespace {

using operators::PathJoin;
using operators::RawKind;
using operators::RawValue;

constexpr const char* kTooDeep = "the definition is nested more than 64 deep";

uint64_t LineOfMark(const YAML::Mark& mark) { return mark.line < 0 ? 0 : static_cast<uint64_t>(mark.line) + 1; }

class NodeReader {
 public:
  explicit NodeReader(std::vector<ReadProblem>& problems) : problems_(problems) {}

  // False: past a bound, nothing more is read.
  bool Read(const YAML::Node& node, const std::string& path, size_t depth, RawValue& value) {
    value.line = LineOfMark(node.Mark());
    if (depth > kDefinitionDepthMax) return Refuse(value.line, path, kTooDeep);
    if (++values_ > kDefinitionValuesMax)
      return Refuse(value.line, path, "the definition holds more than 100000 values");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: value.kind = RawKind::kNull; return true;
      case YAML::NodeType::Scalar: ReadScalar(node, value); return true;
      case YAML::NodeType::Sequence: return ReadSequence(node, path, depth, value);
      case YAML::NodeType::Map: return ReadMap(node, path, depth, value);
    }
    return true;
  }

 private:
  bool Refuse(uint64_t line, const std::string& path, std::string message) {
    problems_.push_back({line, {path, "", "", std::move(message)}});
    return false;
  }

  static void ReadScalar(const YAML::Node& node, RawValue& value) {
    const std::string& text = node.Scalar();
    value.kind = RawKind::kString;
    value.text = text;
    if (node.Tag() != "?") return;  // quoted, or a block
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
      value.kind = RawKind::kNull;
    } else if (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" ||
               text == "FALSE") {
      value.kind = RawKind::kBool;
      value.boolean = text[0] == 't' || text[0] == 'T';
    } else if (IsJsonNumber(text)) {
      value.kind = RawKind::kNumber;
    }
  }

  bool ReadSequence(const YAML::Node& node, const std::string& path, size_t depth, RawValue& value) {
    value.kind = RawKind::kList;
    for (const YAML::Node& element : node) {
      if (!Read(element, PathJoin(path, std::to_string(value.list.size())), depth + 1, value.list.emplace_back())) {
        return false;
      }
    }
    return true;
  }

  bool ReadMap(const YAML::Node& node, const std::string& path, size_t depth, RawValue& value) {
    value.kind = RawKind::kObject;
    for (const auto& entry : node) {
      const uint64_t line = LineOfMark(entry.first.Mark());
      if (!entry.first.IsScalar()) return Refuse(line, path, "a key is not a plain text");
      const std::string& name = entry.first.Scalar();
      const std::string member_path = PathJoin(path, name);
      RawValue member;
      if (!Read(entry.second, member_path, depth + 1, member)) return false;
      member.line = line;
      if (value.Find(name) != nullptr) {
        problems_.push_back({line, {member_path, "", "each key once", "key \"" + name + "\" stands twice"}});
        continue;
      }
      value.members.emplace_back(name, std::move(member));
    }
    return true;
  }

  std::vector<ReadProblem>& problems_;
  size_t values_ = 0;
};

class IgnoredEvents final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// "0", "1" or "several": yaml-cpp finds documents without end in a text such as ",", so nothing counts to the end.
std::string CountDocuments(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoredEvents events;
  if (!parser.HandleNextDocument(events)) return "0";
  return parser.HandleNextDocument(events) ? "several" : "1";
}

}  // namespace

std::optional<RawValue> ReadYamlDefinition(std::string_view text, std::vector<ReadProblem>& problems) {
  try {
    const std::string owned(text);
    if (const std::string count = CountDocuments(owned); count != "1") {
      problems.push_back({1, {"", "", "one document", "the text holds " + count + " documents"}});
      return std::nullopt;
    }
    RawValue root;
    if (!NodeReader(problems).Read(YAML::Load(owned), "", 0, root)) return std::nullopt;
    SetPaths(root, "");
    return root;
  } catch (const YAML::DeepRecursion& error) {  // the parser's own bound, far above ours
    problems.push_back({LineOfMark(error.mark), {"", "", "", kTooDeep}});
  } catch (const YAML::Exception& error) {
    problems.push_back({LineOfMark(error.mark), {"", "", "", "this is not YAML: " + error.msg}});
  } catch (const std::exception& error) {
    problems.push_back({0, {"", "", "", std::string("this is not YAML: ") + error.what()}});
  }
  return std::nullopt;
}

}  // namespace weir::jobs
