#include "operators/registry.h"

#include <utility>

#include "base/check.h"

namespace weir::operators {
namespace {

template <class Type>
void AddTo(std::map<std::string, Type>& types, Type type) {
  WEIR_CHECK(type.create != nullptr);
  std::string name = type.name;
  const bool added = types.emplace(name, std::move(type)).second;
  if (!added) check_internal::Fail(__FILE__, __LINE__, "a type is registered once", name);
}

template <class Type>
const Type* FindIn(const std::map<std::string, Type>& types, const std::string& name) {
  const auto it = types.find(name);
  return it == types.end() ? nullptr : &it->second;
}

}  // namespace

void Registry::Add(OperatorType type) { AddTo(operators_, std::move(type)); }
void Registry::Add(SourceType type) { AddTo(sources_, std::move(type)); }
void Registry::Add(SinkType type) { AddTo(sinks_, std::move(type)); }

const OperatorType* Registry::FindOperator(const std::string& name) const { return FindIn(operators_, name); }
const SourceType* Registry::FindSource(const std::string& name) const { return FindIn(sources_, name); }
const SinkType* Registry::FindSink(const std::string& name) const { return FindIn(sinks_, name); }

}  // namespace weir::operators
