#include "operators/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace weir::operators {
namespace {

Decimal D(std::string_view text) {
  const DecimalResult parsed = Decimal::Parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Decimal());
}

std::string Text(const DecimalResult& result) {
  return result.has_value() ? result->ToString() : std::string(DecimalErrorText(result.error()));
}

std::string Canonical(std::string_view text) {
  std::string out;
  AppendCanonicalNumber(out, text);
  return out;
}

const std::string kMax(38, '9');
constexpr std::string_view kOverflowText = "decimal overflow: the result has more than 38 digits";

TEST(DecimalTest, ReadsJsonsNumbersAndPrintsAsPostgres) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0"},
      {"-0", "0"},
      {"0.10", "0.10"},
      {"-0.5", "-0.5"},
      {"7E+3", "7000"},
      {"1.50E1", "15.0"},
      {"1e-5", "0.00001"},
      {"12.50", "12.50"},
      {"+5", "5"},
      {".5", "0.5"},
      {"5.", "5"},
      {"007.1", "7.1"},
      {"0e100", "0"},
      {kMax, kMax},
      {"-" + kMax, "-" + kMax},
      {"1e37", "1" + std::string(37, '0')},
      {"0.0", "0.0"},
      {"123456789012345678.5", "123456789012345678.5"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(Text(Decimal::Parse(text)), printed) << text;
}

TEST(DecimalTest, RefusesWhatIsNoNumberAndWhatIsTooLong) {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "1.2.3", " 1", "1 ", "0x1", "1,5", "--1", "1e5.5"}) {
    EXPECT_EQ(Text(Decimal::Parse(text)), "not a number") << text;
  }
  for (const std::string& text : {kMax + "9", std::string("1e38"), std::string("1e999999999999999999"), "1." + kMax,
                                  std::string("1e-99999999")}) {
    EXPECT_EQ(Text(Decimal::Parse(text)), kOverflowText) << text;
  }
  for (const char* text : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(Decimal::Parse(text).error(), DecimalError::kNotFinite);
  }
}

TEST(DecimalTest, AddsAndMultipliesExactly) {
  EXPECT_EQ(Text(D("0.1").Add(D("0.2"))), "0.3");
  EXPECT_EQ(Text(D("1.50").Subtract(D("1.5"))), "0.00");
  EXPECT_EQ(Text(D("1.5").Multiply(D("-2.25"))), "-3.375");
  EXPECT_EQ(Text(D(kMax).Add(D("1"))), kOverflowText);
  EXPECT_EQ(Text(D(kMax).Add(D("-1"))), std::string(37, '9') + "8");
  EXPECT_EQ(Text(D("1e30").Add(D("1e-9"))), kOverflowText);
  EXPECT_EQ(Text(D("1e19").Multiply(D("1e19"))), kOverflowText);
  EXPECT_EQ(Text(D("1e18").Multiply(D("1e19"))), "1" + std::string(37, '0'));
  EXPECT_EQ(Text(D("-9223372036854775808").Multiply(D("9223372036854775807"))),
            "-85070591730234615856620279821087277056");
}

// Each result was taken from PostgreSQL 15.
TEST(DecimalTest, DividesWithThePrecisionOfPostgres) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"1", "3", "0.33333333333333333333"},
      {"10", "3", "3.3333333333333333"},
      {"2", "3", "0.66666666666666666667"},
      {"-7", "2", "-3.5000000000000000"},
      {"1", "10000", "0.000100000000000000000000"},
      {"100000", "3", "33333.333333333333"},
      {"123456789.123", "0.001", "123456789123.00000000"},
      {"0", "3", "0.00000000000000000000"},
      {"0.000001", "3", "0.000000333333333333333333"},
      {"1", "99999999999999999999", "0.000000000000000000010000000000000000"},
      {"1.000000000000000000000000000000", "3", "0.333333333333333333333333333333"},
  };
  for (const auto& [a, b, quotient] : cases) EXPECT_EQ(Text(D(a).Divide(D(b))), quotient) << a << " / " << b;
  EXPECT_EQ(Text(D("1").Divide(D("0.00"))), "division by zero");
  EXPECT_EQ(Text(D(kMax).Divide(D("0.1"))), kOverflowText);
}

TEST(DecimalTest, ModuloTakesTheSignOfTheDividend) {
  EXPECT_EQ(Text(D("-7").Modulo(D("3"))), "-1");
  EXPECT_EQ(Text(D("7.5").Modulo(D("-2"))), "1.5");
  EXPECT_EQ(Text(D("1").Modulo(D("0.30"))), "0.10");
  EXPECT_EQ(Text(D("0.00001").Modulo(D(kMax))), "0.00001");
  EXPECT_EQ(Text(D("1").Modulo(D("0"))), "division by zero");
}

