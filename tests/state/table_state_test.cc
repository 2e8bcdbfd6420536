#include "state/table_state.h"

#include <algorithm>

#include "base/fault_site.h"
#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

class TableStateTest : public testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<SubtaskState> Open(const std::vector<SubtaskStateHandle>& restored = {}) {
    auto state = world_.Open(0, 1, restored);
    EXPECT_TRUE(state.has_value()) << state.error().ToString();
    return std::move(*state);
  }
  static StateId Register(SubtaskState& state, const StateDescription& description) {
    const Result<StateId> id = state.Register(description);
    EXPECT_TRUE(id.has_value()) << id.error().ToString();
    return *id;
  }

  StateWorld world_{GetParam(), 4u << 20};
};

TEST_P(TableStateTest, StateThatNeverLeftMemoryCostsNoRead) {
  const auto state = Open();
  const StateId id = Register(*state, Described("a"));
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_EQ(GetText(*state, id, KeyOf(key)), std::nullopt);
    ASSERT_OK(state->Put(id, KeyOf(key), "v"));
  }
  ASSERT_TRUE(TakeSnapshot(*state, Checkpoint(1)).has_value());
  EXPECT_EQ(GetText(*state, id, KeyOf("77")), "v");
  EXPECT_EQ(GetText(*state, id, KeyOf("new")), std::nullopt);
  EXPECT_EQ(state->usage().store_reads, 0u);
}

TEST_P(TableStateTest, RestoresWhatTheSnapshotHeldAndNothingNewer) {
  auto state = Open();
  const StateId a = Register(*state, Described("a"));
  ASSERT_OK(state->Put(a, KeyOf("kept"), "1"));
  ASSERT_OK(state->Put(a, KeyOf("removed"), "2"));
  ASSERT_TRUE(TakeSnapshot(*state, Checkpoint(1)).has_value());
  ASSERT_OK(state->Delete(a, KeyOf("removed")));
  const auto pending = state->Freeze(Checkpoint(2));
  ASSERT_OK(state->Put(a, KeyOf("kept"), "newer"));
  const auto handle = pending->Write();
  ASSERT_TRUE(handle.has_value()) << handle.error().ToString();
  state->SnapshotWritten(Status::Ok());
  EXPECT_EQ(handle->entries_new, 1u);
  state.reset();
  const auto again = Open({*handle});
  EXPECT_EQ(Register(*again, Described("a")).value, a.value);
  EXPECT_EQ(GetText(*again, a, KeyOf("kept")), "1");
  EXPECT_EQ(GetText(*again, a, KeyOf("removed")), std::nullopt);
}

TEST_P(TableStateTest, SnapshotsAreIncremental) {
  const auto state = Open();
  const StateId id = Register(*state, Described("a"));
  for (int i = 0; i < 2000; ++i) ASSERT_OK(state->Put(id, KeyOf(std::to_string(i)), std::string(100, 'x')));
  const auto first = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(first.has_value());
  ASSERT_OK(state->Put(id, KeyOf("5"), "y"));
  const auto second = TakeSnapshot(*state, Checkpoint(2));
  ASSERT_TRUE(second.has_value());
  EXPECT_LT(second->bytes_new, first->bytes_new / 5);
  std::ptrdiff_t shared = 0;
  for (const StateFile& file : second->files) {
    shared += std::count(first->files.begin(), first->files.end(), file);
  }
  EXPECT_GE(shared, 1);
}

TEST_P(TableStateTest, FilesOfAnAbortedCheckpointAreNotNamedAgain) {
  const auto state = Open();
  const StateId id = Register(*state, Described("a"));
  ASSERT_OK(state->Put(id, KeyOf("k"), "v"));
  const auto first = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(first.has_value());
  // Another subtask failed: the checkpoint's files go.
  for (const StateFile& file : first->files) ASSERT_OK(world_.fs().Remove(world_.job_dir() + "/" + file.path));
  state->CheckpointAborted(Checkpoint(1));
  const auto second = TakeSnapshot(*state, Checkpoint(2));
  ASSERT_TRUE(second.has_value());
  for (const StateFile& file : second->files) {
    EXPECT_TRUE(std::ranges::none_of(first->files, [&](const StateFile& f) { return f.path == file.path; }));
    EXPECT_TRUE(Exists(world_.fs(), world_.job_dir() + "/" + file.path));
  }
  const auto again = Open({*second});
  EXPECT_EQ(GetText(*again, Register(*again, Described("a")), KeyOf("k")), "v");
}

