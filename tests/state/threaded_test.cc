// The snapshot worker writes while the task goes on.
#include <atomic>
#include <map>

#include "base/random.h"
#include "base/worker.h"
#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

TEST(StateThreadedTest, TheWorkerWritesFrozenEntriesWhileTheTaskChangesThem) {
  StateWorld world(StoreKind::kRocksDb, 2u << 20);
  const auto worker = NewThreadWorkerFactory()->NewWorker("snapshot");
  auto state = std::move(*world.Open(0, 1));
  const StateId id = *state->Register(Described("m", "map"));
  SeededRandom random(3);
  std::map<std::string, std::string> model, frozen;
  std::optional<SubtaskStateHandle> newest;
  Status outcome;
  std::atomic<bool> done = false;
  for (uint64_t checkpoint = 1; checkpoint <= 12; ++checkpoint) {
    frozen = model;
    done = false;
    worker->Submit([&, pending = state->Freeze(Checkpoint(checkpoint))] {
      auto handle = pending->Write();
      outcome = handle.has_value() ? Status::Ok() : handle.error();
      if (handle.has_value()) newest = std::move(*handle);
      done.store(true, std::memory_order_release);
    });
    for (int i = 0; i < 2000 || !done.load(std::memory_order_acquire); ++i) {
      const std::string key = std::to_string(random.Below(5000));
      if (random.OneIn(3)) {
        const auto found = model.find(key);
        ASSERT_EQ(GetText(*state, id, KeyOf(key)),
                  found == model.end() ? std::nullopt : std::optional<std::string>(found->second));
      } else if (!state->blocked()) {
        const std::string value(random.Below(150), static_cast<char>('a' + random.Below(26)));
        ASSERT_OK(state->Put(id, KeyOf(key), value));
        model[key] = value;
      }
    }
    ASSERT_OK(outcome);
    state->SnapshotWritten(checkpoint % 4 == 0 ? Status::Cancelled("aborted") : Status::Ok());
  }
  state = std::move(*world.Open(0, 1, {*newest}));
  ASSERT_TRUE(state->Register(Described("m", "map")).has_value());
  std::map<std::string, std::string> restored;
  ASSERT_OK(state->ScanAll(id, [&](std::string_view key, std::string_view, std::string_view value) {
    restored.emplace(key, value);
    return true;
  }));
  EXPECT_EQ(restored, frozen);
}

TEST(StateThreadedTest, ATaskMayGoWhileItsSnapshotIsWritten) {
  StateWorld world(StoreKind::kRocksDb);
  auto state = std::move(*world.Open(0, 1));
  const StateId id = *state->Register(Described("a"));
  for (int i = 0; i < 1000; ++i) ASSERT_OK(state->Put(id, KeyOf(std::to_string(i)), "v"));
  const auto pending = state->Freeze(Checkpoint(1));
  state.reset();
  EXPECT_TRUE(pending->Write().has_value());
}

}  // namespace
}  // namespace weir::state
