// Random operations, snapshots that succeed and fail, crashes, restores and rescales, fed to both kinds of store and to
// a plain map: all three agree on every read.
#include <map>

#include "base/random.h"
#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

using Model = std::map<std::string, std::string>;  // key \0 namespace -> value
constexpr uint64_t kKeys = 4000;

// One job on one kind of store.
class Side {
 public:
  explicit Side(StoreKind kind) : world_(kind, 1u << 20) { Start(1, {}); }

  void Start(uint32_t parallelism, const std::vector<SubtaskStateHandle>& handles) {
    pending_.clear();
    states_.clear();
    for (uint32_t i = 0; i < parallelism; ++i) {
      auto state = world_.Open(i, parallelism, handles);
      ASSERT_TRUE(state.has_value()) << state.error().ToString();
      states_.push_back(std::move(*state));
      id_ = *states_.back()->Register(Described("m", "map"));
    }
  }
  SubtaskState& StateOf(const EntryKey& key) {
    return *states_[SubtaskOf(key.hash, static_cast<uint32_t>(states_.size()), kDefaultKeyGroups)];
  }
  void Freeze(std::optional<CheckpointId> checkpoint) {
    for (const auto& state : states_) pending_.push_back(state->Freeze(checkpoint));
  }
  // Writes what is pending; an abort lets the entries merge back.
  std::vector<SubtaskStateHandle> Write(bool abort) {
    std::vector<SubtaskStateHandle> handles;
    for (size_t i = 0; i < pending_.size(); ++i) {
      auto handle = pending_[i]->Write();
      EXPECT_TRUE(handle.has_value()) << handle.error().ToString();
      states_[i]->SnapshotWritten(abort ? Status::Cancelled("aborted") : Status::Ok());
      handles.push_back(std::move(*handle));
    }
    pending_.clear();
    return handles;
  }
  bool pending() const { return !pending_.empty(); }
  bool NeedsFlush() const {
    bool needed = false;
    for (const auto& state : states_) needed = needed || state->NeedsFlush();
    return needed;
  }
  std::vector<std::unique_ptr<SubtaskState>>& states() { return states_; }
  StateId id() const { return id_; }
  uint64_t StoreReads() const {
    uint64_t reads = 0;
    for (const auto& state : states_) reads += state->usage().store_reads;
    return reads;
  }

 private:
  StateWorld world_;
  std::vector<std::unique_ptr<SubtaskState>> states_;
  std::vector<std::unique_ptr<PendingSnapshot>> pending_;
  StateId id_;
};

Model ReadAll(Side& side) {
  Model all;
  for (const auto& state : side.states()) {
    EXPECT_OK(state->ScanAll(side.id(), [&](std::string_view key, std::string_view name_space, std::string_view value) {
      EXPECT_TRUE(all.emplace(std::string(key) + '\0' + std::string(name_space), value).second);
      return true;
    }));
  }
  return all;
}

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {}

  void Operations(int count) {
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) Step();
    ExpectSame();
    EXPECT_GT(sides_[0].StoreReads(), 0u);
  }

 private:
  void Step() {
    const std::string key = "key" + std::to_string(random_.OneIn(3) ? random_.Below(50) : random_.Below(kKeys));
    const std::string name_space(1, static_cast<char>('a' + random_.Below(6)));
    const uint64_t what = random_.Below(100000);
    if (what < 40) return Restart();
    if (what < 400) return Snapshot();
    if (what < 30000) return Read(key, name_space);
    if (what < 31000) return Scan(key);
    if (what < 40000) return Remove(key, name_space);
    Write(key, name_space, std::string(random_.Below(120), static_cast<char>('a' + random_.Below(26))));
  }

  void Write(const std::string& key, const std::string& name_space, const std::string& value) {
    const EntryKey at = KeyOf(key, name_space);
    for (Side& side : sides_) ASSERT_OK(side.StateOf(at).Put(side.id(), at, value));
    model_[key + '\0' + name_space] = value;
    if (sides_[0].NeedsFlush() && !sides_[0].pending()) {
      for (Side& side : sides_) {
        side.Freeze(std::nullopt);
        side.Write(/*abort=*/false);
      }
    }
  }

  void Remove(const std::string& key, const std::string& name_space) {
    const EntryKey at = KeyOf(key, name_space);
    for (Side& side : sides_) ASSERT_OK(side.StateOf(at).Delete(side.id(), at));
    model_.erase(key + '\0' + name_space);
  }

  void Read(const std::string& key, const std::string& name_space) {
    const EntryKey at = KeyOf(key, name_space);
    const auto found = model_.find(key + '\0' + name_space);
    const auto expected = found == model_.end() ? std::nullopt : std::optional<std::string>(found->second);
    for (Side& side : sides_) ASSERT_EQ(GetText(side.StateOf(at), side.id(), at), expected) << key << name_space;
  }

  void Scan(const std::string& key) {
    Model expected(model_.lower_bound(key + '\0'), model_.lower_bound(key + '\1'));
    for (Side& side : sides_) {
      Model seen;
      ASSERT_OK(side.StateOf(KeyOf(key))
                    .ScanKey(side.id(), KeyOf(key),
                             [&](std::string_view, std::string_view name_space, std::string_view value) {
                               seen.emplace(key + '\0' + std::string(name_space), value);
                               return true;
                             }));
      ASSERT_EQ(seen, expected);
    }
  }

  // Freezes, or writes what is frozen.
  void Snapshot() {
    if (!sides_[0].pending()) {
      frozen_ = model_;
      checkpoint_ = random_.OneIn(3) ? std::nullopt : std::optional<CheckpointId>(Checkpoint(++checkpoints_));
      for (Side& side : sides_) side.Freeze(checkpoint_);
      return;
    }
    const bool abort = random_.OneIn(4);
    for (size_t i = 0; i < 2; ++i) {
      auto handles = sides_[i].Write(abort);
      if (checkpoint_.has_value() && !abort) handles_[i] = std::move(handles);
    }
    if (checkpoint_.has_value() && !abort) durable_ = frozen_;
    if (checkpoint_.has_value() && abort) {
      for (Side& side : sides_) {
        for (const auto& state : side.states()) state->CheckpointAborted(*checkpoint_);
      }
    }
  }

  // A crash, then a start from the newest checkpoint at some parallelism.
  void Restart() {
    const auto parallelism = static_cast<uint32_t>(random_.Below(4) + 1);
    for (size_t i = 0; i < 2; ++i) sides_[i].Start(parallelism, handles_[i]);
    model_ = durable_;
    ExpectSame();
  }

  void ExpectSame() {
    for (Side& side : sides_) ASSERT_EQ(ReadAll(side), model_);
  }

  SeededRandom random_;
  Side sides_[2] = {Side(StoreKind::kRocksDb), Side(StoreKind::kOrderedMap)};
  Model model_, frozen_, durable_;
  std::vector<SubtaskStateHandle> handles_[2];
  std::optional<CheckpointId> checkpoint_;
  uint64_t checkpoints_ = 0;
};

class DifferentialTest : public testing::TestWithParam<uint64_t> {};

TEST_P(DifferentialTest, StoresAndModelAgreeThroughCrashesAndRescales) { RandomRun(GetParam()).Operations(40000); }

INSTANTIATE_TEST_SUITE_P(Seeds, DifferentialTest, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace weir::state