TEST(DecimalTest, RoundsHalfAwayFromZero) {
  EXPECT_EQ(Text(D("2.5").Round(0)), "3");
  EXPECT_EQ(Text(D("-2.5").Round(0)), "-3");
  EXPECT_EQ(Text(D("2.449").Round(1)), "2.4");
  EXPECT_EQ(Text(D("1250").Round(-2)), "1300");
  EXPECT_EQ(Text(D("49").Round(-2)), "0");
  EXPECT_EQ(Text(D("1.5").Round(3)), "1.500");
  EXPECT_EQ(Text(D("-2.99").Trunc(0)), "-2");
  EXPECT_EQ(Text(D("-2.01").Floor()), "-3");
  EXPECT_EQ(Text(D("-2.99").Ceil()), "-2");
  EXPECT_EQ(Text(D("2.01").Ceil()), "3");
  EXPECT_EQ(Text(D("0.4").Round(-2000)), "0");
  EXPECT_EQ(Text(D(kMax).Round(-1)), kOverflowText);
  EXPECT_EQ(D("0.5").ToInt64(), 1);
  EXPECT_EQ(D("9223372036854775807.4").ToInt64(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(D("9223372036854775807.5").ToInt64(), std::nullopt);
}

TEST(DecimalTest, ComparesWhateverTheScales) {
  EXPECT_EQ(D("1.0").Compare(D("1")), 0);
  EXPECT_EQ(D(kMax).Compare(D("0.00001")), 1);
  EXPECT_EQ(D("-1").Compare(D("0.00000000000000000000000000000000000001")), -1);
  EXPECT_EQ(D("-" + kMax).Compare(D("-0.1")), -1);
}

TEST(DecimalTest, NumberTextsAreInTheirExactOrderAtAnyLength) {
  const std::string googol = "1" + std::string(100, '0');
  const std::vector<std::string> rising = {"-Infinity",
                                           "-1e1000000",
                                           "-" + googol,
                                           "-9223372036854775809",
                                           "-9223372036854775808",
                                           "-1.5",
                                           "-1e-400",
                                           "0",
                                           "1e-400",
                                           "0.1",
                                           "0.10000000000000000000000000000000000000000001",
                                           "1",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775807.00000000000000000000001",
                                           googol,
                                           googol + ".1",
                                           "1e1000000",
                                           "Infinity",
                                           "NaN"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(CompareNumbers(rising[i], rising[j]), i < j ? -1 : (i > j ? 1 : 0))
          << rising[i] << " with " << rising[j];
    }
  }
  EXPECT_EQ(CompareNumbers(googol, "1E+100"), 0);
  EXPECT_EQ(CompareNumbers("-0.0", "0e7"), 0);
  EXPECT_EQ(CompareNumberWithInt64("9223372036854775807.5", std::numeric_limits<int64_t>::max()), 1);
  EXPECT_EQ(CompareNumberWithInt64("-9223372036854775808.0", std::numeric_limits<int64_t>::min()), 0);
  EXPECT_EQ(CompareNumberWithInt64("12.50", 13), -1);
}

TEST(DecimalTest, EqualNumbersHaveOneCanonicalText) {
  for (const char* text : {"100", "100.00", "1E2", "1e+2", "10000e-2", "0100"})
    EXPECT_EQ(Canonical(text), "100") << text;
  for (const char* text : {"0", "-0", "0.000", "0e99"}) EXPECT_EQ(Canonical(text), "0") << text;
  for (const char* text : {"-0.0250", "-25e-3", "-.025"}) EXPECT_EQ(Canonical(text), "-0.025") << text;
  EXPECT_EQ(Canonical("123.4500"), "123.45");
  EXPECT_EQ(Canonical("9223372036854775808"), "9223372036854775808");
  EXPECT_EQ(Canonical("1" + std::string(60, '0')), Canonical("1e60"));
  EXPECT_EQ(Canonical("1.5e-1000"), Canonical("15e-1001"));
  EXPECT_EQ(Canonical("NaN"), "NaN");
  EXPECT_EQ(NumberAsInt64("7E+3"), 7000);
  EXPECT_EQ(NumberAsInt64("5.00"), 5);
  EXPECT_EQ(NumberAsInt64("5.01"), std::nullopt);
  EXPECT_EQ(NumberAsInt64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(NumberAsInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(NumberAsInt64("1e9999999"), std::nullopt);
}

TEST(DecimalTest, DoublesPrintAsPostgresPrintsThem) {
  const auto text = [](double value) {
    std::array<char, 32> buffer{};
    return std::string(buffer.data(), DoubleToText(value, buffer.data()));
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-0.0), "-0");
  EXPECT_EQ(text(1e14), "100000000000000");
  EXPECT_EQ(text(1e15), "1e+15");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(Text(Decimal::FromDouble(0.1)), "0.1");
  EXPECT_EQ(Text(Decimal::FromDouble(1.0 / 3)), "0.333333333333333");
}

}  // namespace
}  // namespace weir::operators
