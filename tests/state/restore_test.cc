#include "state/restore.h"

#include <map>
#include <set>

#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

class RestoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  using States = std::vector<std::unique_ptr<SubtaskState>>;

  States OpenAll(uint32_t parallelism, const std::vector<SubtaskStateHandle>& handles) {
    States states;
    for (uint32_t i = 0; i < parallelism; ++i) {
      auto state = world_.Open(i, parallelism, handles);
      EXPECT_TRUE(state.has_value()) << state.error().ToString();
      states.push_back(std::move(*state));
      id_ = *states.back()->Register(Described("a"));
    }
    return states;
  }

  std::vector<SubtaskStateHandle> SnapshotAll(States& states) {
    std::vector<SubtaskStateHandle> handles;
    const CheckpointId checkpoint = Checkpoint(++checkpoints_);
    for (const auto& state : states) {
      auto handle = TakeSnapshot(*state, checkpoint);
      EXPECT_TRUE(handle.has_value()) << handle.error().ToString();
      handles.push_back(std::move(*handle));
    }
    return handles;
  }

  void Put(States& states, const std::string& key, const std::string& value) {
    const uint32_t owner = SubtaskOf(HashKey(key), static_cast<uint32_t>(states.size()), kDefaultKeyGroups);
    EXPECT_OK(states[owner]->Put(id_, KeyOf(key), value));
    model_[key] = value;
  }

  void ExpectModel(States& states) {
    std::map<std::string, std::string> seen;
    for (const auto& state : states) {
      EXPECT_OK(state->ScanAll(id_, [&](std::string_view key, std::string_view, std::string_view value) {
        EXPECT_TRUE(seen.emplace(key, value).second) << key << " is there twice";
        return true;
      }));
    }
    EXPECT_EQ(seen, model_);
    for (const auto& [key, value] : model_) {
      const uint32_t owner = SubtaskOf(HashKey(key), static_cast<uint32_t>(states.size()), kDefaultKeyGroups);
      ASSERT_EQ(GetText(*states[owner], id_, KeyOf(key)), value);
    }
  }

  StateWorld world_{GetParam()};
  StateId id_;
  uint64_t checkpoints_ = 0;
  std::map<std::string, std::string> model_;
};

TEST_P(RestoreTest, RescalesRoundTrip) {
  std::vector<SubtaskStateHandle> handles;
  int next = 0;
  for (const uint32_t parallelism : {1u, 2u, 3u, 1u, 4u, 2u, 5u, 1u}) {
    States states = OpenAll(parallelism, handles);
    ExpectModel(states);
    for (int i = 0; i < 700; ++i) Put(states, "new" + std::to_string(next++), "first");
    for (int i = 0; i < next; i += 3) Put(states, "new" + std::to_string(i), std::to_string(parallelism));
    handles = SnapshotAll(states);
    ExpectModel(states);
  }
}

TEST_P(RestoreTest, RemovedKeysStayRemovedThroughARescale) {
  States states = OpenAll(1, {});
  for (int i = 0; i < 200; ++i) Put(states, std::to_string(i), "v");
  std::vector<SubtaskStateHandle> handles = SnapshotAll(states);
  states = OpenAll(3, handles);
  for (int i = 0; i < 200; i += 2) {
    const std::string key = std::to_string(i);
    EXPECT_OK(states[SubtaskOf(HashKey(key), 3, kDefaultKeyGroups)]->Delete(id_, KeyOf(key)));
    model_.erase(key);
  }
  handles = SnapshotAll(states);
  states = OpenAll(2, handles);
  ExpectModel(states);
}

TEST_P(RestoreTest, OperatorEntriesOfAllFormerSubtasksAreHandedOver) {
  States states = OpenAll(2, {});
  ASSERT_OK(states[0]->PutOperatorEntry("source", "a", "0"));
  ASSERT_OK(states[1]->PutOperatorEntry("source", "b", "1"));
  std::vector<SubtaskStateHandle> handles = SnapshotAll(states);
  states = OpenAll(3, handles);
  for (const auto& state : states) {
    std::set<std::string> names;
    const auto entries = state->OperatorEntries("source");
    for (const auto& entry : *entries) names.insert(entry.name + entry.value);
    EXPECT_EQ(names, (std::set<std::string>{"a0", "b1"}));
  }
  // Each keeps what it puts again.
  ASSERT_OK(states[2]->PutOperatorEntry("source", "a", "9"));
  ASSERT_OK(states[0]->PutOperatorEntry("source", "b", "8"));
  EXPECT_EQ(states[2]->OperatorEntries("source")->size(), 2u);
  handles = SnapshotAll(states);
  states = OpenAll(1, handles);
  std::multiset<std::string> names;
  const auto entries = states[0]->OperatorEntries("source");
  for (const auto& entry : *entries) names.insert(entry.name + entry.value);
  EXPECT_EQ(names, (std::multiset<std::string>{"a9", "b8"}));
}

