#include "jobs/restore_fit.h"

#include <gtest/gtest.h>

#include <tuple>

#include "connectors/register_connectors.h"
#include "operators/runtime/enumerator_host.h"

namespace weir::jobs {
namespace {

using checkpoint::CheckpointMetadata;

constexpr const char* kGroups = "aggregate/v1(count(*))";

// A job of a generator, "made", and a count, "counts"; a checkpoint of it at parallelism 2.
class RestoreFitTest : public testing::Test {
 protected:
  RestoreFitTest() {
    operators::RegisterOperators(registry_);
    connectors::RegisterConnectors(registry_, {.file_system = fs_.get(), .kafka = nullptr, .working_directory = "/"});
    checkpoint_.key_groups = 128;
    checkpoint_.enumerators["made"] = operators::EncodeEnumeratorSnapshot({"4", {}});
    checkpoint_.vertices = {Vertex(0, {"made", "by"}, {}),
                            Vertex(1, {"counts", "out"}, {{"counts", "groups", "value", kGroups, 7}})};
  }

  static checkpoint::VertexMetadata Vertex(uint32_t number, std::vector<std::string> uids,
                                           std::vector<state::StateDescription> states) {
    checkpoint::VertexMetadata vertex{.vertex = number, .uids = std::move(uids), .parallelism = 2, .subtasks = {}};
    for (uint32_t i = 0; i < 2; ++i) {
      checkpoint::SubtaskMetadata subtask;
      subtask.index = i;
      subtask.state.files = {{.name = "CURRENT", .path = "shared/x", .size_bytes = 1, .checksum = 1}};
      subtask.state.states = states;
      vertex.subtasks.push_back(std::move(subtask));
    }
    return vertex;
  }

