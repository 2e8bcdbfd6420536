// Numbers, escapes and the walk that finds what is wrong.
#include "connectors/format/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::connectors {
namespace {

using operators::ValueType;

TEST(JsonTextTest, KeepsIntegersExactUpToTheLastOne) {
  for (const char* text : {"0", "7", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808"}) {
    const auto value = ParseJsonNumber(text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(value->type(), ValueType::kInt64) << text;
    EXPECT_EQ(std::to_string(value->int64_value()), text);
  }
}

TEST(JsonTextTest, KeepsAnyOtherNumberAsItsText) {
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "18446744073709551616", "0.10", "7E+3", "-0",
                           "1e400", "123456789012345678901234567890.5", "-0.0e-0"}) {
    const auto value = ParseJsonNumber(text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(value->type(), ValueType::kDecimal) << text;
    EXPECT_EQ(value->text(), text);
  }
}

TEST(JsonTextTest, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 ", "NaN", "Infinity", "1.2.3", "--1"}) {
    EXPECT_FALSE(ParseJsonNumber(text).has_value()) << text;
  }
}

TEST(JsonTextTest, UnescapesEveryEscape) {
  const std::string escaped = R"(a\"\\\/\b\f\n\r\tz\u0041\u00e9\u20ac\ud83d\ude00\u0000)";
  std::string out(escaped.size(), '?');
  const auto size = UnescapeJson(escaped, out.data());
  ASSERT_TRUE(size.has_value());
  out.resize(*size);
  EXPECT_EQ(out, std::string("a\"\\/\b\f\n\r\tzA\u00e9\u20ac\U0001F600") + '\0');
}

TEST(JsonTextTest, RefusesHalfASurrogatePair) {
  for (const char* text :
       {R"(\ud83d)", R"(\ud83dx)", R"(\ude00)", R"(\ud83d\u0041)", R"(\u12)", R"(\u12g4)", R"(\x)", "\\"}) {
    std::string out(64, ' ');
    EXPECT_FALSE(UnescapeJson(text, out.data()).has_value()) << text;
  }
}

TEST(JsonTextTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    size_t offset;
    const char* what;
  } cases[] = {
      {R"({"a":1 "b":2})", 7, "expected ',' or '}', found '\"'"},
      {R"({"a":1)", 6, "expected ',' or '}', found the end of the text"},
      {R"({"a":tru})", 5, "expected a value, found a word that is none of true, false, null"},
      {R"({"a":01})", 5, "expected a number, found '01'"},
      {R"({a:1})", 1, "expected a member name in quotes, found 'a'"},
      {"{\"a\":\"\xff\"}", 6, "invalid UTF-8"},
      {"{\"a\":\"x\ny\"}", 7, "expected no control character inside a string, found byte 10"},
      {R"({"a":"\q"})", 6, "an escape that JSON does not have"},
      {R"({"a":"b)", 5, "a string without its closing quote"},
      {R"({} x)", 3, "expected the end of the text, found 'x'"},
      {"", 0, "expected a value, found the end of the text"},
  };
  for (const auto& each : cases) {
    const auto problem = FindJsonProblem(each.text);
    ASSERT_TRUE(problem.has_value()) << each.text;
    EXPECT_EQ(problem->offset, each.offset) << each.text;
    EXPECT_EQ(problem->what, each.what) << each.text;
  }
  EXPECT_FALSE(FindJsonProblem(R"( {"a": [1, {"b": null}], "c": "é"} )").has_value());
}

TEST(JsonTextTest, RefusesNestingWithoutEnd) {
  EXPECT_FALSE(FindJsonProblem(std::string(100, '[') + std::string(100, ']')).has_value());
  const auto problem = FindJsonProblem(std::string(100'000, '['));
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->what, "nested deeper than 200");
}

}  // namespace
}  // namespace weir::connectors
