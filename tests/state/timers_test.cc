#include "state/timers.h"

#include <set>

#include "base/random.h"
#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

StateKey Key(std::string_view bytes) { return {.hash = HashKey(bytes), .bytes = bytes}; }

class TimersTest : public testing::Test {
 protected:
  Timers Open(size_t nearest_max = Timers::kNearestMax) {
    auto timers = Timers::Open(*state_, "op", "timers", TimeDomain::kEventTime, nearest_max);
    EXPECT_TRUE(timers.has_value()) << timers.error().ToString();
    return std::move(*timers);
  }
  void Restart(uint32_t parallelism = 1) {
    const auto handle = TakeSnapshot(*state_, Checkpoint(++checkpoints_));
    ASSERT_TRUE(handle.has_value()) << handle.error().ToString();
    state_ = std::move(*world_.Open(0, parallelism, {*handle}));
  }

  StateWorld world_{StoreKind::kOrderedMap};
  std::unique_ptr<SubtaskState> state_ = std::move(*world_.Open(0, 1));
  uint64_t checkpoints_ = 0;
};

TEST_F(TimersTest, PopsInOrderOfTimeAndNoneThatIsNotDue) {
  Timers timers = Open();
  ASSERT_OK(timers.Set(Key("a"), 20, "x"));
  ASSERT_OK(timers.Set(Key("b"), -5, ""));
  ASSERT_OK(timers.Set(Key("c"), 10, ""));
  ASSERT_OK(timers.Set(Key("c"), 10, ""));
  EXPECT_EQ(*timers.Next(), -5);
  EXPECT_EQ((*timers.PopDue(15))->key, "b");
  EXPECT_EQ((*timers.PopDue(15))->key, "c");
  EXPECT_FALSE(timers.PopDue(15)->has_value());
  Restart();
  timers = Open();
  ASSERT_OK(timers.Remove(Key("unknown"), 1, ""));
  const auto due = *timers.PopDue(20);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->name_space, "x");
  EXPECT_EQ(due->hash, HashKey("a"));
  EXPECT_EQ(*timers.Next(), std::nullopt);
}

TEST_F(TimersTest, BothTimeDomainsAreToldApart) {
  Open();
  EXPECT_FALSE(Timers::Open(*state_, "op", "timers", TimeDomain::kProcessingTime).has_value());
}

TEST_F(TimersTest, AgreesWithAnOrderedSetWithFewInMemory) {
  SeededRandom random(4);
  std::set<std::tuple<int64_t, uint32_t, std::string>> model;
  Timers timers = Open(5);
  for (int i = 0; i < 5000; ++i) {
    const std::string key = std::to_string(random.Below(20));
    const auto time = static_cast<int64_t>(random.Below(200)) - 100;
    switch (random.Below(4)) {
      case 0:
      case 1:
        ASSERT_OK(timers.Set(Key(key), time, ""));
        model.emplace(time, HashKey(key), key);
        break;
      case 2:
        ASSERT_OK(timers.Remove(Key(key), time, ""));
        model.erase({time, HashKey(key), key});
        break;
      default: {
        const auto due = timers.PopDue(time);
        ASSERT_TRUE(due.has_value());
        const bool expected = !model.empty() && std::get<0>(*model.begin()) <= time;
        ASSERT_EQ(due->has_value(), expected);
        if (!expected) break;
        EXPECT_EQ((*due)->time, std::get<0>(*model.begin()));
        EXPECT_EQ((*due)->key, std::get<2>(*model.begin()));
        model.erase(model.begin());
      }
    }
    if (i % 500 == 499) {
      Restart();
      timers = Open(5);
    }
  }
}

}  // namespace
}  // namespace weir::state
