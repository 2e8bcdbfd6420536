#include "state/entry_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "state/entry_key.h"

namespace weir::state {
namespace {

std::string Key(uint64_t number, std::string_view name_space = {}) {
  std::string bytes;
  const std::string key = std::to_string(number);
  EncodeEntryKey({1}, {.hash = static_cast<uint32_t>(number * 2654435761u), .key = key, .name_space = name_space},
                 bytes);
  return bytes;
}

std::optional<std::string> Text(const Entry* entry) {
  if (entry == nullptr || entry->removed()) return std::nullopt;
  return std::string(entry->value());
}

TEST(EntryTableTest, AFrozenEntryStaysAsItWasWhileANewerOneIsRead) {
  EntryTable table;
  table.Write(Key(1), "old");
  table.Freeze();
  table.Write(Key(1), "new");
  ASSERT_EQ(table.FrozenEntries().size(), 1u);
  EXPECT_EQ(table.FrozenEntries()[0]->value(), "old");
  EXPECT_EQ(Text(table.Find(Key(1))), "new");
  table.FrozenWritten();
  EXPECT_EQ(Text(table.Find(Key(1))), "new");
  EXPECT_EQ(table.live_entries(), 1u);
  EXPECT_EQ(table.clean_bytes(), 0u);
  EXPECT_EQ(table.frozen_bytes(), 0u);
}

TEST(EntryTableTest, AFailedWriteMergesBackAndTheNewerWins) {
  EntryTable table;
  table.Write(Key(1), "one");
  table.Write(Key(2), "two");
  table.Write(Key(3), std::nullopt);
  table.Freeze();
  table.Write(Key(2), "two again");
  table.Write(Key(4), "four");
  table.FrozenFailed();
  EXPECT_EQ(table.live_entries(), 4u);
  table.Freeze();
  std::map<std::string, std::optional<std::string>> frozen;
  for (const Entry* entry : table.FrozenEntries()) frozen[std::string(entry->key())] = Text(entry);
  EXPECT_EQ(frozen, (std::map<std::string, std::optional<std::string>>{
                        {Key(1), "one"}, {Key(2), "two again"}, {Key(3), std::nullopt}, {Key(4), "four"}}));
}

TEST(EntryTableTest, OutgrownLiveEntriesAreWrittenOnce) {
  EntryTable table;
  for (size_t size = 1; size < 5000; size += 37) table.Write(Key(1), std::string(size, 'x'));
  table.Write(Key(1), "small");
  EXPECT_EQ(table.live_entries(), 1u);
  table.Freeze();
  ASSERT_EQ(table.FrozenEntries().size(), 1u);
  EXPECT_EQ(table.FrozenEntries()[0]->value(), "small");
}

TEST(EntryTableTest, TakesAValueThatIsAViewIntoTheEntryItself) {
  EntryTable table;
  table.Write(Key(1), "0123456789");
  table.Write(Key(1), table.Find(Key(1))->value().substr(2));
  EXPECT_EQ(Text(table.Find(Key(1))), "23456789");
}

TEST(EntryTableTest, EvictionTakesCleanEntriesOnlyAndSaysSo) {
  EntryTable table;
  for (uint64_t i = 0; i < 1000; ++i) table.Write(Key(i), "clean");
  table.Freeze();
  table.FrozenWritten();
  for (uint64_t i = 1000; i < 1100; ++i) table.Write(Key(i), "live");
  EXPECT_FALSE(table.evicted());
  for (int i = 0; i < 100; ++i) table.EvictTo(0);
  EXPECT_TRUE(table.evicted());
  EXPECT_EQ(table.entries(), 100u);
  EXPECT_EQ(table.clean_bytes(), 0u);
  for (uint64_t i = 1000; i < 1100; ++i) EXPECT_EQ(Text(table.Find(Key(i))), "live");
}

TEST(EntryTableTest, ProbesStayShortWhileTheClockGoesRound) {
  EntryTable table;
  for (uint64_t i = 0; i < 48'000; ++i) table.LoadClean(Key(i), "value");
  const uint64_t bytes = table.bytes();
  for (uint64_t i = 48'000; i < 600'000; ++i) {
    table.EvictTo(bytes);
    table.LoadClean(Key(i), "value");
  }
  EXPECT_GT(table.entries(), 45'000u);
  EXPECT_LT(table.LongestProbe(), 250u);
}

TEST(EntryTableTest, GivingUpARemovalLosesNoKnowledge) {
  EntryTable table;
  table.Write(Key(1), std::nullopt);
  table.Freeze();
  table.FrozenWritten();
  table.EvictTo(0);
  table.EvictTo(0);
  EXPECT_EQ(table.entries(), 0u);
  EXPECT_FALSE(table.evicted());
}

TEST(EntryTableTest, AgreesWithAnOrderedMapUnderRandomUse) {
  SeededRandom random(11);
  EntryTable table;
  table.KeepOrdered(1);
  std::map<std::string, std::optional<std::string>> known, stored, frozen;
  bool pending = false;
  for (int i = 0; i < 200000; ++i) {
    const std::string key = Key(random.Below(3000), random.OneIn(2) ? "a" : "b");
    switch (random.Below(10)) {
      case 0: {
        if (!pending) {
          table.Freeze();
          frozen.clear();
          for (const Entry* entry : table.FrozenEntries()) frozen[std::string(entry->key())] = Text(entry);
          pending = true;
        }
        break;
      }
      case 1: {
        if (!pending || !random.OneIn(5)) break;
        for (const Entry* entry : table.FrozenEntries()) {
          ASSERT_EQ(frozen.at(std::string(entry->key())), Text(entry));
        }
        if (random.OneIn(2)) {
          for (const auto& [name, value] : frozen) stored[name] = value;
          table.FrozenWritten();
        } else {
          table.FrozenFailed();
        }
        pending = false;
        break;
      }
      case 2: table.EvictTo(random.Below(400000)); break;
      case 3:
      case 4: {
        const Entry* entry = table.Find(key);
        if (entry == nullptr) {
          // What the table gave up is what was stored.
          const auto expected = known.contains(key) ? known[key] : std::nullopt;
          ASSERT_EQ(stored.contains(key) ? stored[key] : std::nullopt, expected);
          table.LoadClean(key, expected.has_value() ? std::optional<std::string_view>(*expected) : std::nullopt);
        } else {
          ASSERT_EQ(Text(entry), known.contains(key) ? known[key] : std::nullopt);
        }
        break;
      }
      case 5:
        table.Write(key, std::nullopt);
        known[key] = std::nullopt;
        break;
      default: {
        const std::string value(random.Below(200), static_cast<char>('a' + random.Below(26)));
        table.Write(key, value);
        known[key] = value;
      }
    }
  }
  std::string last;
  size_t ordered = 0;
  EntryTable::OrderedWalk walk = table.OrderedFrom({});
  while (const Entry* entry = walk()) {
    EXPECT_LT(last, entry->key());
    last = entry->key();
    ++ordered;
  }
  EXPECT_EQ(ordered, table.entries());
  EXPECT_EQ(table.SortedEntriesOf(1).size(), table.entries());
}

}  // namespace
}  // namespace weir::state
