// Where a task's rows leave it: each edge partitions the batches of one output over the channels of one consumer. What
// a channel doesn't accept is kept here in order; the task asks HasRoom before it reads anything more. At a hash
// exchange rows are copied into a batch for each target; such partial batches leave when they are full, old, before any
// control element, and on Flush. Rows of one key, and all control elements, keep their order. The task's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "operators/element.h"
#include "operators/runtime/channel.h"

namespace weir::operators {

enum class Partitioning : uint8_t {
  kForward,    // one channel: subtask i to subtask i
  kHash,       // by the key group of the row's key; rows come from key_by
  kRebalance,  // whole batches in turn
  kBroadcast,  // every row to every channel
};

// One consumer of one output.
struct OutputEdge {
  std::string uid;  // of the operator or source in this chain that makes the rows
  std::string tag;  // empty: its main output, and it is the chain's last; else the side output of that name
  Partitioning partitioning = Partitioning::kForward;
  std::vector<Channel*> channels;  // channel i leads to subtask i of the consumer (forward: one); outlive the writer
};

class OutputWriter {
 public:
  // `key_groups`: of the job, for kHash. No edges: rows are dropped (a chain that ends in a sink writes elsewhere).
  OutputWriter(std::vector<OutputEdge> edges, uint32_t key_groups);

  // Main output. Takes any number of rows; afterwards HasRoom may be false.
  void Write(Batch batch);
  void WriteSide(std::string_view uid, std::string_view tag, const Batch& batch);
  bool HasSide(std::string_view uid, std::string_view tag) const;
  // To every channel of every edge, behind all rows.
  void WriteControl(const Element& element);

  // Sends partial batches. Call it when the task has nothing more to do for now.
  void Flush();
  // Pushes what is kept; true: nothing is kept any more.
  bool HasRoom();

 private:
  struct Target {
    Channel* channel = nullptr;
    Batch partial;             // kHash: rows that wait for more
    uint32_t age = 0;          // writes since the partial's first row
    std::deque<Element> kept;  // not accepted yet, in order
  };
  struct Edge {
    std::string uid;
    std::string tag;
    Partitioning partitioning;
    std::vector<Target> targets;
    size_t next = 0;  // kRebalance
  };
  void WriteTo(Edge& edge, Batch batch);
  void WriteHashed(Edge& edge, const Batch& batch);
  void Send(Target& target, Element element);
  void SendPartial(Target& target);

  const uint32_t key_groups_;
  std::vector<Edge> edges_;
  std::vector<size_t> main_edges_;  // indices into edges_
  size_t kept_ = 0;                 // elements in all `kept`
};

// A batch with copies of all rows, texts and keys, that shares no memory with `batch`.
Batch CopyBatch(const Batch& batch);

}  // namespace weir::operators
