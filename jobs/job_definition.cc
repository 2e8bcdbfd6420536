// In this order, each step only as far as the one before it allows: text to tree, overrides, references, the job's own
// settings, each node against its type, the graph. What is wrong with one node hides nothing of the others.
#include "jobs/job_definition.h"

#include <algorithm>
#include <map>
#include <utility>

#include "jobs/definition_instance.h"
#include "jobs/definition_links.h"
#include "jobs/definition_reader.h"
#include "jobs/definition_references.h"
#include "jobs/definition_restart.h"
#include "jobs/definition_shown.h"
#include "jobs/definition_specs.h"
#include "jobs/definition_systems.h"
#include "operators/options_check.h"

namespace weir::jobs {
namespace {

using operators::OptionSpec;
using operators::OptionValue;
using operators::PathJoin;
using operators::Problem;
using operators::Problems;
using operators::Quoted;
using operators::RawKind;
using operators::RawValue;

constexpr NodeKind kKinds[] = {NodeKind::kSource, NodeKind::kOperator, NodeKind::kSink};

EdgeKind EdgeOf(std::string_view name) {
  if (name == "forward") return EdgeKind::kForward;
  if (name == "hash") return EdgeKind::kHash;
  if (name == "rebalance") return EdgeKind::kRebalance;
  if (name == "broadcast") return EdgeKind::kBroadcast;
  return EdgeKind::kAuto;
}

// A type's options and its own check, whatever kind of node it is.
struct NodeType {
  const std::vector<OptionSpec>* options = nullptr;
  const std::function<void(const operators::Options&, Problems&)>* check = nullptr;
  const operators::OperatorType* operator_type = nullptr;
};

template <class Types>
std::vector<std::string> NamesOf(const Types& types) {
  std::vector<std::string> names;
  for (const auto& [name, type] : types) names.push_back(name);
  return names;
}

NodeType FindType(const operators::Registry& registry, NodeKind kind, const std::string& name) {
  if (kind == NodeKind::kOperator) {
    const operators::OperatorType* type = registry.FindOperator(name);
    return type == nullptr ? NodeType{} : NodeType{&type->options, &type->check, type};
  }
  if (kind == NodeKind::kSource) {
    const operators::SourceType* type = registry.FindSource(name);
    return type == nullptr ? NodeType{} : NodeType{&type->options, &type->check, nullptr};
  }
  const operators::SinkType* type = registry.FindSink(name);
  return type == nullptr ? NodeType{} : NodeType{&type->options, &type->check, nullptr};
}

std::vector<std::string> TypeNames(const operators::Registry& registry, NodeKind kind) {
  if (kind == NodeKind::kOperator) return NamesOf(registry.operators());
  return kind == NodeKind::kSource ? NamesOf(registry.sources()) : NamesOf(registry.sinks());
}

// Builds the job from a tree without references.
class DefinitionChecker {
 public:
  DefinitionChecker(const RawValue& root, const operators::Registry& registry, Problems& problems, Problems& warnings)
      : root_(root), registry_(registry), problems_(problems), warnings_(warnings) {}

  JobDefinition Check() {
    ReadSettings();
    std::vector<UnlinkedNode> nodes;
    for (const NodeKind kind : kKinds) {
      const RawValue* list = root_.Find(ListName(kind));
      if (kind != NodeKind::kOperator && (list == nullptr || (list->kind == RawKind::kList && list->list.empty()))) {
        Add(PathJoin("", ListName(kind)), "", "at least " + std::string(NodeNoun(kind)),
            "the job has no " + std::string(ListName(kind)));
      }
      if (list == nullptr || list->kind != RawKind::kList) continue;
      for (const RawValue& raw : list->list) nodes.push_back(ReadNode(kind, raw));
    }
    LinkNodes(nodes, job_.parallelism, problems_, warnings_);
    for (UnlinkedNode& node : nodes) job_.nodes.push_back(std::move(node.node));
    if (problems_.empty()) CheckSharedSystems(job_, registry_, problems_);
    if (problems_.empty()) CheckDividedOutside(job_, registry_, problems_);
    return std::move(job_);
  }

 private:
  void Add(std::string path, std::string value, std::string expected, std::string message) {
    problems_.push_back({std::move(path), std::move(value), std::move(expected), std::move(message)});
  }

