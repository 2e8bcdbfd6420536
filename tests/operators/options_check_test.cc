#include "operators/options_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

std::vector<OptionSpec> Specs() {
  OptionSpec retries{"retries", OptionType::kInteger, false, "3", ""};
  retries.min = 0;
  retries.max = 10;
  OptionSpec linger{"linger", OptionType::kDuration, false, "5ms", ""};
  linger.min = 1;
  OptionSpec mode{"mode", OptionType::kEnum, false, "fast", ""};
  mode.choices = {"fast", "safe"};
  OptionSpec password{"password", OptionType::kInteger, false, "", ""};
  password.secret = true;
  OptionSpec nested{"tls", OptionType::kObject, false, "{}", ""};
  nested.members = {{"verify", OptionType::kBool, false, "true", ""}};
  OptionSpec columns{"columns", OptionType::kObjectMap, false, "", ""};
  columns.members = {{"type", OptionType::kString, true, "", ""}};
  return {{"topics", OptionType::kStringList, true, "", ""},
          retries,
          linger,
          {"buffer", OptionType::kBytes, false, "64MiB", ""},
          mode,
          password,
          nested,
          columns,
          {"properties", OptionType::kStringMap, false, "", ""}};
}

OperatorType TestType() {
  OperatorType type;
  type.options = Specs();
  return type;
}

TEST(OptionsCheckTest, FillsInDefaults) {
  const Options options = OptionsOf(Specs(), R"({"topics": "orders"})");
  EXPECT_EQ(options.Strings("topics"), std::vector<std::string>{"orders"});
  EXPECT_EQ(options.Integer("retries"), 3);
  EXPECT_EQ(options.Time("linger"), std::chrono::milliseconds(5));
  EXPECT_EQ(options.Integer("buffer"), 64 << 20);
  EXPECT_EQ(options.String("mode"), "fast");
  EXPECT_TRUE(options.Object("tls").Bool("verify"));
  EXPECT_FALSE(options.Has("columns"));
  EXPECT_TRUE(options.ObjectMap("columns").empty());
}

TEST(OptionsCheckTest, TakesWhatIsGiven) {
  const Options options =
      OptionsOf(Specs(), R"({"topics": ["a", "b"], "retries": 1e1, "linger": "2m", "buffer": 1000, "mode": "safe",
      "tls": {"verify": false}, "columns": {"z": {"type": "x"}, "a": {"type": "y"}}, "properties": {"a.b": 5,
        "c": true}})");
  EXPECT_EQ(options.Strings("topics").size(), 2U);
  EXPECT_EQ(options.Integer("retries"), 10);
  EXPECT_EQ(options.Time("linger"), std::chrono::minutes(2));
  EXPECT_EQ(options.Integer("buffer"), 1000);
  EXPECT_FALSE(options.Object("tls").Bool("verify"));
  EXPECT_EQ(options.ObjectMap("columns").front().first, "z");
  EXPECT_EQ(options.ObjectMap("columns").back().second.path(), "/columns/a");
  EXPECT_EQ(options.StringMap("properties").front().second, "5");
  EXPECT_EQ(options.StringMap("properties").back().second, "true");
}

TEST(OptionsCheckTest, ReportsEveryProblemAtOnce) {
  const Rows problems =
      ProblemsOf(TestType(), R"({"retrys": 1, "retries": 11, "linger": "5 years", "buffer": -1, "mode": "saef",
      "tls": {"verify": "no", "x/y": 1}, "columns": {"a": {}}, "properties": [1]})");
  const Rows expected = {
      "/retrys: unknown key \"retrys\" (did you mean \"retries\"?)",
      "/retries: \"retries\" is too large",
      "/linger: \"linger\" is not a duration",
      "/buffer: \"buffer\" is not a size",
      "/mode: unknown mode \"saef\" (did you mean \"safe\"?)",
      "/tls/verify: \"verify\" is a string",
      "/tls/x~1y: unknown key \"x/y\"",
      "/columns/a/type: required key \"type\" is missing",
      "/properties: \"properties\" is a list",
      "/topics: required key \"topics\" is missing",
  };
  EXPECT_EQ(problems, expected);
}

