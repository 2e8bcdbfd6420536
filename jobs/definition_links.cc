#include "jobs/definition_links.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jobs/definition_specs.h"
#include "operators/options_check.h"
#include "operators/output.h"
#include "operators/raw_value.h"

namespace weir::jobs {
namespace {

using operators::OptionType;
using operators::OptionValue;
using operators::PathJoin;
using operators::Problems;
using operators::Quoted;

class Linker {
 public:
  Linker(std::vector<UnlinkedNode>& nodes, uint32_t job_parallelism, Problems& problems, Problems& warnings)
      : nodes_(nodes), job_parallelism_(job_parallelism), problems_(problems), warnings_(warnings) {}

  void Link() {
    CheckIds();
    for (UnlinkedNode& node : nodes_) {
      for (size_t i = 0; i < node.input_names.size(); ++i) LinkInput(node, i);
    }
    for (UnlinkedNode& node : nodes_) {
      CheckInputCount(node);
      CheckKeys(node);
    }
    FindCycles();
    FindUnused();
  }

 private:
  void Add(std::string path, std::string value, std::string expected, std::string message) {
    problems_.push_back({std::move(path), std::move(value), std::move(expected), std::move(message)});
  }

  UnlinkedNode* Find(std::string_view id) {
    for (UnlinkedNode& node : nodes_) {
      if (node.node.id == id) return &node;
    }
    return nullptr;
  }

  static bool HasTag(const UnlinkedNode& node, std::string_view tag) {
    if (node.node.kind == NodeKind::kSink) return false;
    return tag == operators::kDeadLetterTag ||
           std::find(node.side_tags.begin(), node.side_tags.end(), tag) != node.side_tags.end();
  }

  void CheckIds() {
    for (const UnlinkedNode& node : nodes_) {
      const std::string& id = node.node.id;
      if (id.empty()) continue;
      const UnlinkedNode* first = Find(id);
      if (first != &node) {
        Add(PathJoin(node.node.path, "id"), Quoted(id), "an id that no other node has",
            "id " + Quoted(id) + " is taken by " + first->node.path);
      }
      for (const UnlinkedNode& other : nodes_) {
        const std::string& prefix = other.node.id;
        if (prefix.empty() || id.size() <= prefix.size() || !id.starts_with(prefix) || id[prefix.size()] != '.')
          continue;
        if (!HasTag(other, id.substr(prefix.size() + 1))) continue;
        Add(PathJoin(node.node.path, "id"), Quoted(id), "another id",
            "id " + Quoted(id) + " is also a side output of " + Quoted(prefix));
      }
    }
  }

  std::vector<std::string> OutputNames() const {
    std::vector<std::string> names;
    for (const UnlinkedNode& node : nodes_) {
      if (node.node.kind == NodeKind::kSink || node.node.id.empty()) continue;
      names.push_back(node.node.id);
      for (const std::string& tag : node.side_tags) names.push_back(node.node.id + "." + tag);
    }
    return names;
  }

  // The node with that id, or the longest id in front of a dot with the rest as side output's tag.
  std::optional<std::pair<UnlinkedNode*, std::string>> Resolve(const std::string& name) {
    if (UnlinkedNode* node = Find(name); node != nullptr) return std::pair(node, std::string());
    for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.', dot - 1)) {
      UnlinkedNode* node = Find(name.substr(0, dot));
      if (node != nullptr) return std::pair(node, name.substr(dot + 1));
    }
    return std::nullopt;
  }

