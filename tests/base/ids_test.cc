#include "base/ids.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(UniqueIdTest, PrintsAndParses) {
  const UniqueId id{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(id.ToString(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(UniqueId::Parse(id.ToString()), id);
  EXPECT_EQ(UniqueId::Parse("0123456789ABCDEFFEDCBA9876543210"), id);
  EXPECT_EQ(UniqueId().ToString(), std::string(32, '0'));
  EXPECT_TRUE(UniqueId().empty());
  EXPECT_FALSE(id.empty());
}

TEST(UniqueIdTest, RefusesOtherTextAndShowsIt) {
  for (const std::string text : {"", "0", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
                                 "0123456789abcdeffedcba987654321g", "-123456789abcdeffedcba9876543210"}) {
    const auto id = UniqueId::Parse(text);
    ASSERT_FALSE(id.has_value()) << text;
    EXPECT_EQ(id.error().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(id.error().message().find("'" + text + "'"), std::string::npos);
  }
}

TEST(SubtaskIdTest, OrdersByVertexThenIndex) {
  EXPECT_LT((SubtaskId{1, 9}), (SubtaskId{2, 0}));
  EXPECT_LT((SubtaskId{1, 0}), (SubtaskId{1, 1}));
}

}  // namespace
}  // namespace weir
