// How a definition's nodes hang together: turns the names of inputs into nodes and finds what is wrong with the graph.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "jobs/job_definition.h"
#include "operators/options.h"

namespace weir::jobs {

// A node with the names of its inputs, as ParseJobDefinition has read it.
struct UnlinkedNode {
  NodeDefinition node;
  std::vector<std::string> input_names;
  std::vector<std::string> input_paths;                    // where each stands
  std::vector<EdgeKind> edges;                             // as many as inputs
  std::vector<std::string> side_tags;                      // besides dead-letter
  const operators::OperatorType* operator_type = nullptr;  // null: no operator, or of unknown type
  bool checked = true;                                     // its options are right
};

// Sets the inputs of all nodes, and for a node that needs keys the option `keys` from its key_by where the type has
// that option and the definition doesn't give it. Appends to `problems` and `warnings`.
void LinkNodes(std::vector<UnlinkedNode>& nodes, uint32_t job_parallelism, operators::Problems& problems,
               operators::Problems& warnings);

}  // namespace weir::jobs