TEST_P(RestoreTest, DamageOfEachFileIsFoundAndNamed) {
  States states = OpenAll(1, {});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) Put(states, std::to_string(i * (round + 1)), std::string(40, 'x'));
    SnapshotAll(states);
  }
  const std::vector<SubtaskStateHandle> handles = SnapshotAll(states);
  states.clear();
  for (const StateFile& file : handles[0].files) {
    const std::string path = world_.job_dir() + "/" + file.path;
    const std::string good = *ReadFile(world_.fs(), path);
    const auto expect_refused = [&](const std::string& bad, const char* what) {
      // A new file of that name: the former one may have other names.
      ASSERT_OK(WriteFileDurably(world_.fs(), path, bad));
      const auto state = world_.Open(0, 1, handles);
      ASSERT_FALSE(state.has_value()) << what;
      EXPECT_EQ(state.error().code(), StatusCode::kCorruption) << what;
      EXPECT_NE(state.error().message().find(file.path), std::string::npos) << state.error().ToString();
    };
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
    expect_refused(flipped, "a bit turned");
    expect_refused(good.substr(0, good.size() / 2), "half of it");
    expect_refused("", "empty");
    expect_refused(good + "x", "longer");
    ASSERT_OK(world_.fs().Remove(path));
    const auto missing = world_.Open(0, 1, handles);
    ASSERT_FALSE(missing.has_value());
    EXPECT_NE(missing.error().message().find(file.path + " is missing"), std::string::npos);
    ASSERT_OK(WriteFileDurably(world_.fs(), path, good));
  }
  states = OpenAll(1, handles);
  ExpectModel(states);
}

TEST_P(RestoreTest, ARestoreByCopySharesNoFileAfterwards) {
  States states = OpenAll(1, {});
  for (int i = 0; i < 300; ++i) Put(states, std::to_string(i), "v");
  const std::vector<SubtaskStateHandle> handles = SnapshotAll(states);
  states.clear();
  SubtaskStateOptions options = world_.Options(0, 1);
  options.restore_dir = options.job_dir;
  options.job_dir += "-clone";
  options.share_restored_files = false;
  auto state = OpenSubtaskState(options, handles);
  ASSERT_TRUE(state.has_value()) << state.error().ToString();
  const auto handle = TakeSnapshot(**state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  for (const StateFile& file : handle->files) EXPECT_TRUE(Exists(world_.fs(), options.job_dir + "/" + file.path));
}

TEST_P(RestoreTest, ARestoredFileIsNamedAgain) {
  States states = OpenAll(1, {});
  for (int i = 0; i < 3000; ++i) Put(states, std::to_string(i), std::string(100, 'v'));
  const std::vector<SubtaskStateHandle> first = SnapshotAll(states);
  states.clear();
  states = OpenAll(1, first);
  Put(states, "one more", "v");
  const std::vector<SubtaskStateHandle> second = SnapshotAll(states);
  EXPECT_LT(second[0].bytes_new, first[0].bytes_new / 5);
  states = OpenAll(1, second);
  ExpectModel(states);
}

// Who is not an owner leaves nothing behind, in whatever vertex and at whatever parallelism.
TEST_P(RestoreTest, StateGoesToItsOwnersAndTheRestIsLeftBehind) {
  const auto described = [](const std::string& uid) {
    return StateDescription{.uid = uid, .name = "s", .kind = "value", .codec = "bytes", .id = 0};
  };
  std::vector<SubtaskStateHandle> handles;
  for (uint32_t i = 0; i < 2; ++i) {
    auto state = world_.Open(i, 2);
    ASSERT_TRUE(state.has_value());
    for (const std::string uid : {"moved", "kept", "gone"}) {
      const StateId id = *(*state)->Register(described(uid));
      for (int n = 0; n < 500; ++n) {
        const std::string key = std::to_string(n);
        if (SubtaskOf(HashKey(key), 2, kDefaultKeyGroups) == i) EXPECT_OK((*state)->Put(id, KeyOf(key), uid + key));
      }
      EXPECT_OK((*state)->PutOperatorEntry(uid, "entry-" + std::to_string(i), "of " + uid));
    }
    auto handle = TakeSnapshot(**state, Checkpoint(1));
    ASSERT_TRUE(handle.has_value());
    handles.push_back(std::move(*handle));
  }
  for (const uint32_t parallelism : {1U, 2U, 3U}) {
    std::set<std::string> entries;
    size_t keys = 0;
    for (uint32_t i = 0; i < parallelism; ++i) {
      SubtaskStateOptions options = world_.Options(i, parallelism);
      options.owners = StateOwners{{"moved", "new"}, {"kept", "kept"}};
      // At the same parallelism each has its own.
      const auto from = parallelism == 2 ? std::vector{handles[i]} : handles;
      auto state = OpenSubtaskState(options, from);
      ASSERT_TRUE(state.has_value()) << state.error().ToString();
      const StateId id = *(*state)->Register(described("new"));
      EXPECT_OK((*state)->ScanAll(id, [&](std::string_view key, std::string_view, std::string_view value) {
        EXPECT_EQ(value, "moved" + std::string(key));
        ++keys;
        return true;
      }));
      const auto of_new = (*state)->OperatorEntries("new");
      ASSERT_TRUE(of_new.has_value());
      for (const auto& entry : *of_new) {
        EXPECT_EQ(entry.value, "of moved");
        entries.insert(entry.name);
      }
      EXPECT_TRUE((*state)->OperatorEntries("gone")->empty());
      // One that is called so again begins with nothing.
      const StateId gone = *(*state)->Register(described("gone"));
      EXPECT_OK((*state)->ScanAll(gone, [](std::string_view key, std::string_view, std::string_view) {
        ADD_FAILURE() << key;
        return false;
      }));
      auto handle = TakeSnapshot(**state, Checkpoint(2));
      ASSERT_TRUE(handle.has_value());
      for (const StateDescription& each : handle->states) EXPECT_NE(each.uid, "moved");
    }
    EXPECT_EQ(keys, 500U);
    EXPECT_EQ(entries, (std::set<std::string>{"entry-0", "entry-1"}));
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, RestoreTest, testing::Values(StoreKind::kRocksDb, StoreKind::kOrderedMap),
                         StoreKindName);

}  // namespace
}  // namespace weir::state
