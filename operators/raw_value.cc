#include "operators/raw_value.h"

#include <algorithm>

namespace weir::operators {
namespace {

constexpr size_t kPrintedBytesMax = 80;

}  // namespace

std::string QuotedExcerpt(std::string_view text) {
  size_t shown = std::min(text.size(), kPrintedBytesMax);
  while (shown > 0 && shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xC0U) == 0x80U) --shown;
  std::string quoted = "\"";
  for (const char c : text.substr(0, shown)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  quoted += shown < text.size() ? "\"..." : "\"";
  return quoted;
}

std::string_view RawKindName(RawKind kind) {
  switch (kind) {
    case RawKind::kNull: return "null";
    case RawKind::kBool: return "a boolean";
    case RawKind::kNumber: return "a number";
    case RawKind::kString: return "a string";
    case RawKind::kList: return "a list";
    case RawKind::kObject: return "an object";
  }
  return "?";
}

const RawValue* RawValue::Find(std::string_view name) const {
  for (const auto& [member, value] : members) {
    if (member == name) return &value;
  }
  return nullptr;
}

RawValue* RawValue::Find(std::string_view name) {
  for (auto& [member, value] : members) {
    if (member == name) return &value;
  }
  return nullptr;
}

std::string RawValue::Printed() const {
  if (secret) return "<secret>";
  switch (kind) {
    case RawKind::kNull: return "null";
    case RawKind::kBool: return boolean ? "true" : "false";
    case RawKind::kNumber: return text.substr(0, kPrintedBytesMax);
    case RawKind::kString: return QuotedExcerpt(text);
    case RawKind::kList: return "a list of " + std::to_string(list.size());
    case RawKind::kObject: return "an object";
  }
  return "?";
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  quoted += text;
  quoted += '"';
  return quoted;
}

std::string PathJoin(std::string_view parent, std::string_view name) {
  std::string path(parent);
  path += '/';
  for (const char c : name) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
  return path;
}

}  // namespace weir::operators
