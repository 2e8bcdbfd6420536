// What both local stores promise.
#include "state/local_store.h"

#include <map>

#include "base/random.h"
#include "tests/state/state_fixture.h"

namespace weir::state {
namespace {

using Model = std::map<std::string, std::string>;
using Changes = std::map<std::string, std::optional<std::string>>;

std::string Key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

class LocalStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<LocalStore> Create(const std::string& name) {
    const std::string folder = world_.job_dir() + "/" + name;
    EXPECT_OK(world_.fs().CreateDirectories(folder));
    auto store = world_.stores().Open(folder, LocalStoreFactory::Mode::kCreate);
    EXPECT_TRUE(store.has_value()) << store.error().ToString();
    return std::move(*store);
  }

  static Status Write(LocalStore& store, const Changes& run) {
    auto at = run.begin();
    return store.WriteRun([&](RunEntry& entry) {
      if (at == run.end()) return false;
      entry.key = at->first;
      entry.value = at->second.has_value() ? std::optional<std::string_view>(*at->second) : std::nullopt;
      ++at;
      return true;
    });
  }

  static Model ReadAll(LocalStore& store, std::string_view from = {}) {
    Model all;
    const auto cursor = store.Scan(from);
    EXPECT_TRUE(cursor.has_value());
    for (; (*cursor)->valid(); (*cursor)->Next()) all.emplace((*cursor)->key(), (*cursor)->value());
    EXPECT_OK((*cursor)->status());
    return all;
  }

  static void Apply(const Changes& run, Model& model) {
    for (const auto& [key, value] : run) {
      if (value.has_value()) {
        model[key] = *value;
      } else {
        model.erase(key);
      }
    }
  }

  StateWorld world_{GetParam()};
};

TEST_P(LocalStoreTest, ReadsBackRunsWithRemovals) {
  const auto store = Create("store");
  Model model;
  SeededRandom random(5);
  for (int round = 0; round < 30; ++round) {
    Changes run;
    for (int i = 0; i < 300; ++i) {
      std::optional<std::string> value;
      if (!random.OneIn(4)) value = std::string(random.Below(50), static_cast<char>('a' + round % 26));
      run[Key(random.Below(2000))] = value;
    }
    ASSERT_OK(Write(*store, run));
    Apply(run, model);
  }
  EXPECT_EQ(ReadAll(*store), model);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 2000; ++i) names.push_back(Key(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<std::optional<std::string>> values;
  ASSERT_OK(store->MultiGet(keys, values));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = model.find(names[i]);
    EXPECT_EQ(values[i], found == model.end() ? std::nullopt : std::optional<std::string>(found->second));
  }
}

TEST_P(LocalStoreTest, AnEmptyRunAndAnEmptyReadAreFine) {
  const auto store = Create("store");
  ASSERT_OK(Write(*store, {}));
  std::vector<std::optional<std::string>> values;
  ASSERT_OK(store->MultiGet({}, values));
  EXPECT_TRUE(ReadAll(*store).empty());
}

TEST_P(LocalStoreTest, DropRangeRemovesThatRangeOnly) {
  const auto store = Create("store");
  Changes run;
  for (uint64_t i = 0; i < 100; ++i) run[Key(i)] = "v";
  ASSERT_OK(Write(*store, run));
  ASSERT_OK(store->DropRange(Key(10), Key(20)));
  const Model all = ReadAll(*store);
  EXPECT_EQ(all.size(), 90u);
  EXPECT_TRUE(all.contains(Key(9)));
  EXPECT_FALSE(all.contains(Key(10)));
  EXPECT_FALSE(all.contains(Key(19)));
  EXPECT_TRUE(all.contains(Key(20)));
}

TEST_P(LocalStoreTest, OpensAgainFromTheFilesThatItShowed) {
  auto store = Create("store");
  Model model;
  for (uint64_t round = 0; round < 12; ++round) {
    Changes run;
    for (uint64_t i = round; i < 500; i += round + 1) run[Key(i)] = std::to_string(round);
    ASSERT_OK(Write(*store, run));
    Apply(run, model);
  }
  const std::string copy = world_.job_dir() + "/copy";
  ASSERT_OK(world_.fs().CreateDirectories(copy));
  ASSERT_OK(store->VisitFiles([&](const StoreFile& file) {
    if (file.content.has_value()) return WriteFileDurably(world_.fs(), copy + "/" + file.name, *file.content);
    return world_.fs().Link(file.path, copy + "/" + file.name);
  }));
  // What comes later is not in the copy.
  ASSERT_OK(Write(*store, {{Key(1), "later"}}));
  for (const auto mode : {LocalStoreFactory::Mode::kReadOnly, LocalStoreFactory::Mode::kExisting}) {
    const auto again = world_.stores().Open(copy, mode);
    ASSERT_TRUE(again.has_value()) << again.error().ToString();
    EXPECT_EQ(ReadAll(**again), model);
    EXPECT_EQ(ReadAll(**again, Key(250)).begin()->first, Key(250));
  }
}

TEST_P(LocalStoreTest, ANameNeverMeansOtherBytes) {
  const auto store = Create("store");
  std::map<std::string, std::string> seen;
  for (uint64_t round = 0; round < 40; ++round) {
    ASSERT_OK(Write(*store, {{Key(round % 7), std::string(100, static_cast<char>('a' + round % 26))}}));
    ASSERT_OK(store->VisitFiles([&](const StoreFile& file) {
      if (file.content.has_value()) return Status::Ok();
      const std::string bytes = *ReadFile(world_.fs(), file.path);
      const auto [known, added] = seen.emplace(file.name, bytes);
      EXPECT_TRUE(added || known->second == bytes) << file.name;
      return Status::Ok();
    }));
  }
  EXPECT_GT(seen.size(), 30u);
}

TEST_P(LocalStoreTest, OpeningWhatIsNotThereIsAnError) {
  const std::string folder = world_.job_dir() + "/nothing";
  ASSERT_OK(world_.fs().CreateDirectories(folder));
  const auto store = world_.stores().Open(folder, LocalStoreFactory::Mode::kExisting);
  EXPECT_FALSE(store.has_value());
}

INSTANTIATE_TEST_SUITE_P(Stores, LocalStoreTest, testing::Values(StoreKind::kRocksDb, StoreKind::kOrderedMap),
                         StoreKindName);

}  // namespace
}  // namespace weir::state
