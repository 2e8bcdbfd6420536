// The definition as vertices and edges: nodes that hand rows over without an exchange are chained into one vertex,
// whose subtasks each run the whole chain. Pure: no file, no clock, no thread.
//
// Example, parallelism 2: source -> filter -> key_by -> aggregate -> sink becomes vertex 0 [source, filter, key_by] and
// vertex 1 [aggregate, sink], with a hash edge between them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "jobs/job_definition.h"

namespace weir::jobs {

struct Vertex {
  uint32_t id = 0;
  std::string name;           // "orders -> paid -> by_customer"
  std::vector<size_t> nodes;  // indexes into JobDefinition::nodes, head first
  uint32_t parallelism = 1;
  std::vector<size_t> stateful_nodes;  // of `nodes`: a source (its splits), or an operator that declares state
  bool has_state() const { return !stateful_nodes.empty(); }
};

// From one output of a node inside `from` (its main output or a side output) to the head of `to`.
struct Edge {
  uint32_t from = 0;
  size_t from_node = 0;  // index into JobDefinition::nodes
  std::string side_tag;  // empty: main output
  uint32_t to = 0;
  int input = 0;                       // which input of the head
  EdgeKind kind = EdgeKind::kForward;  // never kAuto
};

struct JobGraph {
  std::vector<Vertex> vertices;  // in topological order; id is the index
  std::vector<Edge> edges;

  // `job` has been checked by ParseJobDefinition: inputs exist and there is no cycle.
  static JobGraph Build(const JobDefinition& job, const operators::Registry& registry);
  // Ids of the nodes with state.
  std::set<std::string> StatefulUids(const JobDefinition& job) const;
};

}  // namespace weir::jobs
