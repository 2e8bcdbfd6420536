// What the tests of state/ share: a folder that goes away, both kinds of local store, and a subtask's life in short
// words.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "state/key_groups.h"
#include "state/ordered_map_store.h"
#include "state/rocksdb_store.h"
#include "state/table_state.h"
#include "tests/state/unsynced_file_system.h"

namespace weir::state {

#define ASSERT_OK(expr)                                                  \
  do {                                                                   \
    const ::weir::Status weir_test_status_ = (expr);                     \
    ASSERT_TRUE(weir_test_status_.ok()) << weir_test_status_.ToString(); \
  } while (false)
#define EXPECT_OK(expr)                                                  \
  do {                                                                   \
    const ::weir::Status weir_test_status_ = (expr);                     \
    EXPECT_TRUE(weir_test_status_.ok()) << weir_test_status_.ToString(); \
  } while (false)

enum class StoreKind : uint8_t { kRocksDb, kOrderedMap };

inline std::string StoreKindName(const testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::kRocksDb ? "RocksDb" : "OrderedMap";
}

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-state-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One job's storage with its local folders.
class StateWorld {
 public:
  explicit StateWorld(StoreKind kind, uint64_t budget_bytes = 64u << 20)
      : fs_(std::make_unique<UnsyncedFileSystem>()), budget_(budget_bytes) {
    stores_ = kind == StoreKind::kRocksDb ? NewRocksDbStoreFactory(budget_) : NewOrderedMapStoreFactory(*fs_);
  }

  FileSystem& fs() { return *fs_; }
  LocalStoreFactory& stores() { return *stores_; }
  StateBudget& budget() { return budget_; }
  std::string job_dir() const { return folder_.path() + "/job"; }

  // Each with a local folder of its own, so that a former state may still be open.
  SubtaskStateOptions Options(uint32_t subtask, uint32_t parallelism) {
    ++attempts_;
    return {.fs = fs_.get(),
            .stores = stores_.get(),
            .budget = &budget_,
            .range = RangeOf(subtask, parallelism, kDefaultKeyGroups),
            .local_dir = folder_.path() + "/local-" + std::to_string(attempts_),
            .job_dir = job_dir(),
            .unique_prefix = "attempt" + std::to_string(attempts_) + "-0-" + std::to_string(subtask) + "-"};
  }

  Result<std::unique_ptr<SubtaskState>> Open(uint32_t subtask, uint32_t parallelism,
                                             const std::vector<SubtaskStateHandle>& restored = {}) {
    return OpenSubtaskState(Options(subtask, parallelism), restored);
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<FileSystem> fs_;
  StateBudget budget_;
  std::unique_ptr<LocalStoreFactory> stores_;
  int attempts_ = 0;
};

inline CheckpointId Checkpoint(uint64_t number) { return {.number = number, .id = {.high = 7, .low = number}}; }

// Freeze, write and report, all at once.
inline Result<SubtaskStateHandle> TakeSnapshot(SubtaskState& state, std::optional<CheckpointId> checkpoint) {
  Result<SubtaskStateHandle> handle = state.Freeze(checkpoint)->Write();
  state.SnapshotWritten(handle.has_value() ? Status::Ok() : handle.error());
  return handle;
}

inline StateDescription Described(const std::string& name, const std::string& kind = "value") {
  return {.uid = "op", .name = name, .kind = kind, .codec = "bytes"};
}

inline EntryKey KeyOf(std::string_view key, std::string_view name_space = {}) {
  return {.hash = HashKey(key), .key = key, .name_space = name_space};
}

inline std::optional<std::string> GetText(SubtaskState& state, StateId id, const EntryKey& key) {
  const Result<std::optional<std::string_view>> value = state.Get(id, key);
  EXPECT_TRUE(value.has_value()) << value.error().ToString();
  if (!value.has_value() || !value->has_value()) return std::nullopt;
  return std::string(**value);
}

}  // namespace weir::state
