#include "jobs/definition_shown.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobs/definition_specs.h"

namespace weir::jobs {
namespace {

using operators::OptionSpec;
using operators::OptionType;
using operators::RawKind;
using operators::RawValue;

// "${NAME}" and nothing else.
bool IsReference(const std::string& text) { return text.starts_with("${") && text.find('}') == text.size() - 1; }

void Hide(RawValue& value, bool secret) {
  for (RawValue& each : value.list) Hide(each, secret);
  for (auto& [name, member] : value.members) Hide(member, secret);
  if (value.kind == RawKind::kList || value.kind == RawKind::kObject) return;
  const bool is_text = value.kind == RawKind::kString;
  if (is_text && IsReference(value.text)) return;
  if (!secret && !(is_text && value.text.find("${") != std::string::npos)) return;
  value.kind = RawKind::kString;
  value.text = "<secret>";
}

void HideMembers(RawValue& object, std::span<const OptionSpec> specs);

void HideValue(RawValue& value, const OptionSpec& spec) {
  if (spec.secret) return Hide(value, true);
  switch (spec.type) {
    case OptionType::kObject: return HideMembers(value, spec.members);
    case OptionType::kObjectList:
      for (RawValue& each : value.list) HideMembers(each, spec.members);
      return;
    case OptionType::kObjectMap:
      for (auto& [name, member] : value.members) HideMembers(member, spec.members);
      return;
    default: return Hide(value, false);
  }
}

void HideMembers(RawValue& object, std::span<const OptionSpec> specs) {
  for (auto& [name, member] : object.members) {
    const auto spec = std::ranges::find(specs, name, &OptionSpec::name);
    if (spec == specs.end()) {
      Hide(member, true);
    } else {
      HideValue(member, *spec);
    }
  }
}

const std::vector<OptionSpec>* OptionsOf(const operators::Registry& registry, NodeKind kind, const std::string& type) {
  switch (kind) {
    case NodeKind::kSource: {
      const auto* found = registry.FindSource(type);
      return found == nullptr ? nullptr : &found->options;
    }
    case NodeKind::kOperator: {
      const auto* found = registry.FindOperator(type);
      return found == nullptr ? nullptr : &found->options;
    }
    case NodeKind::kSink: {
      const auto* found = registry.FindSink(type);
      return found == nullptr ? nullptr : &found->options;
    }
  }
  return nullptr;
}

}  // namespace

RawValue ShownDefinition(RawValue written, const operators::Registry& registry) {
  std::vector<OptionSpec> settings = JobSpecs();
  for (const NodeKind kind : {NodeKind::kSource, NodeKind::kOperator, NodeKind::kSink}) {
    std::erase_if(settings, [kind](const OptionSpec& spec) { return spec.name == ListName(kind); });
    RawValue* nodes = written.Find(ListName(kind));
    if (nodes == nullptr) continue;
    for (RawValue& node : nodes->list) {
      const RawValue* type = node.Find(TypeKey(kind));
      const auto* options = type == nullptr ? nullptr : OptionsOf(registry, kind, type->text);
      HideMembers(node, options == nullptr ? NodeSpecs(kind) : NodeSpecs(kind, *options));
    }
  }
  for (auto& [name, member] : written.members) {
    const auto spec = std::ranges::find(settings, name, &OptionSpec::name);
    if (spec != settings.end()) HideValue(member, *spec);
  }
  return written;
}

}  // namespace weir::jobs
