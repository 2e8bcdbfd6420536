#include "operators/aggregate.h"
#include "operators/key_by.h"
#include "operators/registry.h"
#include "operators/union.h"

namespace weir::operators {

void RegisterOperators(Registry& registry) {
  registry.Add(AggregateType());
  registry.Add(KeyByType());
  registry.Add(UnionType());
}

}  // namespace weir::operators
