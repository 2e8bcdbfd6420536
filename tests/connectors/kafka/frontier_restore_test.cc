// Random changefeeds through a source with a frontier on the simulated cluster: stopped at random barriers and gone on
// from there with another parallelism, some reports on their way, partitions found meanwhile. What must hold at every
// barrier: the rows read are the source as of the watermark, whatever a reader had read beyond it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "tests/connectors/kafka/frontier_feed.h"

namespace weir::kafka_test {
namespace {

class RandomFeed {
 public:
  explicit RandomFeed(uint64_t seed) : random_(seed), world_(NewSimWorld(seed)), topic_("Feed") {
    EXPECT_TRUE(world_->CreateTopic(topic_, partitions_).ok());
  }

  void Run() {
    Start();
    for (int round = 0; round < 12 && !testing::Test::HasFailure(); ++round) {
      Feed();
      const auto polls = static_cast<int>(random_.Below(40));
      for (int i = 0; i < polls; ++i) Step();
      if (random_.OneIn(3)) Barrier();
    }
    Finish();
  }

 private:
  void Start() {
    driver_ = std::make_unique<SourceDriver>(
        *world_, FeedSource({topic_}, {{"release-rows-max", Number(7)}}, {{"discovery-interval", Text("1h")}}),
        1 + static_cast<uint32_t>(random_.Below(3)));
    ASSERT_TRUE(driver_->Start(restored_ ? &*restored_ : nullptr).ok());
  }
  void Step() {
    world_->Wait();
    driver_->Step();
    ASSERT_TRUE(driver_->error.ok()) << driver_->error.ToString();
  }
  // As a changefeed does it: rows of a span of time anywhere, in any order, then perhaps resolved in some partitions.
  void Feed() {
    if (random_.OneIn(6)) {
      ASSERT_TRUE(world_->AddPartitions(topic_, ++partitions_).ok());
    }
    const int until = now_ + 2 + static_cast<int>(random_.Below(20));
    for (uint64_t i = random_.Below(40); i > 0; --i) {
      const int time = now_ + 1 + static_cast<int>(random_.Below(static_cast<uint64_t>(until - now_ - 1)));
      times_.push_back(time);
      world_->Append(topic_, AnyPartition(), {FeedRow(static_cast<int>(times_.size()) - 1, time)});
    }
    now_ = until;
    for (int32_t p = 0; p < partitions_; ++p) {
      if (!random_.OneIn(3)) world_->Append(topic_, p, {FeedResolved(now_)});
    }
  }
  int32_t AnyPartition() { return static_cast<int32_t>(random_.Below(static_cast<uint64_t>(partitions_))); }

  // What every operator behind the readers has seen: the minimum, none while a partition has none.
  int Watermark() const {
    if (driver_->watermarks.size() < driver_->splits()) return 0;
    int minimum = now_;
    for (const auto& [split, time] : driver_->watermarks) minimum = std::min(minimum, FeedTimeOf(time));
    return driver_->watermarks.empty() ? 0 : minimum;
  }
  void TakeRows() {
    for (const std::string& row : driver_->rows)
      EXPECT_TRUE(read_.insert(std::stoul(row)).second) << row << " is read twice";
    driver_->rows.clear();
  }
  void Barrier() {
    if (!driver_->ready()) return;
    restored_ = driver_->Snapshot(++checkpoint_, random_.Below(3));
    ASSERT_TRUE(driver_->error.ok()) << driver_->error.ToString();
    TakeRows();
    EXPECT_EQ(driver_->late_rows, 0U);
    const int watermark = Watermark();
    EXPECT_GE(watermark, 0);
    for (size_t id = 0; id < times_.size(); ++id) {
      if (times_[id] < watermark) {
        EXPECT_TRUE(read_.contains(id)) << id << " of " << times_[id] << " below " << watermark;
      }
    }
    if (random_.OneIn(3)) return;  // the job goes on
    const std::set<size_t> before = read_;
    released_ = std::max(released_, watermark);
    Start();
    for (int i = 0; i < 20; ++i) Step();
    TakeRows();
    for (const size_t id : read_) {
      if (!before.contains(id)) {
        EXPECT_GE(times_[id], released_) << id << " is late";
      }
    }
    EXPECT_EQ(driver_->late_rows, 0U);
  }
  void Finish() {
    for (int32_t p = 0; p < partitions_; ++p) world_->Append(topic_, p, {FeedResolved(++now_)});
    const int last = now_ - partitions_ + 1;
    EXPECT_TRUE(driver_->Until([&] {
      TakeRows();
      return read_.size() == times_.size() && driver_->watermarks.size() == static_cast<size_t>(partitions_) &&
             Watermark() >= last;
    })) << driver_->error.ToString();
    EXPECT_EQ(driver_->late_rows, 0U);
    EXPECT_EQ(driver_->Metric("waiting_rows"), 0);
    for (const auto& [split, history] : driver_->history) EXPECT_TRUE(std::ranges::is_sorted(history));
  }

  SeededRandom random_;
  std::unique_ptr<KafkaWorld> world_;
  const std::string topic_;
  int partitions_ = 2;
  int now_ = 10;
  std::vector<int> times_;  // by row
  std::set<size_t> read_;
  int released_ = 0;
  uint64_t checkpoint_ = 0;
  std::optional<SourceSnapshot> restored_;
  std::unique_ptr<SourceDriver> driver_;
};

TEST(FrontierRestoreTest, EveryBarrierIsACut) {
  for (uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomFeed(seed).Run();
  }
}

// `weir state set-offset` takes a split's watermark away: whatever is on its way from before counts no longer.
TEST(FrontierRestoreTest, APositionThatWasChangedByHandHasNoWatermark) {
  const std::unique_ptr<KafkaWorld> world = NewSimWorld();
  ASSERT_TRUE(world->CreateTopic("t", 2).ok());
  for (int32_t p = 0; p < 2; ++p) {
    world->Append("t", p, {FeedRow(1, 5), FeedResolved(10), FeedRow(2, 12), FeedResolved(20)});
  }
  SourceSnapshot snapshot;
  {
    SourceDriver driver(*world, FeedSource({"t"}));
    ASSERT_TRUE(driver.Start().ok());
    ASSERT_TRUE(driver.Until([&] { return driver.ready(); }));
    // The readers' first reports come behind the enumerator's cut.
    do {
      world->Wait();
      snapshot = driver.Snapshot(1, 1);
    } while (driver.rows.size() < 4 && driver.error.ok());
    ASSERT_FALSE(snapshot.events.empty());
  }
  const auto changed = std::ranges::find_if(snapshot.splits, [&](const operators::SourceSplit& split) {
    return snapshot.events[0].second.find("\"" + split.id + "\":\"") != std::string::npos;
  });
  ASSERT_NE(changed, snapshot.splits.end()) << snapshot.events[0].second;
  EXPECT_NE(changed->position.find("watermark"), std::string::npos);
  changed->position = "{\"offset\":4}";
  SourceDriver driver(*world, FeedSource({"t"}), 2);
  ASSERT_TRUE(driver.Start(&snapshot).ok());
  driver.Linger(std::chrono::seconds(3));
  EXPECT_TRUE(driver.history.empty());
  world->Append("t", changed->id == "t-0" ? 0 : 1, {FeedResolved(15)});
  EXPECT_TRUE(driver.Until([&] { return driver.watermarks.size() == 2; })) << driver.error.ToString();
  for (const auto& [split, time] : driver.watermarks) EXPECT_EQ(FeedTimeOf(time), 15) << split;
}

}  // namespace
}  // namespace weir::kafka_test