  void LinkInput(UnlinkedNode& node, size_t i) {
    const std::string& name = node.input_names[i];
    const std::string& path = node.input_paths[i];
    const auto resolved = Resolve(name);
    if (!resolved.has_value()) {
      const std::vector<std::string> names = OutputNames();
      Add(path, Quoted(name), names.empty() ? "the id of a source or operator" : operators::JoinChoices(names),
          operators::UnknownName("input", name, names));
      return;
    }
    const auto& [from, tag] = *resolved;
    if (from->node.kind == NodeKind::kSink) {
      Add(path, Quoted(name), "a source or an operator",
          "input " + Quoted(name) + " is a sink: nothing comes out of it");
      return;
    }
    if (!tag.empty() && !HasTag(*from, tag)) {
      std::vector<std::string> tags = from->side_tags;
      tags.emplace_back(operators::kDeadLetterTag);
      if (from->checked)
        Add(path, Quoted(name), operators::JoinChoices(tags), operators::UnknownName("side output", tag, tags));
      return;
    }
    const NodeInput input{static_cast<size_t>(from - nodes_.data()), tag, node.edges[i]};
    const auto same = [&input](const NodeInput& other) {
      return other.node == input.node && other.side_tag == input.side_tag;
    };
    if (std::any_of(node.node.inputs.begin(), node.node.inputs.end(), same)) {
      Add(path, Quoted(name), "each input once", "input " + Quoted(name) + " stands twice");
      return;
    }
    CheckEdge(node, *from, input, path);
    node.node.inputs.push_back(input);
  }

  uint32_t Parallelism(const UnlinkedNode& node) const { return node.node.parallelism.value_or(job_parallelism_); }

  void CheckEdge(const UnlinkedNode& node, const UnlinkedNode& from, const NodeInput& input, const std::string& path) {
    const bool keyed = from.node.type == kKeyByType && input.side_tag.empty();
    if (input.edge == EdgeKind::kHash && !keyed) {
      Add(path, Quoted(from.node.id), "an input of type key_by",
          "a hash edge needs keys, and " + Quoted(from.node.id) + " gives its rows none");
    }
    if (input.edge == EdgeKind::kForward && Parallelism(node) != Parallelism(from)) {
      Add(path, "", "the same parallelism on both sides, or another edge",
          "a forward edge from " + Quoted(from.node.id) + " (parallelism " + std::to_string(Parallelism(from)) +
              ") to " + Quoted(node.node.id) + " (parallelism " + std::to_string(Parallelism(node)) + ")");
    }
    const bool needs_key = node.operator_type != nullptr && node.operator_type->needs_key;
    if (needs_key && keyed && input.edge != EdgeKind::kAuto && input.edge != EdgeKind::kHash) {
      Add(path, "", "hash, or no edge at all", Quoted(node.node.id) + " needs all rows of a key in one subtask");
    }
  }

  void CheckInputCount(const UnlinkedNode& node) {
    if (node.operator_type == nullptr || node.operator_type->max_inputs < 0) return;
    const auto max = static_cast<size_t>(node.operator_type->max_inputs);
    if (node.input_names.size() <= max) return;
    Add(PathJoin(node.node.path, "inputs"), std::to_string(node.input_names.size()) + " inputs",
        max == 1 ? "one input; a union in front joins several" : "at most " + std::to_string(max) + " inputs",
        "too many inputs for an operator of type " + Quoted(node.node.type));
  }

  void CheckKeys(UnlinkedNode& node) {
    if (node.operator_type == nullptr || !node.operator_type->needs_key) return;
    for (size_t i = 0; i < node.node.inputs.size(); ++i) {
      const UnlinkedNode& from = nodes_[node.node.inputs[i].node];
      if (from.node.type != kKeyByType || !node.node.inputs[i].side_tag.empty()) {
        Add(node.node.path, "", "an operator of type key_by as its input",
            Quoted(node.node.id) + " (" + node.node.type + ") needs rows with a key, and " + Quoted(from.node.id) +
                " gives them none");
      } else if (from.checked && node.checked) {
        TakeKeys(node, from);
      }
    }
  }

  // The names of the key's columns: a user says them once, at the key_by.
  void TakeKeys(UnlinkedNode& node, const UnlinkedNode& from) {
    const std::vector<operators::OptionSpec>& specs = node.operator_type->options;
    const bool takes_keys =
        std::any_of(specs.begin(), specs.end(), [](const operators::OptionSpec& s) { return s.name == "keys"; });
    if (!takes_keys) return;
    std::vector<std::string> keys = from.node.options.Strings("keys");
    for (const auto& [name, expression] : from.node.options.StringMap("computed")) keys.push_back(name);
    if (node.node.options.Has("keys")) {
      const size_t given = node.node.options.Strings("keys").size();
      if (given == keys.size()) return;
      Add(node.node.options.PathOf("keys"), std::to_string(given) + " names",
          std::to_string(keys.size()) + " names, or none at all",
          "the key of " + Quoted(from.node.id) + " has " + std::to_string(keys.size()) + " columns");
      return;
    }
    OptionValue list;
    list.type = OptionType::kStringList;
    list.path = node.node.options.PathOf("keys");
    for (std::string& key : keys) {
      OptionValue& item = list.list.emplace_back();
      item.text = std::move(key);
      item.path = list.path;
    }
    node.node.options.Set("keys", std::move(list));
    if (node.operator_type->check) node.operator_type->check(node.node.options, problems_);  // now with its keys
  }