  void ReadSettings() {
    RawValue settings = root_;
    for (const NodeKind kind : kKinds) {
      if (RawValue* list = settings.Find(ListName(kind)); list != nullptr) list->list.clear();
    }
    const size_t before = problems_.size();
    const operators::Options options = operators::CheckOptions(settings, JobSpecs(), problems_);
    const OptionValue* name = options.Find("name");
    if (name != nullptr && !IsId(name->text)) {
      Add("/name", operators::QuotedExcerpt(name->text), std::string(kIdInWords),
          "the job's name can't be the name of a folder");
    }
    if (problems_.size() != before) {
      if (const OptionValue* given = options.Find("parallelism"))
        job_.parallelism = static_cast<uint32_t>(given->integer);
      if (const OptionValue* given = options.Find("key-groups"))
        job_.key_groups = static_cast<uint32_t>(given->integer);
      return;
    }
    job_.name = options.String("name");
    job_.parallelism = static_cast<uint32_t>(options.Integer("parallelism"));
    job_.key_groups = static_cast<uint32_t>(options.Integer("key-groups"));
    const operators::Options checkpoint = options.Object("checkpoint");
    job_.checkpoint.storage = checkpoint.String("storage");
    job_.checkpoint.interval = checkpoint.Time("interval");
    job_.checkpoint.min_pause = checkpoint.Time("min-pause");
    job_.checkpoint.timeout = checkpoint.Time("timeout");
    job_.checkpoint.retain = static_cast<uint32_t>(checkpoint.Integer("retain"));
    job_.checkpoint.tolerated_failures = static_cast<uint32_t>(checkpoint.Integer("tolerated-failures"));
    job_.checkpoint.output_bytes_max = static_cast<uint64_t>(checkpoint.Integer("output-bytes-max"));
    job_.checkpoint.delete_on_stop = checkpoint.String("on-stop") == "delete";
    job_.restart = ReadRestart(options.Object("restart"), root_.Find("restart"), warnings_);
    job_.memory_bytes_max = static_cast<uint64_t>(options.Object("memory").Integer("bytes-max"));
    const operators::Options state = options.Object("state");
    job_.state_bytes_max = static_cast<uint64_t>(state.Integer("bytes-max"));
    if (state.Has("directory")) job_.state_directory = state.String("directory");
    job_.stop_timeout = options.Object("stop").Time("timeout");
    if (options.Has("metrics")) {
      const operators::Options metrics = options.Object("metrics");
      job_.metrics = HttpAddress{metrics.String("host"), static_cast<uint16_t>(metrics.Integer("port"))};
    }
    CheckParallelism(job_.parallelism, "/parallelism");
  }

  void CheckParallelism(uint32_t parallelism, const std::string& path) {
    if (parallelism <= job_.key_groups) return;
    Add(path, std::to_string(parallelism), "at most key-groups (" + std::to_string(job_.key_groups) + ")",
        "the parallelism is greater than the number of key groups");
  }

  UnlinkedNode ReadNode(NodeKind kind, const RawValue& raw) {
    UnlinkedNode node;
    node.node.kind = kind;
    node.node.path = raw.path;
    const size_t before = problems_.size();
    if (raw.kind != RawKind::kObject) {
      Add(raw.path, raw.Printed(), "an object with id and " + std::string(TypeKey(kind)),
          "a node is " + std::string(RawKindName(raw.kind)));
      node.checked = false;
      return node;
    }
    RawValue members = raw;
    if (kind == NodeKind::kSource) RefuseInputs(members);
    const NodeType type = TypeOf(kind, raw, node.node.type);
    node.operator_type = type.operator_type;
    if (type.options != nullptr) {
      node.node.options = operators::CheckOptions(members, NodeSpecs(kind, *type.options), problems_);
    } else {
      KeepKnown(members, NodeSpecs(kind));
      node.node.options = operators::CheckOptions(members, NodeSpecs(kind), problems_);
    }
    ReadCommon(node);
    if (kind != NodeKind::kSource) ReadInputs(node);
    if (problems_.size() == before && type.check != nullptr && *type.check) (*type.check)(node.node.options, problems_);
    node.checked = problems_.size() == before;
    if (node.checked && type.operator_type != nullptr && type.operator_type->side_outputs) {
      node.side_tags = type.operator_type->side_outputs(node.node.options);
    }
    return node;
  }

  void RefuseInputs(RawValue& members) {
    std::erase_if(members.members, [this](const auto& member) {
      if (member.first != "input" && member.first != "inputs" && member.first != "edge") return false;
      Add(member.second.path, member.second.Printed(), "no " + member.first, "a source has no inputs");
      return true;
    });
  }

  // Without its type a node's options can't be told from mistakes.
  static void KeepKnown(RawValue& members, const std::vector<OptionSpec>& specs) {
    std::erase_if(members.members, [&specs](const auto& member) {
      return std::none_of(specs.begin(), specs.end(),
                          [&member](const OptionSpec& s) { return s.name == member.first; });
    });
  }

