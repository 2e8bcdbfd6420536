// The generator's rows depend on nothing but the definition; both forms of a row are the same row.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/generator/source.h"
#include "tests/connectors/collected_output.h"
#include "tests/simulation/manual_clock.h"

namespace weir::connectors {
namespace {

using operators::PollStatus;
using operators::SourceSplit;

// Runs attempts of random length and parallelism until the end and returns all rows, sorted by nothing.
class GeneratorRun {
 public:
  explicit GeneratorRun(RawMembers members) {
    const operators::SourceType type = GeneratorSourceType();
    operators::Problems problems;
    const operators::Options options = OptionsOf(type.options, std::move(members), problems);
    EXPECT_TRUE(problems.empty());
    source_ = std::move(*type.create(options));
  }

  void Start(uint32_t parallelism) {
    readers_.clear();
    for (uint32_t i = 0; i < parallelism; ++i) {
      readers_.push_back(std::move(*source_->CreateReader()));
      operators::ReaderContext context{
          .uid = "in", .subtask = i, .parallelism = parallelism, .clock = &clock_, .send_event = {}};
      EXPECT_TRUE(readers_.back()->Open(context).ok());
    }
    const auto enumerator = std::move(*source_->CreateEnumerator());
    operators::EnumeratorContext context{
        .uid = "in",
        .parallelism = parallelism,
        .clock = &clock_,
        .assign_splits = [this](uint32_t i,
                                std::vector<SourceSplit> splits) { EXPECT_TRUE(readers_[i]->AddSplits(splits).ok()); },
        .no_more_splits = [this](uint32_t i) { readers_[i]->NoMoreSplits(); },
        .send_event = {}};
    EXPECT_TRUE(enumerator->Start(std::move(context), state_, splits_).ok());
    state_ = *enumerator->SnapshotState({});
  }
  // Polls each reader `times` times; true if all are finished.
  bool Poll(int times) {
    size_t finished = 0;
    for (int i = 0; i < times; ++i) {
      finished = 0;
      for (auto& reader : readers_) finished += *reader->PollNext(output_) == PollStatus::kFinished ? 1U : 0U;
    }
    splits_.clear();
    for (auto& reader : readers_) {
      for (SourceSplit& split : reader->SnapshotState({})) splits_.push_back(std::move(split));
    }
    return finished == readers_.size();
  }

  simulation::ManualClock clock_;
  std::unique_ptr<operators::Source> source_;
  std::vector<std::unique_ptr<operators::SourceReader>> readers_;
  std::optional<std::string> state_;
  std::vector<SourceSplit> splits_;
  CollectedOutput output_;
};

TEST(GeneratorTest, TheSameRowsAtAnyParallelismAndThroughRestarts) {
  GeneratorRun straight({{"rows", RawNumber("20001")}, {"seed", RawNumber("9")}});
  straight.Start(1);
  while (!straight.Poll(10)) {
  }
  GeneratorRun restarted({{"rows", RawNumber("20001")}, {"seed", RawNumber("9")}});
  const uint32_t parallelisms[] = {2, 3, 1, 8, 11};
  bool finished = false;
  for (size_t i = 0; !finished; ++i) {
    ASSERT_LT(i, 100U);
    restarted.Start(parallelisms[i % 5]);
    finished = restarted.Poll(1);
  }
  const std::multiset<std::string> expected(straight.output_.rows.begin(), straight.output_.rows.end());
  EXPECT_EQ(expected.size(), 20'001U);
  EXPECT_EQ(std::multiset<std::string>(restarted.output_.rows.begin(), restarted.output_.rows.end()), expected);
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), expected.size()) << "ids are unique";
  for (const auto& [split, time] : straight.output_.watermarks) EXPECT_EQ(time, operators::EventTime::Max()) << split;
}

TEST(GeneratorTest, AnotherNumberOfSplitsIsRefusedOnRestore) {
  const operators::SourceType type = GeneratorSourceType();
  operators::Problems problems;
  const auto source = std::move(*type.create(OptionsOf(type.options, {{"splits", RawNumber("4")}}, problems)));
  EXPECT_EQ(source->CheckRestored("4").ToString(), "ok");
  const Status refused = source->CheckRestored("8");
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "the checkpoint has 8 splits, the definition says 4, and the number can't change: set option splits to 8, "
            "or begin anew with --restore none");
}

TEST(GeneratorTest, KeepsItsRate) {
  GeneratorRun run({{"rows-per-second", RawNumber("1000")}, {"splits", RawNumber("2")}});
  run.Start(1);
  for (int ms = 0; ms < 2000; ms += 10) {
    run.Poll(4);
    ASSERT_TRUE(run.readers_[0]->NextDeadline().has_value());
    EXPECT_GE(run.output_.rows.size() + 20, static_cast<size_t>(ms));
    EXPECT_LE(run.output_.rows.size(), static_cast<size_t>(ms));
    run.clock_.Advance(std::chrono::milliseconds(10));
  }
}

TEST(OrdersTest, TheMessageIsTheRow) {
  const OrdersOptions options{.seed = 3, .splits = 4, .customers = 50};
  operators::Problems problems;
  auto deserializer =
      std::move(*NewDeserializer(OptionsOf(DeserializerOptions(), {{"format", RawText("cockroachdb")}}, problems)));
  RowCollector collector;
  CollectedOutput from_messages;
  CollectedOutput typed;
  const std::string split = "0";
  size_t bytes = 0;
  operators::EventTime last;
  collector.Begin(from_messages, 2000);
  collector.BeginSplit(split);
  operators::Batch batch(OrdersSchema(), 2000);
  for (uint64_t n = 0; n < 2000; ++n) {
    const Order order = OrderAt(options, 2, n);
    std::string message;
    AppendOrderMessage(order, message);
    bytes += message.size();
    ASSERT_TRUE(deserializer->Deserialize({.topic = "t", .value = message}, collector).ok());
    FillOrder(order, batch.arena(), batch.AddRow(operators::RowKind::kUpdateAfter, order.updated));
    EXPECT_LT(last, order.updated);
    last = order.updated;
    std::string key;
    AppendOrderKey(order, key);
    EXPECT_EQ(key, "[" + std::to_string(order.id) + "]");
  }
  ASSERT_TRUE(collector.Flush().ok());
  ASSERT_TRUE(typed.Emit(std::move(batch)).ok());
  EXPECT_EQ(from_messages.rows, typed.rows);
  EXPECT_EQ(from_messages.times, typed.times);
  EXPECT_NEAR(static_cast<double>(bytes) / 2000, 277, 8);
}

}  // namespace
}  // namespace weir::connectors
