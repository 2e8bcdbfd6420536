#include "jobs/job_graph.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace weir::jobs {
namespace {

uint32_t ParallelismOf(const JobDefinition& job, const NodeDefinition& node) {
  return node.parallelism.value_or(job.parallelism);
}

EdgeKind ResolveEdge(const JobDefinition& job, const NodeDefinition& from, const NodeDefinition& to, EdgeKind wanted) {
  if (wanted != EdgeKind::kAuto) return wanted;
  if (from.kind == NodeKind::kOperator && from.type == "key_by") return EdgeKind::kHash;
  return ParallelismOf(job, from) == ParallelismOf(job, to) ? EdgeKind::kForward : EdgeKind::kRebalance;
}

// How many inputs of other nodes read each node's main output.
std::vector<size_t> CountReaders(const JobDefinition& job) {
  std::vector<size_t> readers(job.nodes.size(), 0);
  for (const NodeDefinition& node : job.nodes) {
    for (const NodeInput& input : node.inputs) {
      if (input.side_tag.empty()) ++readers[input.node];
    }
  }
  return readers;
}

// Nodes in an order in which every node stands behind its inputs; ties in the order of the definition.
std::vector<size_t> TopologicalOrder(const JobDefinition& job) {
  std::vector<size_t> order;
  std::vector<bool> placed(job.nodes.size(), false);
  while (order.size() < job.nodes.size()) {
    const size_t before = order.size();
    for (size_t i = 0; i < job.nodes.size(); ++i) {
      const auto& inputs = job.nodes[i].inputs;
      const bool ready =
          std::all_of(inputs.begin(), inputs.end(), [&](const NodeInput& in) { return placed[in.node]; });
      if (placed[i] || !ready) continue;
      placed[i] = true;
      order.push_back(i);
    }
    WEIR_CHECK_NE(order.size(), before);  // a cycle is refused by ParseJobDefinition
  }
  return order;
}

// The node that `node` is chained behind, if any: its only input, of which it is the only reader, without an exchange.
std::optional<size_t> ChainedBehind(const JobDefinition& job, const std::vector<size_t>& readers, size_t node) {
  const NodeDefinition& to = job.nodes[node];
  if (to.inputs.size() != 1 || !to.inputs.front().side_tag.empty()) return std::nullopt;
  const size_t from = to.inputs.front().node;
  if (readers[from] != 1) return std::nullopt;
  if (ParallelismOf(job, job.nodes[from]) != ParallelismOf(job, to)) return std::nullopt;
  if (ResolveEdge(job, job.nodes[from], to, to.inputs.front().edge) != EdgeKind::kForward) return std::nullopt;
  return from;
}

bool HasState(const NodeDefinition& node, const operators::Registry& registry) {
  if (node.kind == NodeKind::kSource) return true;
  return node.kind == NodeKind::kOperator && registry.FindOperator(node.type)->has_state;
}

}  // namespace

JobGraph JobGraph::Build(const JobDefinition& job, const operators::Registry& registry) {
  JobGraph graph;
  const std::vector<size_t> readers = CountReaders(job);
  std::vector<uint32_t> vertex_of(job.nodes.size(), 0);
  for (size_t i : TopologicalOrder(job)) {
    const NodeDefinition& node = job.nodes[i];
    if (const auto behind = ChainedBehind(job, readers, i)) {
      Vertex& vertex = graph.vertices[vertex_of[*behind]];
      vertex.nodes.push_back(i);
      vertex.name += " -> ";
      vertex.name += node.id;
      if (HasState(node, registry)) vertex.stateful_nodes.push_back(i);
      vertex_of[i] = vertex.id;
      continue;
    }
    Vertex vertex;
    vertex.id = static_cast<uint32_t>(graph.vertices.size());
    vertex.name = node.id;
    vertex.nodes = {i};
    vertex.parallelism = ParallelismOf(job, node);
    if (HasState(node, registry)) vertex.stateful_nodes = {i};
    vertex_of[i] = vertex.id;
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      const NodeInput& in = node.inputs[input];
      const EdgeKind kind = ResolveEdge(job, job.nodes[in.node], node, in.edge);
      graph.edges.push_back({vertex_of[in.node], in.node, in.side_tag, vertex.id, static_cast<int>(input), kind});
    }
    graph.vertices.push_back(std::move(vertex));
  }
  return graph;
}

std::set<std::string> JobGraph::StatefulUids(const JobDefinition& job) const {
  std::set<std::string> uids;
  for (const Vertex& vertex : vertices) {
    for (const size_t node : vertex.stateful_nodes) uids.insert(job.nodes[node].id);
  }
  return uids;
}

}  // namespace weir::jobs
