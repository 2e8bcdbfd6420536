#include "state/entry_key.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace weir::state {
namespace {

std::string Encode(uint32_t state, uint32_t hash, std::string_view key, std::string_view name_space) {
  std::string bytes = "was here before";
  EncodeEntryKey({state}, {.hash = hash, .key = key, .name_space = name_space}, bytes);
  return bytes;
}

std::string RandomBytes(Random& random, uint64_t size_max) {
  std::string bytes(random.Below(size_max + 1), '\0');
  for (char& c : bytes) c = static_cast<char>(random.OneIn(4) ? (random.OneIn(2) ? 0xff : 0) : random.Below(256));
  return bytes;
}

TEST(EntryKeyTest, GivesTheWorkedExampleOfItsHeader) {
  EXPECT_EQ(Encode(7, 0x40000000u, "ab", "x"), std::string("\x40\0\0\0\0\0\0\x07\x02"
                                                           "abx",
                                                           12));
}

TEST(EntryKeyTest, DecodesWhatItEncoded) {
  SeededRandom random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string key = RandomBytes(random, 300);
    const std::string name_space = RandomBytes(random, 20);
    const auto hash = static_cast<uint32_t>(random.Next());
    const auto state = static_cast<uint32_t>(random.Next());
    const std::string bytes = Encode(state, hash, key, name_space);
    const auto decoded = DecodeEntryKey(bytes);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->state.value, state);
    EXPECT_EQ(StateIdOf(bytes), state);
    EXPECT_EQ(decoded->key.hash, hash);
    EXPECT_EQ(decoded->key.key, key);
    EXPECT_EQ(decoded->key.name_space, name_space);
  }
}

TEST(EntryKeyTest, RefusesOrReadsAnyBytes) {
  SeededRandom random(2);
  int refused = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string bytes = RandomBytes(random, 24);
    const auto decoded = DecodeEntryKey(bytes);
    refused += decoded.has_value() ? 0 : 1;
    if (!decoded.has_value()) continue;
    // What was read lies within the bytes and means the same when it is written again.
    EXPECT_LE(decoded->key.key.size() + decoded->key.name_space.size() + 9, bytes.size());
    const std::string canonical =
        Encode(decoded->state.value, decoded->key.hash, decoded->key.key, decoded->key.name_space);
    const auto again = DecodeEntryKey(canonical);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->key.key, decoded->key.key);
  }
  EXPECT_GT(refused, 1000);
}

TEST(EntryKeyTest, BytewiseOrderIsHashStateLengthKeyNamespace) {
  SeededRandom random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string a_key = RandomBytes(random, 3), b_key = RandomBytes(random, 3);
    std::string a_space = RandomBytes(random, 2), b_space = RandomBytes(random, 2);
    const auto a_hash = static_cast<uint32_t>(random.Below(2)), b_hash = static_cast<uint32_t>(random.Below(2));
    const auto a = std::tuple(a_hash, a_key.size(), a_key, a_space);
    const auto b = std::tuple(b_hash, b_key.size(), b_key, b_space);
    EXPECT_EQ(Encode(1, a_hash, a_key, a_space) < Encode(1, b_hash, b_key, b_space), a < b);
  }
}

TEST(EntryKeyTest, OperatorStateLiesBehindAllKeyedEntries) {
  EXPECT_LT(Encode(UINT32_MAX - 1, UINT32_MAX, std::string(300, '\xff'), "\xff"), FirstOperatorKey());
  std::string bytes;
  EncodeEntryKey({kOperatorStateId}, OperatorEntryKey("", ""), bytes);
  EXPECT_GE(bytes, FirstOperatorKey());
  EXPECT_EQ(BehindKeysOf({.first = 5, .last = UINT32_MAX}), FirstOperatorKey());
}

TEST(EntryKeyTest, BehindPrefixIsTheLeastAboveAllWithIt) {
  EXPECT_EQ(BehindPrefix("ab"), "ac");
  EXPECT_EQ(BehindPrefix("a\xff\xff"), "b");
  EXPECT_EQ(BehindPrefix("\xff\xff"), std::nullopt);
  EXPECT_EQ(BehindPrefix(""), std::nullopt);
}

TEST(EntryKeyTest, StateIdsTellUidFromName) {
  EXPECT_NE(ComputeStateId("ab", "c"), ComputeStateId("a", "bc"));
  EXPECT_NE(ComputeStateId("a", "b"), kOperatorStateId);
}

}  // namespace
}  // namespace weir::state
