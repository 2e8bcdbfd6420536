#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir {
namespace {

const std::vector<uint64_t> kNumbers = {0,
                                        1,
                                        127,
                                        128,
                                        255,
                                        256,
                                        16'383,
                                        16'384,
                                        0xffffffff,
                                        0x100000000,
                                        1ULL << 62,
                                        1ULL << 63,
                                        std::numeric_limits<uint64_t>::max()};

TEST(BytesTest, BigEndianKeepsNumericOrder) {
  std::string previous;
  for (const uint64_t number : kNumbers) {
    std::string bytes;
    AppendBigEndian64(bytes, number);
    ASSERT_EQ(bytes.size(), 8U);
    EXPECT_EQ(ReadBigEndian64(bytes), number);
    EXPECT_LE(previous, bytes);
    previous = bytes;
  }
  std::string bytes = "ab";
  AppendBigEndian32(bytes, 0x01020380);
  EXPECT_EQ(bytes, std::string("ab\x01\x02\x03\x80"));
  EXPECT_EQ(ReadBigEndian32(std::string_view(bytes).substr(2)), 0x01020380U);
}

TEST(BytesTest, VarintsComeBackAndAreConsumed) {
  std::string bytes;
  for (const uint64_t number : kNumbers) AppendVarint(bytes, number);
  std::string_view rest = bytes;
  for (const uint64_t number : kNumbers) EXPECT_EQ(ReadVarint(rest), number);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(ReadVarint(rest), std::nullopt);
}

TEST(BytesTest, ACutVarintIsRefusedAndNothingConsumed) {
  std::string bytes;
  AppendVarint(bytes, std::numeric_limits<uint64_t>::max());
  ASSERT_EQ(bytes.size(), 10U);
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::string_view cut = std::string_view(bytes).substr(0, length);
    EXPECT_EQ(ReadVarint(cut), std::nullopt);
    EXPECT_EQ(cut.size(), length);
  }
}

TEST(BytesTest, AVarintBeyond64BitsIsRefused) {
  std::string_view eleven = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
  EXPECT_EQ(ReadVarint(eleven), std::nullopt);
  std::string_view too_large = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_EQ(ReadVarint(too_large), std::nullopt);
}

TEST(BytesTest, LengthPrefixedTextComesBack) {
  std::string bytes;
  const std::vector<std::string> texts = {"", "a", std::string("\0b", 2), std::string(300, 'x')};
  for (const std::string& text : texts) AppendLengthPrefixed(bytes, text);
  std::string_view rest = bytes;
  for (const std::string& text : texts) EXPECT_EQ(ReadLengthPrefixed(rest), text);
  EXPECT_TRUE(rest.empty());
}

TEST(BytesTest, ALengthBeyondTheEndIsRefused) {
  std::string bytes;
  AppendLengthPrefixed(bytes, "12345");
  std::string_view cut = std::string_view(bytes).substr(0, 4);
  EXPECT_EQ(ReadLengthPrefixed(cut), std::nullopt);
  EXPECT_EQ(cut.size(), 4U);
  std::string huge;
  AppendVarint(huge, std::numeric_limits<uint64_t>::max());
  std::string_view rest = huge;
  EXPECT_EQ(ReadLengthPrefixed(rest), std::nullopt);
}

// The values are part of the file formats: if this fails, old files can't be read.
TEST(BytesTest, TheHashIsXxh3) {
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2U);
  EXPECT_EQ(Hash64("a"), 0xe6c632b61e964e1fU);
  EXPECT_EQ(Hash64("abc"), 0x78af5f94892f3950U);
}

TEST(BytesTest, HashOverPiecesIsTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += std::to_string(i);
  for (const size_t piece : {1U, 7U, 256U, 5'000U}) {
    Hasher hasher;
    for (size_t at = 0; at < text.size(); at += piece) hasher.Update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hasher.Digest(), Hash64(text));
  }
  EXPECT_EQ(Hasher().Digest(), Hash64(""));
}

}  // namespace
}  // namespace weir