  // Depth first; each node is on the way, done or new. The way back to a node that is on the way is a cycle.
  void FindCycles() {
    std::vector<uint8_t> state(nodes_.size(), 0);
    std::vector<std::pair<size_t, size_t>> way;  // node, next input
    for (size_t start = 0; start < nodes_.size(); ++start) {
      if (state[start] != 0) continue;
      way.emplace_back(start, 0);
      state[start] = 1;
      while (!way.empty()) {
        auto& [at, next] = way.back();
        if (next == nodes_[at].node.inputs.size()) {
          state[at] = 2;
          way.pop_back();
          continue;
        }
        const size_t from = nodes_[at].node.inputs[next++].node;
        if (state[from] == 0) {
          state[from] = 1;
          way.emplace_back(from, 0);
        } else if (state[from] == 1) {
          ReportCycle(way, from);
        }
      }
    }
  }

  void ReportCycle(const std::vector<std::pair<size_t, size_t>>& way, size_t from) {
    const auto first = std::find_if(way.begin(), way.end(), [from](const auto& step) { return step.first == from; });
    // The way goes against the flow: `from` feeds the last node, which feeds the one before it.
    std::string cycle = nodes_[from].node.id;
    for (auto step = way.rbegin(); step.base() != first; ++step) {
      cycle += " -> " + nodes_[step->first].node.id;
    }
    Add(nodes_[from].node.path, "", "rows that flow one way", "the graph has a cycle: " + cycle);
  }

  bool IsRead(size_t node, std::string_view tag) const {
    for (const UnlinkedNode& reader : nodes_) {
      for (const NodeInput& input : reader.node.inputs) {
        if (input.node == node && input.side_tag == tag) return true;
      }
    }
    return false;
  }

  void FindUnused() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const UnlinkedNode& node = nodes_[i];
      if (node.node.kind == NodeKind::kSink) continue;
      // Rows of a node with side outputs of its own leave through them.
      if (!IsRead(i, "") && node.side_tags.empty()) {
        warnings_.push_back({node.node.path, "", "a node that names it as input",
                             "nobody reads the rows of " + Quoted(node.node.id) + ": they are dropped"});
      }
      for (const std::string& tag : node.side_tags) {
        if (IsRead(i, tag)) continue;
        warnings_.push_back(
            {node.node.path, "", "a node that names it as input",
             "nobody reads side output " + Quoted(node.node.id + "." + tag) + ": its rows are dropped"});
      }
      CheckDeadLetters(i, "on-error");     // of operators
      CheckDeadLetters(i, "bad-records");  // of sources
    }
  }

  // Who asks for dead letters wants them read.
  void CheckDeadLetters(size_t i, std::string_view option) {
    const NodeDefinition& node = nodes_[i].node;
    const OptionValue* policy = node.options.Find(option);
    if (policy == nullptr || policy->text != operators::kDeadLetterTag || IsRead(i, operators::kDeadLetterTag)) return;
    Add(policy->path, "\"dead-letter\"", "a node with the input " + Quoted(node.id + ".dead-letter"),
        "nobody reads the dead letters of " + Quoted(node.id));
  }

  std::vector<UnlinkedNode>& nodes_;
  const uint32_t job_parallelism_;
  Problems& problems_;
  Problems& warnings_;
};

}  // namespace

void LinkNodes(std::vector<UnlinkedNode>& nodes, uint32_t job_parallelism, Problems& problems, Problems& warnings) {
  Linker(nodes, job_parallelism, problems, warnings).Link();
}

}  // namespace weir::jobs
