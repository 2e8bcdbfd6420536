#include "operators/aggregate.h"
#include "operators/deduplicate.h"
#include "operators/filter.h"
#include "operators/key_by.h"
#include "operators/project.h"
#include "operators/registry.h"
#include "operators/route.h"
#include "operators/script/script.h"
#include "operators/sequence.h"
#include "operators/union.h"

namespace weir::operators {

void RegisterOperators(Registry& registry) {
  registry.Add(AggregateType());
  registry.Add(DeduplicateType());
  registry.Add(FilterType());
  registry.Add(KeyByType());
  registry.Add(ProjectType());
  registry.Add(RouteType());
  registry.Add(ScriptType());
  registry.Add(SequenceType());
  registry.Add(UnionType());
}

}  // namespace weir::operators