  // `counts`: the aggregate's id and function.
  void Define(const std::string& counts, const std::string& aggregate, const std::string& more = "") {
    const std::string text = R"({"name": "job", "parallelism": 3,
      "sources": [{"id": "made", "connector": "generator", "splits": 4)" +
                             more + R"(}],
      "operators": [{"id": "by", "type": "key_by", "input": "made", "keys": ["status"]},
                    {"id": ")" +
                             counts + R"(", "type": "aggregate", "input": "by", "aggregates": {"n": )" + aggregate +
                             R"(}}],
      "sinks": [{"id": "out", "connector": "blackhole", "input": ")" +
                             counts + "\"}]}";
    DefinitionInputs inputs;
    inputs.file_name = "job.json";
    inputs.text = text;
    auto parsed = ParseJobDefinition(inputs, registry_);
    ASSERT_TRUE(parsed.has_value()) << ToString(parsed.error().front());
    job_ = std::move(parsed->job);
    graph_ = JobGraph::Build(job_, registry_);
  }
  std::vector<std::string> Misfits(const state::StateOwners& renamed = {}) {
    std::vector<std::string> lines;
    for (const Misfit& misfit : FindMisfits(target_, checkpoint_, renamed)) {
      lines.push_back(misfit.uid + ": " + misfit.cause.message());
    }
    return lines;
  }
  std::vector<std::string> Fates(const checkpoint::OperatorMatch& match = {}) {
    std::vector<std::string> lines;
    for (const OperatorFate& fate : FatesOf(target_, checkpoint_, match)) lines.push_back(ToString(fate));
    return lines;
  }

  std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  SystemClock clock_;
  operators::Registry registry_;
  CheckpointMetadata checkpoint_;
  JobDefinition job_;
  JobGraph graph_;
  const RestoreTarget target_{&job_, &graph_, &registry_, &clock_};
};

TEST_F(RestoreFitTest, WhatFitsIsRestoredAtAnotherParallelism) {
  Define("counts", R"({"function": "count"})");
  EXPECT_EQ(Misfits(), std::vector<std::string>{});
  EXPECT_EQ(Fates(), (std::vector<std::string>{"operator 'made': state restored, parallelism 2 -> 3",
                                               "operator 'counts': state restored (groups), parallelism 2 -> 3"}));
}

TEST_F(RestoreFitTest, ARenamedOperatorIsCheckedAgainstTheStateThatItGets) {
  Define("totals", R"({"function": "count"})");
  const checkpoint::OperatorMatch mapped{.renamed = {{"counts", "totals"}}};
  EXPECT_EQ(Misfits(mapped.renamed), std::vector<std::string>{});
  EXPECT_EQ(Fates(mapped)[1], "operator 'totals': state restored from 'counts' (groups), parallelism 2 -> 3");
  const checkpoint::OperatorMatch dropped{.dropped = {"counts"}};
  EXPECT_EQ(Fates(dropped), (std::vector<std::string>{"operator 'made': state restored, parallelism 2 -> 3",
                                                      "operator 'totals' is new: it begins without state",
                                                      "operator 'counts': state left behind (groups)"}));
  Define("totals", R"({"function": "sum", "column": "id"})");
  ASSERT_EQ(Misfits(mapped.renamed).size(), 1U);
  EXPECT_NE(
      Misfits(mapped.renamed)[0].find("totals: state \"groups\" of operator \"totals\" was stored as value of "
                                      "aggregate/v1(count(*)) and can't be read as value of aggregate/v1(sum(id))"),
      std::string::npos);
  EXPECT_EQ(Misfits(), std::vector<std::string>{});  // it begins anew
}

TEST_F(RestoreFitTest, KeyGroupsMayBeDoubledAndHalvedAndNothingElse) {
  Define("counts", R"({"function": "count"})");
  EXPECT_EQ(KeyGroupsChange(job_, checkpoint_), "");
  for (const auto& [before, now, fits] : std::vector<std::tuple<uint32_t, uint32_t, bool>>{{128, 256, true},
                                                                                           {1, 32768, true},
                                                                                           {100, 400, true},
                                                                                           {256, 128, true},
                                                                                           {12, 3, true},
                                                                                           {128, 384, false},
                                                                                           {128, 129, false},
                                                                                           {12, 4, false},
                                                                                           {100, 128, false},
                                                                                           {0, 128, false}}) {
    checkpoint_.key_groups = before;
    job_.key_groups = now;
    EXPECT_EQ(CheckFits(target_, checkpoint_, {}).ok(), fits) << before << " " << now;
    EXPECT_NE(KeyGroupsChange(job_, checkpoint_).find(std::to_string(before) + " -> " + std::to_string(now)),
              std::string::npos);
  }
}

TEST_F(RestoreFitTest, EveryMisfitIsNamed) {
  Define("counts", R"({"function": "count", "column": "id"})");
  checkpoint_.key_groups = 96;
  checkpoint_.enumerators["made"] = operators::EncodeEnumeratorSnapshot({"8", {}});
  const std::vector<std::string> misfits = Misfits();
  ASSERT_EQ(misfits.size(), 3U);
  EXPECT_NE(misfits[0].find("96 key groups, the definition has 128 (/key-groups): expected 96, doubled or halved"),
            std::string::npos);
  EXPECT_NE(misfits[1].find("made: the checkpoint has 8 splits"), std::string::npos);
  EXPECT_NE(misfits[2].find("counts: state \"groups\""), std::string::npos);
  const Status status = CheckFits(target_, checkpoint_, {});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("source 'made' and checkpoint"), std::string::npos);
  EXPECT_NE(status.message().find("operator 'counts' and checkpoint"), std::string::npos);
}

TEST_F(RestoreFitTest, AFirstCheckpointHasNoStateThatCouldBeMissed) {
  Define("counts", R"({"function": "count"})");
  checkpoint_.vertices.clear();
  EXPECT_EQ(Misfits(), std::vector<std::string>{});
  EXPECT_EQ(Fates(), std::vector<std::string>{});
}

}  // namespace
}  // namespace weir::jobs