TEST_P(TableStateTest, AnAbortBetweenFreezeAndDurableLosesNothing) {
  auto state = Open();
  const StateId id = Register(*state, Described("a"));
  ASSERT_OK(state->Put(id, KeyOf("x"), "old"));
  ASSERT_OK(state->Put(id, KeyOf("y"), "only in the aborted one"));
  // A file in the way makes the write fail after the entries went into the store.
  ASSERT_OK(world_.fs().CreateDirectories(world_.job_dir()));
  ASSERT_OK(WriteFileDurably(world_.fs(), world_.job_dir() + "/shared", "in the way"));
  const auto pending = state->Freeze(Checkpoint(1));
  ASSERT_OK(state->Put(id, KeyOf("x"), "new"));
  const auto failed = pending->Write();
  ASSERT_FALSE(failed.has_value());
  state->SnapshotWritten(failed.error());
  EXPECT_EQ(GetText(*state, id, KeyOf("x")), "new");
  EXPECT_EQ(GetText(*state, id, KeyOf("y")), "only in the aborted one");
  ASSERT_OK(world_.fs().Remove(world_.job_dir() + "/shared"));
  const auto handle = TakeSnapshot(*state, Checkpoint(2));
  ASSERT_TRUE(handle.has_value()) << handle.error().ToString();
  EXPECT_EQ(handle->entries_new, 2u);
  state.reset();
  const auto again = Open({*handle});
  Register(*again, Described("a"));
  EXPECT_EQ(GetText(*again, id, KeyOf("x")), "new");
  EXPECT_EQ(GetText(*again, id, KeyOf("y")), "only in the aborted one");
}

TEST_P(TableStateTest, AFlushInMidIntervalIsNoSnapshot) {
  const auto state = Open();
  const StateId id = Register(*state, Described("a"));
  ASSERT_OK(state->Put(id, KeyOf("x"), "1"));
  const auto flushed = TakeSnapshot(*state, std::nullopt);
  ASSERT_TRUE(flushed.has_value());
  EXPECT_TRUE(flushed->files.empty());
  const auto handle = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  const auto again = Open({*handle});
  EXPECT_EQ(GetText(*again, Register(*again, Described("a")), KeyOf("x")), "1");
}

TEST_P(TableStateTest, Scenario24_MoreNewKeysInAnIntervalThanTheBudgetStayBoundedAndExact) {
  auto state = Open();
  const StateId id = Register(*state, Described("a"));
  constexpr int kKeys = 60000;  // 100 bytes each against a share of 3 MiB
  std::unique_ptr<PendingSnapshot> pending;
  uint64_t peak = 0;
  int blocked = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_OK(state->Put(id, KeyOf(key), std::string(90, static_cast<char>('a' + i % 26)) + std::to_string(i)));
    peak = std::max(peak, state->usage().table_bytes);
    if (state->blocked()) {
      ++blocked;
      const auto written = pending->Write();
      ASSERT_TRUE(written.has_value()) << written.error().ToString();
      pending.reset();
      state->SnapshotWritten(Status::Ok());
    }
    if (state->NeedsFlush()) pending = state->Freeze(std::nullopt);
  }
  EXPECT_GT(blocked, 2);
  // A larger slot array takes a few writes to be made up for.
  EXPECT_LE(peak, (4u << 20) * 3 / 4 + (64u << 10));
  if (pending != nullptr) {
    ASSERT_TRUE(pending->Write().has_value());
    state->SnapshotWritten(Status::Ok());
  }
  const auto handle = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  state.reset();
  const auto again = Open({*handle});
  Register(*again, Described("a"));
  std::vector<std::string> names;
  for (int i = 0; i < kKeys; ++i) names.push_back("key" + std::to_string(i));
  for (int i = 0; i < kKeys; i += 1000) {
    std::vector<EntryKey> keys;
    for (int j = i; j < i + 1000; ++j) keys.push_back(KeyOf(names[static_cast<size_t>(j)]));
    ASSERT_OK(again->Prefetch(id, keys));
    for (int j = i; j < i + 1000; ++j) {
      ASSERT_EQ(GetText(*again, id, KeyOf(names[static_cast<size_t>(j)])),
                std::string(90, static_cast<char>('a' + j % 26)) + std::to_string(j));
    }
  }
  EXPECT_EQ(again->usage().store_reads, 60u);
}

