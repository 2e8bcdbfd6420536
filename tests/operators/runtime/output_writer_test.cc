#include "operators/runtime/output_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/operators/runtime/test_pieces.h"

namespace weir::operators {
namespace {

constexpr uint32_t kGroups = 128;

struct OutputWriterTest : ::testing::Test {
  Channel* NewChannel(ChannelOptions options = {}) {
    channels.push_back(std::make_unique<Channel>(options, none, none));
    return channels.back().get();
  }
  static Rows Drain(Channel& channel) {
    Rows rows;
    while (std::optional<Element> element = channel.TryPop()) {
      const auto* batch = std::get_if<Batch>(&*element);
      if (batch == nullptr) {
        rows.emplace_back("control", static_cast<int64_t>(element->index()));
        continue;
      }
      const Rows more = RowsOf(*batch);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }
  static Batch Keyed(int64_t from, int64_t to) {
    Rows rows;
    for (int64_t i = from; i < to; ++i) rows.emplace_back("key-" + std::to_string(i % 17), i);
    Batch batch = KeySeqBatch(rows);
    SetKeys(batch);
    return batch;
  }

  NoWakeup none;
  std::vector<std::unique_ptr<Channel>> channels;
};

TEST_F(OutputWriterTest, AHashExchangeSendsEachRowToTheOwnerOfItsKeyInOrder) {
  std::array<Channel*, 3> targets = {NewChannel({.rows_max = 1 << 20, .bytes_max = 1 << 30}),
                                     NewChannel({.rows_max = 1 << 20, .bytes_max = 1 << 30}),
                                     NewChannel({.rows_max = 1 << 20, .bytes_max = 1 << 30})};
  OutputWriter writer({{"op", "", Partitioning::kHash, {targets.begin(), targets.end()}}}, kGroups);
  for (int64_t i = 0; i < 40; ++i) writer.Write(Keyed(i * 100, i * 100 + 100));
  writer.Flush();
  ASSERT_TRUE(writer.HasRoom());
  size_t total = 0;
  for (uint32_t t = 0; t < 3; ++t) {
    std::map<std::string, int64_t> last;
    for (const auto& [key, seq] : Drain(*targets[t])) {
      EXPECT_EQ(state::SubtaskOf(state::HashKey(key), 3, kGroups), t);
      const auto [at, first] = last.emplace(key, seq);
      EXPECT_TRUE(first || at->second < seq);
      at->second = seq;
      ++total;
    }
  }
  EXPECT_EQ(total, 4000U);
}

TEST_F(OutputWriterTest, CopiesAtAnExchangeShareNoMemory) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kHash, {one, two}}}, kGroups);
  {
    Batch batch = Keyed(0, 10);
    writer.Write(std::move(batch));
  }
  writer.Flush();
  EXPECT_EQ(Drain(*one).size() + Drain(*two).size(), 10U);
}

TEST_F(OutputWriterTest, ControlComesBehindThePartialBatches) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kHash, {one, two}}}, kGroups);
  writer.Write(Keyed(0, 5));
  EXPECT_TRUE(one->empty());
  EXPECT_TRUE(two->empty());
  writer.WriteControl(Watermark{{1, 0}});
  Rows first = Drain(*one);
  Rows second = Drain(*two);
  EXPECT_EQ(first.size() + second.size(), 7U);
  EXPECT_EQ(first.back().first, "control");
  EXPECT_EQ(second.back().first, "control");
}

TEST_F(OutputWriterTest, B15_APartialBatchDoesNotWaitForEver) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kHash, {one, two}}}, kGroups);
  writer.Write(Keyed(0, 2));
  for (int i = 0; i < 100; ++i) {
    Batch same = KeySeqBatch({{"key-0", i}});
    SetKeys(same);
    writer.Write(std::move(same));
  }
  EXPECT_FALSE(one->empty() && two->empty());
}

TEST_F(OutputWriterTest, KeepsWhatIsNotAcceptedInOrder) {
  Channel* one = NewChannel({.rows_max = 2});
  OutputWriter writer({{"op", "", Partitioning::kForward, {one}}}, kGroups);
  for (int64_t i = 0; i < 5; ++i) writer.Write(KeySeqBatch({{"k", i}, {"k", 10 + i}}));
  writer.WriteControl(checkpoint::CheckpointBarrier{{1, {}}});
  EXPECT_FALSE(writer.HasRoom());
  Rows rows;
  for (int i = 0; i < 100 && !writer.HasRoom(); ++i) {
    const Rows more = Drain(*one);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const Rows rest = Drain(*one);
  rows.insert(rows.end(), rest.begin(), rest.end());
  ASSERT_EQ(rows.size(), 11U);
  EXPECT_EQ(rows.back().first, "control");
  EXPECT_EQ(rows[8].second, 4);
}

TEST_F(OutputWriterTest, RebalanceGivesWholeBatchesInTurn) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kRebalance, {one, two}}}, kGroups);
  for (int64_t i = 0; i < 4; ++i) writer.Write(KeySeqBatch({{"k", i}}));
  EXPECT_EQ(Drain(*one), (Rows{{"k", 0}, {"k", 2}}));
  EXPECT_EQ(Drain(*two), (Rows{{"k", 1}, {"k", 3}}));
}

TEST_F(OutputWriterTest, BroadcastAndFanOutGiveEveryConsumerEveryRow) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  Channel* other = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kBroadcast, {one, two}}, {"op", "", Partitioning::kForward, {other}}},
                      kGroups);
  writer.Write(KeySeqBatch({{"k", 1}, {"l", 2}}));
  const Rows expected{{"k", 1}, {"l", 2}};
  EXPECT_EQ(Drain(*one), expected);
  EXPECT_EQ(Drain(*two), expected);
  EXPECT_EQ(Drain(*other), expected);
}

TEST_F(OutputWriterTest, SideOutputsGoToThoseWhoNameThem) {
  Channel* main = NewChannel();
  Channel* dead = NewChannel();
  Channel* others_dead = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kForward, {main}},
                       {"op", "dead-letter", Partitioning::kForward, {dead}},
                       {"source", "dead-letter", Partitioning::kForward, {others_dead}}},
                      kGroups);
  EXPECT_TRUE(writer.HasSide("op", "dead-letter"));
  EXPECT_FALSE(writer.HasSide("op", "late"));
  writer.WriteSide("op", "dead-letter", KeySeqBatch({{"bad", 1}}));
  writer.WriteSide("op", "late", KeySeqBatch({{"late", 1}}));
  EXPECT_TRUE(main->empty());
  EXPECT_EQ(Drain(*dead), (Rows{{"bad", 1}}));
  EXPECT_TRUE(others_dead->empty());
}

TEST_F(OutputWriterTest, RowsOfAnotherSchemaBeginAnotherBatch) {
  Channel* one = NewChannel();
  Channel* two = NewChannel();
  OutputWriter writer({{"op", "", Partitioning::kHash, {one, two}}}, kGroups);
  writer.Write(Keyed(0, 4));
  const auto other = std::make_shared<const Schema>(std::vector<std::string>{"only"});
  Batch narrow(other, 1);
  narrow.AddRow(RowKind::kInsert, {})[0] = Value::Int64(1);
  narrow.SetKey(0, {7, "x"});
  writer.Write(std::move(narrow));
  writer.Flush();
  size_t rows = 0;
  for (Channel* channel : {one, two}) {
    while (std::optional<Element> element = channel->TryPop()) rows += std::get<Batch>(*element).rows();
  }
  EXPECT_EQ(rows, 5U);
}

}  // namespace
}  // namespace weir::operators
