#include <gtest/gtest.h>

#include <array>
#include <string>

#include "operators/temporal.h"

namespace weir::operators {
namespace {

std::string Text(ValueType type, int64_t units) {
  std::array<char, kTemporalTextMax> buffer{};
  return {buffer.data(), TemporalToText(type, units, buffer.data())};
}

std::string RoundTrip(ValueType type, std::string_view text) {
  const TemporalText read = ParseTemporal(type, text);
  if (!read.error) return Text(type, read.units);
  return *read.error == TemporalError::kSyntax ? "syntax" : "range";
}

TEST(ExpressionTemporalTest, EveryDayOfEightCenturiesComesBack) {
  CivilDate before = CivilFromDays(DaysFromCivil({1599, 12, 31}));
  for (int64_t days = DaysFromCivil({1600, 1, 1}); days <= DaysFromCivil({2400, 12, 31}); ++days) {
    const CivilDate date = CivilFromDays(days);
    ASSERT_EQ(DaysFromCivil(date), days);
    const bool next_day = date.month == before.month && date.day == before.day + 1;
    ASSERT_TRUE(next_day || date.day == 1) << date.year << "-" << date.month << "-" << date.day;
    before = date;
  }
  EXPECT_EQ(DaysFromCivil({1970, 1, 1}), 0);
  EXPECT_EQ(DaysFromCivil({2000, 3, 1}), 11017);
}

TEST(ExpressionTemporalTest, ReadsIsoAndPrintsAsPostgres) {
  EXPECT_EQ(RoundTrip(ValueType::kDate, "2024-02-29"), "2024-02-29");
  EXPECT_EQ(RoundTrip(ValueType::kDate, " 2024-2-9 "), "2024-02-09");
  EXPECT_EQ(RoundTrip(ValueType::kTimestamp, "2024-02-29"), "2024-02-29 00:00:00");
  EXPECT_EQ(RoundTrip(ValueType::kTimestamp, "2024-02-29T12:34:56.7890"), "2024-02-29 12:34:56.789");
  EXPECT_EQ(RoundTrip(ValueType::kTimestamp, "1969-12-31 23:59:59.999999"), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(RoundTrip(ValueType::kTimestamp, "2024-02-29 12:34:56+05"), "2024-02-29 12:34:56");
  EXPECT_EQ(RoundTrip(ValueType::kTimestampTz, "2024-02-29 12:34:56+05:30"), "2024-02-29 07:04:56+00");
  EXPECT_EQ(RoundTrip(ValueType::kTimestampTz, "2024-02-29 00:00:00Z"), "2024-02-29 00:00:00+00");
  EXPECT_EQ(RoundTrip(ValueType::kTimestamp, "2024-12-31 24:00:00"), "2025-01-01 00:00:00");
  EXPECT_EQ(RoundTrip(ValueType::kTime, "07:08:09.5"), "07:08:09.5");
  EXPECT_EQ(Text(ValueType::kDate, DaysFromCivil({-43, 3, 15})), "0044-03-15 BC");
}

TEST(ExpressionTemporalTest, TellsMalformedFromImpossible) {
  for (const char* text :
       {"", "today", "2024", "2024-01", "20240101", "2024-01-01x", "2024-01-01T", "2024-01-01 1", "24-01-01"}) {
    EXPECT_EQ(RoundTrip(ValueType::kTimestamp, text), "syntax") << text;
  }
  for (const char* text : {"2023-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "2024-01-01 25:00",
                           "2024-01-01 00:60", "0000-01-01", "999999-01-01"}) {
    EXPECT_EQ(RoundTrip(ValueType::kTimestamp, text), "range") << text;
  }
}

}  // namespace
}  // namespace weir::operators
