// The text of CockroachDB's clock.
#include "connectors/format/hlc.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::connectors {
namespace {

using operators::EventTime;

std::string Written(EventTime time) {
  std::string text;
  AppendHlc(time, text);
  return text;
}

TEST(HlcTest, B07_ReadsAndWritesEveryDigit) {
  for (const char* text : {"1700000000123456789.0000000002", "0.0000000000", "1.2147483647",
                           "9223372036854775807.2147483647", "1658353462000000000.0000000001"}) {
    const auto time = ParseHlc(text);
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_EQ(Written(*time), text);
  }
}

TEST(HlcTest, B07_ALogicalPartOfZeroIsSpelledInAnyWay) {
  for (const char* text : {"1.0", "1.00", "1.000000000", "1.0000000000", "1.00000000000", "1.000000000000000000000"}) {
    EXPECT_EQ(ParseHlc(text), (EventTime{1, 0})) << text;
  }
}

TEST(HlcTest, B07_RefusesEverythingElse) {
  for (const char* text : {"",
                           ".",
                           "1",
                           "1.",
                           ".0",
                           ".0000000000",
                           "1.5",
                           "1.01",
                           "1.10",
                           "1.00000000001",
                           "1.2147483648",
                           "1.9999999999",
                           "x.0",
                           "1.x",
                           "test.0",
                           "-1.0",
                           "-1.0000000000",
                           "1.-000000001",
                           "+1.0",
                           "1.+0",
                           "0x1.0",
                           "1.0x00000001",
                           "1_000.0",
                           "1.0_0",
                           " 1.0",
                           "1.0 ",
                           "1 .0",
                           "1. 0",
                           "\t1.0",
                           "1.0\n",
                           "1.0.0",
                           "1..0",
                           "1,0",
                           "1e9.0",
                           "01.0",
                           "00.0",
                           "0010.0000000000",
                           "9223372036854775808.0000000000",
                           "18446744073709551616.0",
                           "99999999999999999999999.0",
                           "1.0000000000 "}) {
    EXPECT_FALSE(ParseHlc(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseHlc(std::string_view("1.0\0", 4)).has_value());
}

// Field case H53: as text ...788.9999999999 is behind ...789.0000000002, and .0000000010 before .0000000002.
TEST(HlcTest, case_H53_OrderIsNanosecondsThenLogicalPartAsNumbers) {
  const char* const kRising[] = {"9.0",
                                 "10.0",
                                 "1700000000123456788.2147483647",
                                 "1700000000123456789.0000000000",
                                 "1700000000123456789.0000000002",
                                 "1700000000123456789.0000000010",
                                 "1700000000123456790.0000000000"};
  for (size_t i = 1; i < std::size(kRising); ++i) {
    EXPECT_LT(*ParseHlc(kRising[i - 1]), *ParseHlc(kRising[i])) << kRising[i];
  }
}

TEST(HlcTest, B07_NeighboursAreOneLogicalTickApart) {
  EXPECT_EQ(Written(ParseHlc("5.0000000000")->Next()), "5.0000000001");
  EXPECT_EQ(Written(ParseHlc("5.0000000001")->Previous()), "5.0000000000");
  EXPECT_EQ(Written(ParseHlc("5.0000000000")->Previous()), "4.2147483647");
  EXPECT_EQ(Written(ParseHlc("4.2147483647")->Next()), "5.0000000000");
}

}  // namespace
}  // namespace weir::connectors
