#include "operators/runtime/operator_chain.h"

#include <gtest/gtest.h>

#include "tests/operators/runtime/test_pieces.h"

namespace weir::operators {
namespace {

// Writes down its calls; emits each batch twice, and "<name>-end" when it finishes.
class Loud final : public Operator {
 public:
  Loud(std::string name, std::string& calls) : name_(std::move(name)), calls_(calls) {}
  Status Open(OperatorContext& context) override { return Say("open " + context.uid); }
  Status ProcessBatch(int, Batch batch, Output& output) override {
    WEIR_RETURN_IF_ERROR(Say("batch" + std::to_string(batch.rows())));
    if (output.HasSide("late")) WEIR_RETURN_IF_ERROR(output.EmitSide("late", KeySeqBatch({{"late", 1}})));
    const Rows rows = RowsOf(batch);
    WEIR_RETURN_IF_ERROR(output.Emit(KeySeqBatch(rows)));
    WEIR_RETURN_IF_ERROR(output.Emit(Batch(KeySeqSchema(), 1)));  // empty: dropped
    return output.Emit(KeySeqBatch(rows));
  }
  Status ProcessWatermark(Watermark watermark, Output&) override {
    return Say("watermark" + std::to_string(watermark.time.wall_ns));
  }
  Status OnTimer(const Timer& timer, Output& output) override {
    WEIR_RETURN_IF_ERROR(Say("timer" + std::to_string(timer.time.wall_ns)));
    return output.Emit(KeySeqBatch({{"timer", timer.time.wall_ns}}));
  }
  Status SnapshotState(CheckpointId id) override { return Say("snapshot" + std::to_string(id.number)); }
  Status NotifyCheckpointApplied(CheckpointId id) override { return Say("applied" + std::to_string(id.number)); }
  Status Finish(Output& output) override {
    WEIR_RETURN_IF_ERROR(Say("finish"));
    return output.Emit(KeySeqBatch({{name_ + "-end", 0}}));
  }

 private:
  Status Say(const std::string& what) {
    calls_ += name_ + "." + what + " ";
    return Status::Ok();
  }
  const std::string name_;
  std::string& calls_;
};

struct OperatorChainTest : ::testing::Test {
  std::vector<ChainedOperator> TwoLoud() {
    std::vector<ChainedOperator> operators;
    operators.push_back({"a", std::make_unique<Loud>("a", calls)});
    operators.push_back({"b", std::make_unique<Loud>("b", calls)});
    return operators;
  }
  NoWakeup none;
  Channel channel{{}, none, none};
  Channel side{{}, none, none};
  std::string calls;
};

TEST_F(OperatorChainTest, CallsOperatorsInOrder) {
  OutputWriter outputs({{"b", "", Partitioning::kForward, {&channel}}, {"a", "late", Partitioning::kForward, {&side}}},
                       128);
  OperatorChain chain(TwoLoud(), {}, outputs);
  ASSERT_TRUE(chain.Open({}, {}).ok());
  EXPECT_EQ(std::exchange(calls, ""), "a.open a b.open b ");
  ASSERT_TRUE(chain.ProcessBatch(0, KeySeqBatch({{"k", 1}})).ok());
  EXPECT_EQ(std::exchange(calls, ""), "a.batch1 b.batch1 b.batch1 ");
  EXPECT_EQ(channel.rows(), 4U);
  EXPECT_EQ(side.rows(), 1U) << "only a's";
  ASSERT_TRUE(chain.ProcessWatermark({EventTime{5, 0}}).ok());
  EXPECT_EQ(std::exchange(calls, ""), "a.watermark5 b.watermark5 ");
  ASSERT_TRUE(chain.SnapshotState({3, {}}).ok());
  ASSERT_TRUE(chain.NotifyCheckpointApplied({3, {}}).ok());
  EXPECT_EQ(std::exchange(calls, ""), "a.snapshot3 b.snapshot3 a.applied3 b.applied3 ");
  ASSERT_TRUE(chain.Finish().ok());
  EXPECT_EQ(calls, "a.finish b.batch1 b.finish ");
}

TEST_F(OperatorChainTest, TimersFireBehindTheOperatorsWatermark) {
  OutputWriter outputs({{"b", "", Partitioning::kForward, {&channel}}}, 128);
  std::vector<ChainedOperator> operators = TwoLoud();
  operators[0].timers = [](Watermark upto, const std::function<Status(const Timer&)>& fire) {
    return fire({upto.time, {}, {}});
  };
  OperatorChain chain(std::move(operators), {}, outputs);
  ASSERT_TRUE(chain.ProcessWatermark({EventTime{5, 0}}).ok());
  EXPECT_EQ(calls, "a.watermark5 a.timer5 b.batch1 b.watermark5 ");
}

TEST_F(OperatorChainTest, KeepsForTheSinkWhatItCannotTake) {
  auto world = std::make_shared<SinkWorld>();
  bool open = false;
  world->can_write = [&] { return open; };
  OutputWriter outputs({}, 128);
  OperatorChain chain({}, {"out", std::make_unique<CollectingWriter>(world)}, outputs);
  ASSERT_TRUE(chain.Open({}, {}).ok());
  EXPECT_FALSE(*chain.HasRoom());
  ASSERT_TRUE(chain.ProcessBatch(0, KeySeqBatch({{"k", 1}})).ok());
  ASSERT_TRUE(chain.ProcessBatch(0, KeySeqBatch({{"k", 2}})).ok());
  ASSERT_TRUE(chain.ProcessWatermark({EventTime{5, 0}}).ok());
  EXPECT_FALSE(*chain.ReadyForBarrier()) << "rows in front of the barrier are not written";
  EXPECT_TRUE(world->watermarks.empty()) << "it would pass the rows that are kept";
  EXPECT_EQ(world->written, 0U);
  open = true;
  EXPECT_TRUE(*chain.HasRoom());
  EXPECT_EQ(world->written, 2U);
  EXPECT_EQ(world->watermarks, (std::vector<std::pair<uint64_t, int64_t>>{{2, 5}}));
  EXPECT_TRUE(*chain.ReadyForBarrier());
  const auto committables = chain.PrepareCommit({1, {}});
  ASSERT_TRUE(committables.has_value());
  ASSERT_EQ(committables->size(), 1U);
  EXPECT_EQ(committables->front().uid, "out");
  EXPECT_EQ(world->sealed[committables->front().payload], (Rows{{"k", 1}, {"k", 2}}));
}

TEST_F(OperatorChainTest, AFailureNamesTheOperatorOnce) {
  class Broken final : public Operator {
   public:
    Status Open(OperatorContext&) override { return Status::Ok(); }
    Status ProcessBatch(int, Batch, Output&) override { return Status::InvalidArgument("no"); }
  };
  OutputWriter outputs({}, 128);
  std::vector<ChainedOperator> operators;
  operators.push_back({"a", std::make_unique<Loud>("a", calls)});
  operators.push_back({"broken", std::make_unique<Broken>()});
  OperatorChain chain(std::move(operators), {}, outputs);
  EXPECT_EQ(chain.ProcessBatch(0, KeySeqBatch({{"k", 1}})).ToString(), "invalid argument: broken: no");
}

}  // namespace
}  // namespace weir::operators
