// Jobs that the graph tests run on both executors, with what they must give, computed from the input alone.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/runtime/test_job.h"

namespace weir::operators {

// source -> hash -> running sum by key -> forward -> sink.
inline std::vector<TestVertex> KeyedSumJob(const CountingOptions& source, uint32_t sources, uint32_t sums,
                                           std::shared_ptr<SinkWorld> world) {
  std::vector<TestVertex> vertices(3);
  vertices[0].name = "numbers";
  vertices[0].parallelism = sources;
  vertices[0].source = source;
  vertices[1].name = "sums";
  vertices[1].parallelism = sums;
  vertices[1].inputs = {{.from = 0, .partitioning = Partitioning::kHash}};
  vertices[1].operators = [] {
    std::vector<std::unique_ptr<Operator>> operators;
    operators.push_back(std::make_unique<KeyedSum>());
    return operators;
  };
  vertices[1].stateful = true;
  vertices[2].name = "out";
  vertices[2].parallelism = sums;
  vertices[2].inputs = {{.from = 1, .partitioning = Partitioning::kForward}};
  vertices[2].sink = std::move(world);
  return vertices;
}

// By key, in order: the running sums.
inline std::map<std::string, std::vector<int64_t>> ExpectedSums(const CountingOptions& source) {
  std::map<std::string, std::vector<int64_t>> expected;
  for (int split = 0; split < source.splits; ++split) {
    const std::string id = "s" + std::to_string(split);
    for (int64_t seq = 0; seq < source.rows; ++seq) {
      std::vector<int64_t>& sums = expected[CountingKey(id, seq, source.keys)];
      sums.push_back((sums.empty() ? 0 : sums.back()) + seq);
    }
  }
  return expected;
}

inline std::map<std::string, std::vector<int64_t>> ByKey(const Rows& rows) {
  std::map<std::string, std::vector<int64_t>> by_key;
  for (const auto& [key, value] : rows) by_key[key].push_back(value);
  return by_key;
}

// The cut: every key's sum in the checkpoint is the sum of exactly the rows in front of its split's position there.
inline void ExpectConsistentCut(const TestCheckpoint& checkpoint, const TestStateStorage& storage,
                                const CountingOptions& source) {
  std::map<std::string, int64_t> positions;
  std::map<std::string, int64_t> sums;
  for (const auto& [id, snapshot] : checkpoint.subtasks) {
    for (const state::StateFile& file : snapshot.state.files) {
      const TestStateContent content = storage.Load(file.path);
      for (const auto& [key, value] : content.keyed) sums[std::get<1>(key)] = ToInt(value);
      for (const auto& [key, value] : content.entries) {
        for (const std::string prefix : {"split:", "finished:"}) {
          if (key.second.starts_with(prefix)) positions[key.second.substr(prefix.size())] = ToInt(value);
        }
      }
    }
  }
  for (const auto& [uid, bytes] : checkpoint.enumerators) {
    const auto snapshot = DecodeEnumeratorSnapshot(bytes);
    ASSERT_TRUE(snapshot.has_value());
    for (const auto& [id, position] : snapshot->finished_splits) positions[id] = ToInt(position);
    // Of a split that is in both, the reader's position counts.
    for (const auto& [id, position] : DecodeCounting(snapshot->enumerator).unassigned) {
      positions.emplace(id, ToInt(position));
    }
  }
  std::map<std::string, int64_t> expected;
  for (const auto& [split, position] : positions) {
    for (int64_t seq = 0; seq < position; ++seq) expected[CountingKey(split, seq, source.keys)] += seq;
  }
  EXPECT_EQ(sums, expected);
}

}  // namespace weir::operators
