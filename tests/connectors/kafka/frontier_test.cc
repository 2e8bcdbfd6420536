// The frontier by itself, many random lives of it beside an oracle that keeps every row.
#include "connectors/kafka/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "connectors/kafka/frontier_event.h"
#include "connectors/kafka/options.h"

namespace weir::connectors {
namespace {

using operators::EventTime;

constexpr EventTime At(int64_t time) { return {time, 0}; }

class FrontierTest : public testing::Test {
 protected:
  static constexpr FrontierBounds kBounds{
      .release_rows_max = 100, .waiting_bytes_max = 1000, .waiting_bytes_limit = 2000};
  static constexpr MonotonicTime kNow{};
  const TopicPartition a_{"Orders", 0}, b_{"orders", 0}, c_{"orders", 1};
  Frontier frontier_{kBounds};

  void Ensure(std::initializer_list<TopicPartition> partitions) {
    for (const TopicPartition& each : partitions) frontier_.Ensure(each, kNow);
  }
  void Advance(const TopicPartition& partition, int64_t time) { frontier_.Advance(partition, At(time), kNow); }
  std::optional<EventTime> Next() { return frontier_.NextStep(EventTime::Max()); }
};

TEST_F(FrontierTest, B17_IsTheMinimumOverAllPartitionsAlsoSilentOnes) {
  Ensure({a_, b_, c_});
  Advance(a_, 100);
  Advance(b_, 90);
  EXPECT_EQ(Next(), std::nullopt);
  Advance(c_, 85);
  EXPECT_EQ(Next(), At(85));
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(FrontierTest, B18_APartitionThatNeverHadAWatermarkHoldsItAtNothing) {
  EXPECT_EQ(frontier_.proposed(), EventTime::Min());
  Ensure({a_, b_});
  Advance(a_, 1000);
  EXPECT_EQ(frontier_.proposed(), EventTime::Min());
  EXPECT_EQ(Next(), std::nullopt);
}

// What is announced last before the end is the time up to which all was wanted, and not that of the last step's rows.
TEST_F(FrontierTest, B27_TheEndOfARangeIsAnnouncedBeforeTheEnd) {
  FrontierBounds bounds = kBounds;
  bounds.last = At(500);
  Frontier ranged(bounds);
  const std::vector<RowsUpTo> rows = {{At(100), 90, 1}, {At(200), 20, 1}};
  for (const TopicPartition& each : {a_, b_}) ranged.Ensure(each, kNow);
  ranged.AddRows(rows);
  ranged.Advance(a_, EventTime::Max(), kNow);
  ranged.Advance(b_, At(150), kNow);
  EXPECT_EQ(ranged.NextStep(EventTime::Max()), At(150));
  ranged.Advance(b_, EventTime::Max(), kNow);
  for (const EventTime expected : {At(500), EventTime::Max()}) {
    EXPECT_EQ(ranged.NextStep(EventTime::Max()), expected);
  }
  EXPECT_EQ(ranged.NextStep(EventTime::Max()), std::nullopt);
}

TEST_F(FrontierTest, Weakness_g_NamesThatDifferInCapitalsAreTwoPartitions) {
  Ensure({a_, b_});
  Advance(a_, 10);
  EXPECT_EQ(Next(), std::nullopt);
  Advance(b_, 7);
  EXPECT_EQ(Next(), At(7));
}

TEST_F(FrontierTest, B41_AFoundPartitionHoldsItBackAndARetiredOneNoLonger) {
  Ensure({a_});
  Advance(a_, 10);
  EXPECT_EQ(Next(), At(10));
  Ensure({b_});
  Advance(a_, 20);
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_EQ(frontier_.announced(), At(10));
  frontier_.Retire(b_);
  EXPECT_EQ(Next(), At(20));
}

TEST_F(FrontierTest, B22_AWatermarkThatGoesBackIsNotApplied) {
  Ensure({a_});
  Advance(a_, 10);
  Advance(a_, 9);
  EXPECT_EQ(frontier_.proposed(), At(10));
  frontier_.Advance(b_, At(3), kNow);  // not known
  EXPECT_EQ(Next(), At(10));
}

TEST_F(FrontierTest, AdvancesInStepsAndNeverSplitsATimestamp) {
  Ensure({a_});
  frontier_.AddRows(std::vector<RowsUpTo>{
      {At(1), 60, 1}, {At(2), 40, 1}, {At(3), 1, 1}, {At(4), 500, 1}, {At(5), 1, 1}, {At(9), 1, 1}});
  Advance(a_, 8);
  EXPECT_EQ(Next(), At(2));
  EXPECT_EQ(Next(), At(3));
  EXPECT_EQ(frontier_.waiting_rows(), 502U);
  EXPECT_EQ(Next(), At(4));
  EXPECT_EQ(frontier_.NextStep(At(7)), At(7));
  EXPECT_EQ(Next(), At(8));
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_EQ(frontier_.waiting_rows(), 1U);
}

TEST_F(FrontierTest, B44_PausesWhatIsAheadUntilAQuarterIsGone) {
  Ensure({a_, b_, c_});
  Advance(a_, 50);
  Advance(b_, 10);
  Advance(c_, 10);
  EXPECT_EQ(Next(), At(10));
  frontier_.AddRows(std::vector<RowsUpTo>{{At(20), 1, 600}, {At(30), 1, 400}});
  EXPECT_TRUE(frontier_.Paused().empty());
  frontier_.AddRows(std::vector<RowsUpTo>{{At(40), 1, 1}});
  EXPECT_EQ(frontier_.Paused(), std::set<TopicPartition>{a_});
  Advance(b_, 25);
  EXPECT_EQ(frontier_.Paused(), (std::set<TopicPartition>{a_, b_}));
  Advance(c_, 20);
  EXPECT_EQ(frontier_.Paused(), (std::set<TopicPartition>{a_, b_, c_})) << "the next step needs none of them";
  EXPECT_EQ(Next(), At(20));
  EXPECT_TRUE(frontier_.Paused().empty());
}

TEST_F(FrontierTest, BeyondTheLimitTheHolderIsNamed) {
  Ensure({a_, c_});
  Advance(a_, 50);
  frontier_.Advance(c_, At(10), MonotonicTime{} + std::chrono::seconds(5));
  frontier_.AddRows(std::vector<RowsUpTo>{{At(60), 3, 2001}});
  const MonotonicTime later = MonotonicTime{} + std::chrono::seconds(65);
  EXPECT_TRUE(frontier_.CheckLimit(later).ok()) << "a step is to come";
  EXPECT_EQ(Next(), At(10));
  const Status over = frontier_.CheckLimit(later);
  EXPECT_EQ(over.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(
      over.message(),
      "partition orders-1 holds the frontier back: its watermark is 10.0000000000, unchanged for 60 s; 2001 bytes "
      "in 3 rows wait above the frontier, more than frontier.waiting-bytes-limit (2000)");
}

TEST_F(FrontierTest, NeighboursAreJoinedUpwardsOnly) {
  std::vector<RowsUpTo> histogram{{At(1), 1, 10}, {At(2), 2, 20}, {At(3), 3, 30}, {At(4), 9, 90}};
  JoinNeighbours(histogram, 3);
  EXPECT_EQ(histogram, (std::vector<RowsUpTo>{{At(2), 3, 30}, {At(3), 3, 30}, {At(4), 9, 90}}));
}

TEST_F(FrontierTest, ALongHistogramBecomesCoarseAndLosesNothing) {
  Ensure({a_});
  std::vector<RowsUpTo> rows;
  for (int64_t i = 1; i <= 50'000; ++i) rows.push_back({At(i), 1, 2});
  for (size_t i = 0; i < rows.size(); i += 100) frontier_.AddRows({&rows[i], 100});
  EXPECT_LE(frontier_.Waiting().size(), 4096U);
  EXPECT_EQ(frontier_.waiting_rows(), 50'000U);
  EXPECT_EQ(frontier_.waiting_bytes(), 100'000U);
  Advance(a_, 40'000);
  EventTime before = At(0);
  while (const std::optional<EventTime> step = Next()) {
    EXPECT_LE(step->wall_ns - before.wall_ns, 200);
    EXPECT_GE(frontier_.waiting_rows(), static_cast<uint64_t>(50'000 - step->wall_ns));
    before = *step;
  }
  EXPECT_EQ(before, At(40'000));
}

TEST_F(FrontierTest, WhatIsSaidComesBackAsItWas) {
  const FrontierReport report{.epoch = 7,
                              .watermarks = {{a_, EventTime::Max()}, {c_, {1700000000123456789, 2}}},
                              .rows = {{At(5), 6, 7}, {{8, 2147483647}, UINT64_MAX, 0}},
                              .emitted = At(0)};
  const auto read = ParseFrontierReport(WriteFrontierReport(report));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(read->epoch, 7U);
  EXPECT_EQ(read->watermarks, report.watermarks);
  EXPECT_EQ(read->rows, report.rows);
  EXPECT_EQ(read->emitted, At(0));
  const auto command =
      ParseFrontierCommand(WriteFrontierCommand({.epoch = 2, .announce = At(3), .paused = {{a_, b_}}}));
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->announce, At(3));
  EXPECT_EQ(command->paused, (std::set<TopicPartition>{a_, b_}));
  EXPECT_EQ(ParseFrontierCommand(R"({"epoch":2})")->paused, std::nullopt);
  for (const char* text :
       {"", "[]", "{}", R"({"epoch":-1})", R"({"epoch":1,"rows":[["1.0",1]]})", R"({"epoch":1,"rows":7})",
        R"({"epoch":1,"watermarks":{"x":"1.0000000000"}})", R"({"epoch":1,"watermarks":{"x-1":"1.5"}})",
        R"({"epoch":1,"watermarks":[1]})", R"({"epoch":1,"emitted":12})"}) {
    EXPECT_FALSE(ParseFrontierReport(text).has_value()) << text;
  }
}

// Every row by itself.
class Oracle {
 public:
  std::map<TopicPartition, EventTime> watermarks;
  std::vector<std::pair<EventTime, uint64_t>> waiting;  // time, bytes
  EventTime announced;

  EventTime Minimum() const {
    EventTime minimum = watermarks.empty() ? EventTime::Min() : EventTime::Max();
    for (const auto& [name, time] : watermarks) minimum = std::min(minimum, time);
    return minimum;
  }
  uint64_t RowsIn(EventTime above, EventTime upto) const {
    return static_cast<uint64_t>(
        std::ranges::count_if(waiting, [&](const auto& row) { return row.first > above && row.first <= upto; }));
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& [time, each] : waiting) bytes += each;
    return bytes;
  }
  // What a step to `upto` frees: within the bound, or of one time.
  void Free(EventTime upto) {
    const uint64_t freed = RowsIn(announced, upto);
    if (freed > 20) {
      const EventTime first = std::ranges::min(waiting).first;
      for (const auto& [time, bytes] : waiting) EXPECT_TRUE(time > upto || time == first);
    }
    std::erase_if(waiting, [&](const auto& row) { return row.first <= upto; });
    announced = upto;
  }
};

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : random_(seed) {}

  void Run() {
    for (int i = 0; i < 200; ++i) {
      switch (random_.Below(8)) {
        case 0: Find(); break;
        case 1: Retire(); break;
        case 2:
        case 3: Read(); break;
        case 4: Restore(); break;
        default: Resolve();
      }
      if (random_.OneIn(3)) Step();
      Check();
    }
  }

 private:
  TopicPartition Any() { return {random_.OneIn(2) ? "T" : "t", static_cast<int32_t>(random_.Below(3))}; }
  EventTime AnyTime() {
    constexpr int64_t kNewest = std::numeric_limits<int64_t>::max() - 100;  // the end may have been announced
    const int64_t from = std::clamp<int64_t>(oracle_.announced.wall_ns, 1000, kNewest);
    return {from + 1 + static_cast<int64_t>(random_.Below(30)), static_cast<int32_t>(random_.Below(2))};
  }
  void Find() {
    const TopicPartition partition = Any();
    life_->Ensure(partition, {});
    oracle_.watermarks.try_emplace(partition);
  }
  void Retire() {
    if (!random_.OneIn(4)) return;
    const TopicPartition partition = Any();
    life_->Retire(partition);
    oracle_.watermarks.erase(partition);
  }
  void Resolve() {
    const TopicPartition partition = Any();
    const EventTime time = random_.OneIn(100) ? EventTime::Max() : AnyTime();
    life_->Advance(partition, time, {});
    const auto found = oracle_.watermarks.find(partition);
    if (found != oracle_.watermarks.end()) found->second = std::max(found->second, time);
  }
  void Read() {
    std::map<EventTime, RowsUpTo> rows;
    for (uint64_t i = random_.Below(30); i > 0; --i) {
      EventTime time = AnyTime();
      if (random_.OneIn(10)) time.wall_ns -= 40;  // delivered again
      const uint64_t bytes = random_.Below(20);
      RowsUpTo& each = rows[time];
      each = {time, each.rows + 1, each.bytes + bytes};
      if (time > oracle_.announced) oracle_.waiting.emplace_back(time, bytes);
    }
    std::vector<RowsUpTo> histogram;
    for (const auto& [time, each] : rows) histogram.push_back(each);
    life_->AddRows(histogram);
  }
  void Restore() {
    const auto state =
        ParseFrontierState(WriteFrontierState({.epoch = 1, .announced = life_->announced(), .rows = life_->Waiting()}));
    ASSERT_TRUE(state.has_value());
    life_ = std::make_unique<Frontier>(kBounds, state->announced, state->rows);
    for (const auto& [partition, time] : oracle_.watermarks) {
      life_->Ensure(partition, {});
      life_->Advance(partition, time, {});
    }
  }
  void Step() {
    const EventTime limit = random_.OneIn(3) ? AnyTime() : EventTime::Max();
    const EventTime target = std::min(limit, oracle_.Minimum());
    const std::optional<EventTime> step = life_->NextStep(limit);
    ASSERT_EQ(step.has_value(), target > oracle_.announced);
    if (!step.has_value()) return;
    ASSERT_GT(*step, oracle_.announced);
    ASSERT_LE(*step, target);
    if (oracle_.RowsIn(oracle_.announced, target) <= kBounds.release_rows_max) {
      ASSERT_EQ(*step, target);
    }
    oracle_.Free(*step);
  }
  void Check() {
    ASSERT_EQ(life_->proposed(), oracle_.Minimum());
    ASSERT_EQ(life_->announced(), oracle_.announced);
    ASSERT_EQ(life_->waiting_rows(), oracle_.waiting.size());
    ASSERT_EQ(life_->waiting_bytes(), oracle_.Bytes());
    const std::set<TopicPartition> paused = life_->Paused();
    if (oracle_.Bytes() <= kBounds.waiting_bytes_max / 4 * 3) {
      ASSERT_TRUE(paused.empty());
    }
    for (const auto& [partition, time] : oracle_.watermarks) {
      const bool ahead = time > oracle_.announced && time != EventTime::Max();
      if (paused.contains(partition)) {
        ASSERT_TRUE(ahead);
      }
      if (oracle_.Bytes() > kBounds.waiting_bytes_max) {
        ASSERT_EQ(paused.contains(partition), ahead);
      }
    }
    const bool over = oracle_.Bytes() > kBounds.waiting_bytes_limit && !oracle_.watermarks.empty() &&
                      oracle_.Minimum() <= oracle_.announced;
    ASSERT_EQ(life_->CheckLimit({}).ok(), !over);
  }

  static constexpr FrontierBounds kBounds{
      .release_rows_max = 20, .waiting_bytes_max = 500, .waiting_bytes_limit = 1500};
  SeededRandom random_;
  std::unique_ptr<Frontier> life_ = std::make_unique<Frontier>(kBounds);
  Oracle oracle_;
};

TEST(FrontierLivesTest, AreAsTheOracleSays) {
  for (uint64_t seed = 1; seed <= 600 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomLife(seed).Run();
  }
}

}  // namespace
}  // namespace weir::connectors
