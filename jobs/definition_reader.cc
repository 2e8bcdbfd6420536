#include "jobs/definition_reader.h"

namespace weir::jobs {

using operators::PathJoin;
using operators::RawValue;

void SetPaths(RawValue& value, const std::string& path) {
  value.path = path;
  for (size_t i = 0; i < value.list.size(); ++i) SetPaths(value.list[i], PathJoin(path, std::to_string(i)));
  for (auto& [name, member] : value.members) SetPaths(member, PathJoin(path, name));
}

uint64_t LineOf(const RawValue& root, std::string_view path) {
  // Paths are compared as they are written, so that no step needs decoding.
  const RawValue* at = &root;
  for (;;) {
    const RawValue* next = nullptr;
    const auto leads_to = [path](const RawValue& child) {
      return path.starts_with(child.path) && (path.size() == child.path.size() || path[child.path.size()] == '/');
    };
    for (const RawValue& child : at->list) {
      if (leads_to(child)) next = &child;
    }
    for (const auto& [name, child] : at->members) {
      if (leads_to(child)) next = &child;
    }
    if (next == nullptr || next->line == 0) return at->line;
    at = next;
  }
}

bool IsJsonNumber(std::string_view text) {
  size_t i = 0;
  const auto digits = [&text, &i] {
    const size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const size_t first = i;
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace weir::jobs