TEST_P(TableStateTest, ScansMergeTheLevels) {
  auto state = Open();
  const StateId map = Register(*state, Described("m", "map"));
  const StateId plain = Register(*state, Described("v"));
  ASSERT_OK(state->Put(map, KeyOf("k", "a"), "stored"));
  ASSERT_OK(state->Put(map, KeyOf("k", "b"), "stored"));
  ASSERT_OK(state->Put(map, KeyOf("k", "c"), "stored"));
  ASSERT_OK(state->Put(plain, KeyOf("k"), "another state"));
  ASSERT_OK(state->Put(map, KeyOf("other", "a"), "another key"));
  const auto handle = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  state = Open({*handle});
  Register(*state, Described("m", "map"));
  ASSERT_OK(state->Put(map, KeyOf("k", "bb"), "frozen"));
  ASSERT_OK(state->Delete(map, KeyOf("k", "a")));
  const auto pending = state->Freeze(std::nullopt);
  ASSERT_OK(state->Put(map, KeyOf("k", "c"), "live"));
  ASSERT_OK(state->Put(map, KeyOf("k", "d"), "live"));
  std::string seen;
  const auto collect = [&](std::string_view key, std::string_view name_space, std::string_view value) {
    seen.append(key).append("/").append(name_space).append("=").append(value).append(" ");
    return true;
  };
  ASSERT_OK(state->ScanKey(map, KeyOf("k"), collect));
  EXPECT_EQ(seen, "k/b=stored k/bb=frozen k/c=live k/d=live ");
  seen.clear();
  ASSERT_OK(state->ScanKey(map, KeyOf("k", "b"), collect));
  EXPECT_EQ(seen, "k/b=stored k/bb=frozen ");
  seen.clear();
  ASSERT_OK(state->ScanKeyRange(map, KeyOf("k", "bb"), "d", collect));
  EXPECT_EQ(seen, "k/bb=frozen k/c=live ");
  seen.clear();
  ASSERT_OK(state->ScanKeyRange(map, KeyOf("k", "a"), "bb", collect));
  EXPECT_EQ(seen, "k/b=stored ");
  seen.clear();
  ASSERT_OK(state->ScanAll(plain, collect));
  EXPECT_EQ(seen, "k/=another state ");
  seen.clear();
  ASSERT_OK(state->ScanAll(map, collect));
  EXPECT_NE(seen.find("other/a=another key"), std::string::npos);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), ' '), 6);
  ASSERT_TRUE(pending->Write().has_value());
  state->SnapshotWritten(Status::Ok());
  seen.clear();
  ASSERT_OK(state->ScanKey(map, KeyOf("k"), collect));
  EXPECT_EQ(seen, "k/b=stored k/bb=frozen k/c=live k/d=live ");
}

TEST_P(TableStateTest, AStateOfAnotherTypeIsRefusedWithBothNamed) {
  const auto state = Open();
  Register(*state, Described("a"));
  const auto handle = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  ASSERT_EQ(handle->states.size(), 1u);
  const auto again = Open({*handle});
  const auto map = again->Register(Described("a", "map"));
  ASSERT_FALSE(map.has_value());
  EXPECT_EQ(map.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(map.error().message(),
            "state \"a\" of operator \"op\" was stored as value of bytes and can't be read as map of bytes");
  StateDescription other = Described("a");
  other.codec = "int64";
  EXPECT_FALSE(again->Register(other).has_value());
  EXPECT_TRUE(again->Register(Described("a")).has_value());
}

TEST_P(TableStateTest, OperatorEntriesStayUntilDeleted) {
  auto state = Open();
  ASSERT_OK(state->PutOperatorEntry("source", "split-1", "offset 5"));
  ASSERT_OK(state->PutOperatorEntry("source", "split-2", "offset 7"));
  ASSERT_OK(state->PutOperatorEntry("source2", "split-1", "other uid"));
  auto handle = TakeSnapshot(*state, Checkpoint(1));
  ASSERT_TRUE(handle.has_value());
  state = Open({*handle});
  ASSERT_OK(state->DeleteOperatorEntry("source", "split-1"));
  handle = TakeSnapshot(*state, Checkpoint(2));
  ASSERT_TRUE(handle.has_value());
  state = Open({*handle});
  const auto entries = state->OperatorEntries("source");
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].name, "split-2");
  EXPECT_EQ((*entries)[0].value, "offset 7");
}

// Case H26: what a crash left in the local folder is not read.
TEST_P(TableStateTest, case_H26_LeftOverLocalStateIsThrownAway) {
  const SubtaskStateOptions options = world_.Options(0, 1);
  auto state = std::move(*OpenSubtaskState(options, {}));
  const StateId id = Register(*state, Described("a"));
  ASSERT_OK(state->Put(id, KeyOf("k"), "1"));
  const std::vector<SubtaskStateHandle> handles = {*TakeSnapshot(*state, Checkpoint(1))};
  ASSERT_OK(state->Put(id, KeyOf("k"), "2"));
  ASSERT_TRUE(TakeSnapshot(*state, std::nullopt).has_value());
  state.reset();
  ASSERT_OK(WriteFileDurably(world_.fs(), options.local_dir + "/store/CURRENT", "foreign"));
  state = std::move(*OpenSubtaskState(options, handles));
  Register(*state, Described("a"));
  EXPECT_EQ(GetText(*state, id, KeyOf("k")), "1");
  state.reset();
  state = std::move(*OpenSubtaskState(options, {}));
  Register(*state, Described("a"));
  EXPECT_EQ(GetText(*state, id, KeyOf("k")), std::nullopt);
}

TEST_P(TableStateTest, TheFaultSiteLiesBehindTheWriteOfTheFrozenEntries) {
  int reached = 0;
  ArmFaultSites([&](std::string_view site) { reached += site == "state.frozen-written" ? 1 : 0; });
  const auto state = Open();
  ASSERT_TRUE(TakeSnapshot(*state, Checkpoint(1)).has_value());
  ArmFaultSites({});
  EXPECT_EQ(reached, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, TableStateTest, testing::Values(StoreKind::kRocksDb, StoreKind::kOrderedMap),
                         StoreKindName);

}  // namespace
}  // namespace weir::state
