#include "state/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir::state {
namespace {

template <class T>
std::optional<T> RoundTrip(const T& value) {
  std::string bytes;
  Codec<T>::Encode(value, bytes);
  return Codec<T>::Decode(bytes);
}

TEST(CodecTest, KeepsIntegersExactly) {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{9007199254740993}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(RoundTrip(value), value);
  }
  EXPECT_EQ(RoundTrip(UINT64_MAX), UINT64_MAX);
  std::string bytes;
  Codec<int64_t>::Encode(-3, bytes);
  EXPECT_EQ(bytes, std::string(1, '\5'));
}

TEST(CodecTest, KeepsDoublesBitForBit) {
  EXPECT_EQ(RoundTrip(0.1), 0.1);
  EXPECT_TRUE(std::signbit(*RoundTrip(-0.0)));
  EXPECT_TRUE(std::isnan(*RoundTrip(std::numeric_limits<double>::quiet_NaN())));
}

TEST(CodecTest, KeepsTextAndPairs) {
  EXPECT_EQ(RoundTrip(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(RoundTrip(true), true);
  const std::pair<std::string, std::pair<int64_t, std::string>> pair{"k", {-5, "v"}};
  EXPECT_EQ(RoundTrip(pair), pair);
  EXPECT_EQ((Codec<std::pair<int64_t, std::string>>::Type()), "pair(int64;bytes)");
}

TEST(CodecTest, RefusesForeignBytes) {
  EXPECT_EQ(Codec<int64_t>::Decode(""), std::nullopt);
  EXPECT_EQ(Codec<int64_t>::Decode(std::string("\1\1")), std::nullopt);
  EXPECT_EQ(Codec<int64_t>::Decode(std::string(11, '\xff')), std::nullopt);
  EXPECT_EQ(Codec<bool>::Decode("\2"), std::nullopt);
  EXPECT_EQ(Codec<double>::Decode("1234567"), std::nullopt);
  EXPECT_EQ((Codec<std::pair<std::string, std::string>>::Decode("\7ab")), std::nullopt);
}

}  // namespace
}  // namespace weir::state
