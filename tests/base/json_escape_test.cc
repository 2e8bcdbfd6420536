// Against a slow, obviously right one.
#include "base/json_escape.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace weir {
namespace {

std::string Escaped(std::string_view text) {
  std::string out = "before ";
  AppendJsonString(out, text);
  EXPECT_TRUE(out.starts_with("before "));
  return out.substr(7);
}

TEST(JsonEscapeTest, EachByteAtEachPlaceOfAWord) {
  for (size_t length = 1; length <= 17; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 0x80; ++byte) {
        std::string text(length, 'x');
        text[at] = static_cast<char>(byte);
        // nlohmann's form is ours but for DEL, which both leave as it is.
        ASSERT_EQ(Escaped(text), nlohmann::json(text).dump()) << byte << " at " << at << " of " << length;
      }
    }
  }
}

TEST(JsonEscapeTest, LeavesOtherBytesAsTheyAre) {
  EXPECT_EQ(Escaped(""), "\"\"");
  EXPECT_EQ(Escaped("h\xc3\xb6her \xff\xfe\x80 and further"), "\"h\xc3\xb6her \xff\xfe\x80 and further\"");
}

TEST(JsonEscapeTest, HasRoomWhereEveryByteNeedsAnEscape) {
  const std::string text(1000, '\x01');
  std::string expected = "\"";
  for (size_t i = 0; i < text.size(); ++i) expected += "\\u0001";
  EXPECT_EQ(Escaped(text), expected + "\"");
  EXPECT_EQ(expected.size() + 1, JsonStringBytesMax(text));
}

}  // namespace
}  // namespace weir
