// A random job for the simulator, with the oracle that says what must come out: the definition as text, the input of
// its topics, and for each sink the multiset of rows, computed from the input alone, whole, without the engine.
//
// Every row is {k, v, n} with v a function of k, so that no result depends on the order in which rows of different
// splits meet: a running count per key gives 1..c whatever the order. All records have one time.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace weir::simulation {

struct SimRow {
  int64_t k = 0;
  int64_t v = 0;
  int64_t n = 0;
  friend auto operator<=>(const SimRow&, const SimRow&) = default;
};
using SimRows = std::map<SimRow, uint64_t>;  // with how often each occurs

struct SimTopic {
  std::string name;
  std::vector<std::vector<SimRow>> partitions;
};

struct SimTable {
  bool upsert = false;  // by k and n
  bool exact = true;    // written exactly once; otherwise at least once, and then it is an upsert
  SimRows rows;         // exactly these, either way
};

struct RandomJob {
  std::vector<SimTopic> topics;
  std::map<std::string, SimRows> sinks;          // by folder: exactly these
  std::map<std::string, SimRows> exact_topics;   // by topic: exactly these
  std::map<std::string, SimRows> at_least_once;  // by topic: each at least so often, and no others
  uint64_t output_bytes_max = 0;                 // 0: as it is by default
  std::map<std::string, SimTable> tables;        // of the simulated PostgreSQL, by name
  bool writes_tables_at_least_once = false;
  size_t operators = 0;

  // The definition for one start; parallelism may differ from start to start.
  std::string Definition(uint32_t parallelism) const;

  struct Node {
    std::string list;  // "sources", "operators", "sinks"
    std::string text;  // members of its JSON object, without braces
  };
  std::vector<Node> nodes;
};

// 2 to 12 operators, one of them with several inputs, one keyed.
RandomJob MakeRandomJob(Random& random);

// The row as a topic's message and a sink's line, e.g. {"k":1,"v":7,"n":3}.
std::string ToJson(const SimRow& row);

}  // namespace weir::simulation