TEST(OptionsCheckTest, NeverPrintsASecret) {
  RawValue raw;
  raw.kind = RawKind::kObject;
  RawValue password;
  password.kind = RawKind::kString;
  password.text = "hunter2";
  raw.members.emplace_back("password", password);
  password.secret = true;
  raw.members.emplace_back("mode", password);
  raw.members.emplace_back("topics", password);
  Problems problems;
  CheckOptions(raw, Specs(), problems);
  ASSERT_EQ(problems.size(), 2U);
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.value, "<secret>");
    EXPECT_EQ(problem.message.find("hunter2"), std::string::npos);
  }
}

TEST(OptionsCheckTest, RefusesAReferenceInAnExpressionBecauseErrorsQuoteIt) {
  RawValue raw;
  raw.kind = RawKind::kObject;
  RawValue where;
  where.kind = RawKind::kString;
  where.text = "token = 'hunter2'";
  where.secret = true;
  raw.members.emplace_back("where", where);
  Problems problems;
  CheckOptions(raw, std::vector<OptionSpec>{{"where", OptionType::kExpression, true, "", ""}}, problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].value, "<secret>");
  EXPECT_NE(problems[0].message.find("can't hold a reference"), std::string::npos);
}

TEST(OptionsCheckTest, ReadsDurationsSizesAndIntegers) {
  EXPECT_EQ(ParseDurationMs("500ms"), 500);
  EXPECT_EQ(ParseDurationMs("1d"), 86'400'000);
  EXPECT_EQ(ParseDurationMs("10"), 10);
  EXPECT_EQ(ParseDurationMs("2562047h"), 9'223'369'200'000) << "as long as nanoseconds can say";
  EXPECT_EQ(ParseDurationMs("2562048h"), std::nullopt);
  for (const char* bad : {"", "s", "5x", "-5s", "5 s", "1.5s", "99999999999999999999s", "9223372036854775807h"}) {
    EXPECT_EQ(ParseDurationMs(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(ParseBytes("64MiB"), 64 << 20);
  EXPECT_EQ(ParseBytes("3 GB"), 3'000'000'000);
  EXPECT_EQ(ParseBytes("10kB"), 10'000);
  for (const char* bad : {"", "MiB", "5mib", "-5B", "9000000TiB"}) EXPECT_EQ(ParseBytes(bad), std::nullopt) << bad;
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseInteger("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseInteger("2.50e1"), 25);
  EXPECT_EQ(ParseInteger("2.5"), std::nullopt);
  EXPECT_EQ(ParseInteger("0e999"), 0);
  EXPECT_EQ(ParseInteger("1e999"), std::nullopt);
}

TEST(OptionsCheckTest, SuggestsTheNearestName) {
  const std::vector<std::string> known = {"where", "columns", "checkpoint"};
  EXPECT_EQ(SuggestName("wher", known), "where");
  EXPECT_EQ(SuggestName("chekcpoint", known), "checkpoint");
  EXPECT_EQ(SuggestName("Columns", known), "columns");
  EXPECT_EQ(SuggestName("zebra", known), "");
}

TEST(RegistryTest, HoldsEveryOperator) {
  Registry registry;
  RegisterOperators(registry);
  for (const char* name :
       {"aggregate", "deduplicate", "filter", "key_by", "project", "route", "script", "sequence", "union"}) {
    ASSERT_NE(registry.FindOperator(name), nullptr) << name;
    EXPECT_FALSE(registry.FindOperator(name)->doc.empty()) << name;
  }
  EXPECT_EQ(registry.FindOperator("no"), nullptr);
}

}  // namespace
}  // namespace weir::operators