  NodeType TypeOf(NodeKind kind, const RawValue& raw, std::string& name) {
    const std::string key(TypeKey(kind));
    const RawValue* value = raw.Find(key);
    if (value == nullptr || value->kind != RawKind::kString || value->text.empty()) return {};  // CheckOptions says so
    name = value->text;
    NodeType type = FindType(registry_, kind, name);
    if (type.options == nullptr) {
      const std::vector<std::string> known = TypeNames(registry_, kind);
      Add(value->path, value->Printed(), operators::JoinChoices(known), operators::UnknownName(key, name, known));
    }
    return type;
  }

  void ReadCommon(UnlinkedNode& node) {
    if (const OptionValue* id = node.node.options.Find("id"); id != nullptr) {
      if (IsId(id->text)) {
        node.node.id = id->text;
      } else {
        Add(id->path, operators::QuotedExcerpt(id->text), std::string(kIdInWords), "this can't be an id");
      }
    }
    if (const OptionValue* parallelism = node.node.options.Find("parallelism"); parallelism != nullptr) {
      node.node.parallelism = static_cast<uint32_t>(parallelism->integer);
      CheckParallelism(*node.node.parallelism, parallelism->path);
    }
  }

  void ReadInputs(UnlinkedNode& node) {
    const OptionValue* one = node.node.options.Find("input");
    const OptionValue* several = node.node.options.Find("inputs");
    const RawValue* raw_node = nullptr;
    if (one != nullptr && several != nullptr) {
      Add(one->path, "", "one of input and inputs", "both input and inputs are given");
    } else if (one != nullptr) {
      node.input_names = {one->text};
      node.input_paths = {one->path};
    } else if (several != nullptr) {
      for (const OptionValue& item : several->list) {
        node.input_names.push_back(item.text);
        node.input_paths.push_back(item.path);
      }
    }
    raw_node = FindRaw(node.node.path);
    const bool written =
        raw_node != nullptr && (raw_node->Find("input") != nullptr || raw_node->Find("inputs") != nullptr);
    if (!written || (several != nullptr && several->list.empty())) {
      Add(PathJoin(node.node.path, "input"), "", "the id of a source or operator",
          std::string(NodeNoun(node.node.kind)) + " without an input");
    }
    ReadEdges(node);
  }

  void ReadEdges(UnlinkedNode& node) {
    const size_t inputs = node.input_names.size();
    const std::vector<std::string> edges = node.node.options.Strings("edge");
    node.edges.assign(inputs, edges.size() == 1 ? EdgeOf(edges.front()) : EdgeKind::kAuto);
    if (edges.size() <= 1) return;
    if (edges.size() != inputs) {
      Add(node.node.options.PathOf("edge"), std::to_string(edges.size()) + " edges",
          "one edge, or " + std::to_string(inputs) + " as there are inputs", "edges and inputs differ in number");
      return;
    }
    for (size_t i = 0; i < inputs; ++i) node.edges[i] = EdgeOf(edges[i]);
  }

  const RawValue* FindRaw(const std::string& path) const {
    for (const NodeKind kind : kKinds) {
      const RawValue* list = root_.Find(ListName(kind));
      if (list == nullptr) continue;
      for (const RawValue& raw : list->list) {
        if (raw.path == path) return &raw;
      }
    }
    return nullptr;
  }

  const RawValue& root_;
  const operators::Registry& registry_;
  Problems& problems_;
  Problems& warnings_;
  JobDefinition job_;
};

void ReplaceAll(std::string& text, const std::string& what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// Whatever a type's own check wrote: no text of a reference leaves in a problem.
void HideSecrets(Problem& problem, const std::vector<std::string>& secrets) {
  constexpr size_t kShortest = 3;  // shorter ones are hidden by their path alone
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortest) continue;
    ReplaceAll(problem.value, secret, "<secret>");
    ReplaceAll(problem.message, secret, "<secret>");
    ReplaceAll(problem.expected, secret, "<secret>");
  }
}

const RawValue* FindPath(const RawValue& at, std::string_view path) {
  if (at.path == path) return &at;
  for (const RawValue& child : at.list) {
    if (path.starts_with(child.path)) {
      if (const RawValue* found = FindPath(child, path); found != nullptr) return found;
    }
  }
  for (const auto& [name, child] : at.members) {
    if (path.starts_with(child.path)) {
      if (const RawValue* found = FindPath(child, path); found != nullptr) return found;
    }
  }
  return nullptr;
}

// Gives problems their place: the line, or the override that they come from.
class Locator {
 public:
  Locator(const DefinitionInputs& inputs, const RawValue& root,
          std::vector<std::pair<std::string, std::string>> overridden, std::vector<std::string> secrets)
      : inputs_(inputs), root_(root), overridden_(std::move(overridden)), secrets_(std::move(secrets)) {}

