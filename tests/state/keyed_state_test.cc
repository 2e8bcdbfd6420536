#include "state/keyed_state.h"

#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

StateKey Key(std::string_view bytes) { return {.hash = HashKey(bytes), .bytes = bytes}; }

struct Sum {
  int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

struct Average {
  using Input = int64_t;
  using Accumulator = std::pair<int64_t, uint64_t>;
  using Output = double;
  static Accumulator Create() { return {0, 0}; }
  static Status Add(const Input& input, Accumulator& accumulator) {
    if (input < 0) return Status::InvalidArgument("negative");
    accumulator.first += input;
    ++accumulator.second;
    return Status::Ok();
  }
  static Result<Output> Get(const Accumulator& accumulator) {
    return static_cast<double>(accumulator.first) / static_cast<double>(accumulator.second);
  }
};

class KeyedStateTest : public testing::TestWithParam<StoreKind> {
 protected:
  KeyedStateTest() { state_ = std::move(*world_.Open(0, 1)); }
  void Restart() {
    const auto handle = TakeSnapshot(*state_, Checkpoint(++checkpoints_));
    ASSERT_TRUE(handle.has_value()) << handle.error().ToString();
    state_.reset();
    state_ = std::move(*world_.Open(0, 1, {*handle}));
  }

  StateWorld world_{GetParam()};
  std::unique_ptr<SubtaskState> state_;
  uint64_t checkpoints_ = 0;
};

TEST_P(KeyedStateTest, ValueIsReadBackAfterARestart) {
  auto value = *ValueState<int64_t>::Open(*state_, "op", "count");
  EXPECT_EQ(*value.Get(Key("a")), std::nullopt);
  ASSERT_OK(value.Update(Key("a"), 9007199254740993));
  ASSERT_OK(value.Update(Key("b"), -1));
  ASSERT_OK(value.Clear(Key("b")));
  Restart();
  value = *ValueState<int64_t>::Open(*state_, "op", "count");
  EXPECT_EQ(*value.Get(Key("a")), 9007199254740993);
  EXPECT_EQ(*value.Get(Key("b")), std::nullopt);
  EXPECT_FALSE(ValueState<std::string>::Open(*state_, "op", "count").has_value());
}

TEST_P(KeyedStateTest, ListKeepsItsOrder) {
  auto list = *ListState<std::string>::Open(*state_, "op", "list");
  std::vector<std::string> expected;
  for (int i = 0; i < 600; ++i) {
    ASSERT_OK(list.Add(Key("a"), std::to_string(i)));
    expected.push_back(std::to_string(i));
    if (i == 300) {
      Restart();
      list = *ListState<std::string>::Open(*state_, "op", "list");
    }
  }
  EXPECT_EQ(*list.Get(Key("a")), expected);
  EXPECT_TRUE(list.Get(Key("b"))->empty());
  ASSERT_OK(list.Update(Key("a"), {"x", "y"}));
  Restart();
  list = *ListState<std::string>::Open(*state_, "op", "list");
  EXPECT_EQ(*list.Get(Key("a")), (std::vector<std::string>{"x", "y"}));
  ASSERT_OK(list.Clear(Key("a")));
  EXPECT_TRUE(list.Get(Key("a"))->empty());
}

TEST_P(KeyedStateTest, MapVisitsItsMembersInOrder) {
  auto map = *MapState<std::string, int64_t>::Open(*state_, "op", "map");
  for (const char* member : {"m", "z", "a", "q"}) ASSERT_OK(map.Put(Key("k"), member, member[0]));
  ASSERT_OK(map.Put(Key("other"), "a", 1));
  Restart();
  map = *MapState<std::string, int64_t>::Open(*state_, "op", "map");
  ASSERT_OK(map.Remove(Key("k"), "q"));
  ASSERT_OK(map.Put(Key("k"), "b", 5));
  EXPECT_EQ(*map.Get(Key("k"), "m"), 'm');
  EXPECT_EQ(*map.Get(Key("k"), "q"), std::nullopt);
  std::string members;
  ASSERT_OK(map.ForEach(Key("k"), [&](const std::string& member, const int64_t&) {
    members += member;
    return true;
  }));
  EXPECT_EQ(members, "abmz");
  ASSERT_OK(map.Clear(Key("k")));
  EXPECT_EQ(*map.Get(Key("k"), "m"), std::nullopt);
  EXPECT_EQ(*map.Get(Key("other"), "a"), 1);
}

TEST_P(KeyedStateTest, ReducingAndAggregatingKeepOneValueAKey) {
  auto sum = *ReducingState<int64_t, Sum>::Open(*state_, "op", "sum");
  auto average = *AggregatingState<Average>::Open(*state_, "op", "average");
  for (int64_t i = 1; i <= 4; ++i) {
    ASSERT_OK(sum.Add(Key("a"), i));
    ASSERT_OK(average.Add(Key("a"), i));
  }
  Restart();
  sum = *ReducingState<int64_t, Sum>::Open(*state_, "op", "sum");
  average = *AggregatingState<Average>::Open(*state_, "op", "average");
  EXPECT_EQ(*sum.Get(Key("a")), 10);
  EXPECT_EQ(*average.Get(Key("a")), 2.5);
  EXPECT_FALSE(average.Add(Key("a"), -1).ok());
  EXPECT_EQ(*average.Get(Key("a")), 2.5);
  EXPECT_EQ(*average.Get(Key("b")), std::nullopt);
}

TEST_P(KeyedStateTest, AValueThatIsNotOfTheTypeNamesTheState) {
  auto value = *ValueState<int64_t>::Open(*state_, "op", "count");
  const StateId id = *state_->Register({.uid = "op", .name = "count", .kind = "value", .codec = "int64"});
  ASSERT_OK(state_->Put(id, KeyOf("a"), "\xff"));
  const auto read = value.Get(Key("a"));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().ToString(), "corruption: a value of state op/count is no int64");
}

INSTANTIATE_TEST_SUITE_P(Stores, KeyedStateTest, testing::Values(StoreKind::kRocksDb, StoreKind::kOrderedMap),
                         StoreKindName);

}  // namespace
}  // namespace weir::state