  void Locate(Problems problems, bool warning, std::vector<DefinitionProblem>& out) const {
    for (Problem& problem : problems) {
      HideSecrets(problem, secrets_);
      const RawValue* value = FindPath(root_, problem.path);
      if (value != nullptr && value->secret && !problem.value.starts_with("${")) problem.value = "<secret>";
      DefinitionProblem located{inputs_.file_name, LineOf(root_, problem.path), std::move(problem), warning};
      for (const auto& [pointer, argument] : overridden_) {
        const std::string& at = located.problem.path;
        if (!at.starts_with(pointer) || (at.size() > pointer.size() && at[pointer.size()] != '/')) continue;
        located.file = "--set " + argument;
        located.line = 0;
      }
      out.push_back(std::move(located));
    }
  }

 private:
  const DefinitionInputs& inputs_;
  const RawValue& root_;
  const std::vector<std::pair<std::string, std::string>> overridden_;
  const std::vector<std::string> secrets_;
};

bool IsYaml(std::string_view file_name) { return file_name.ends_with(".yaml") || file_name.ends_with(".yml"); }

// Of a text that is read as JSON and isn't: it doesn't even begin as JSON does.
bool MayBeUnnamedYaml(const DefinitionInputs& inputs) {
  const size_t begin = inputs.text.find_first_not_of(" \t\r\n");
  return !IsYaml(inputs.file_name) && begin != std::string_view::npos && inputs.text[begin] != '{' &&
         inputs.text[begin] != '[';
}

}  // namespace

std::string ToString(const DefinitionProblem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += ":" + std::to_string(problem.line);
  text += ": ";
  if (problem.warning) text += "warning: ";
  if (!problem.problem.path.empty()) text += problem.problem.path + ": ";
  text += problem.problem.message;
  if (!problem.problem.value.empty() || !problem.problem.expected.empty()) {
    text += " (";
    if (!problem.problem.value.empty()) text += "value " + problem.problem.value;
    if (!problem.problem.value.empty() && !problem.problem.expected.empty()) text += ", ";
    if (!problem.problem.expected.empty()) text += "expected " + problem.problem.expected;
    text += ")";
  }
  return text;
}

std::expected<ParsedDefinition, std::vector<DefinitionProblem>> ParseJobDefinition(
    const DefinitionInputs& inputs, const operators::Registry& registry) {
  std::vector<DefinitionProblem> located;
  std::vector<ReadProblem> unread;
  std::optional<RawValue> root =
      IsYaml(inputs.file_name) ? ReadYamlDefinition(inputs.text, unread) : ReadJsonDefinition(inputs.text, unread);
  if (!root.has_value() && MayBeUnnamedYaml(inputs)) {
    unread.back().problem.expected = "JSON; does the file hold YAML? then call it .yaml";
  }
  for (ReadProblem& problem : unread)
    located.push_back({inputs.file_name, problem.line, std::move(problem.problem), false});
  if (!root.has_value()) return std::unexpected(std::move(located));

  Problems problems;
  Problems warnings;
  std::vector<std::pair<std::string, std::string>> overridden;
  for (const auto& [path, value] : inputs.overrides) {
    Problems refused;
    std::string pointer = ApplyOverride(*root, path, value, refused);
    for (Problem& problem : refused) located.push_back({"--set " + path, 0, std::move(problem), false});
    if (!pointer.empty()) overridden.emplace_back(std::move(pointer), path);
  }
  RawValue written = *root;
  std::vector<std::string> secrets = ResolveReferences(*root, inputs, problems);
  JobDefinition job = DefinitionChecker(*root, registry, problems, warnings).Check();

  const Locator locator(inputs, *root, std::move(overridden), std::move(secrets));
  locator.Locate(std::move(problems), false, located);
  ParsedDefinition parsed;
  locator.Locate(std::move(warnings), true, parsed.warnings);
  if (located.empty()) {
    parsed.job = std::move(job);
    parsed.shown = ShownDefinition(std::move(written), registry);
    return parsed;
  }
  located.insert(located.end(), parsed.warnings.begin(), parsed.warnings.end());
  std::stable_sort(located.begin(), located.end(),
                   [](const DefinitionProblem& a, const DefinitionProblem& b) { return a.line < b.line; });
  return std::unexpected(std::move(located));
}

}  // namespace weir::jobs
