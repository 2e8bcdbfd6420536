#include "jobs/position_edit.h"

#include <gtest/gtest.h>

namespace weir::jobs {
namespace {

std::string Changed(const std::string& position, const std::string& change) {
  const auto changed = ChangePosition(position, change);
  return changed.has_value() ? *changed : changed.error().ToString();
}

TEST(PositionEditTest, ANumberIsTheOffsetWhereNothingElseDependsOnIt) {
  EXPECT_EQ(Changed(R"({"offset":42})", "7"), R"({"offset":7})");
  EXPECT_EQ(Changed(R"({"offset":42,"end":100,"watermark":"17.0"})", "7"), R"({"offset":7,"end":100})");
  EXPECT_EQ(Changed(R"({"offset":42,"watermark":"17.0","until":"19.0"})", "7"), R"({"offset":7,"until":"19.0"})");
  EXPECT_EQ(Changed(R"({"row":42})", "9223372036854775807"), R"({"row":9223372036854775807})");
  EXPECT_NE(Changed(R"({"line":3,"offset":42})", "7").find("other members depend on it"), std::string::npos);
}

TEST(PositionEditTest, MembersReplaceThoseOfThePositionAndWhatTheOldPlaceHadMadeKnownGoes) {
  const std::string file = R"({"finished":true,"fingerprint":{"at":9,"hash":18446744073709551615},"line":3,"offset":9,)"
                           R"("watermark":"17.0"})";
  EXPECT_EQ(Changed(file, R"({"offset":0,"line":0})"),
            R"({"finished":false,"fingerprint":{"at":9,"hash":18446744073709551615},"line":0,"offset":0})");
  EXPECT_EQ(Changed(R"({"offset":1,"watermark":"17.0"})", R"({"offset":2,"watermark":"9.0"})"),
            R"({"offset":2,"watermark":"9.0"})");
  EXPECT_EQ(Changed(R"({"offset":1,"end":5})", R"({"end":null})"), R"({"offset":1})");
}

TEST(PositionEditTest, WhatDoesNotFitIsRefusedWithThePosition) {
  const std::string position = R"({"offset":42,"watermark":"17.0"})";
  for (const char* change : {"-1", "1.5", "\"7\"", "[7]", "{}", "nonsense", "", R"({"offest":7})", R"({"offset":"7"})",
                             R"({"offset":-7})", R"({"offset":9223372036854775808})", R"({"watermark":17})"}) {
    const auto changed = ChangePosition(position, change);
    ASSERT_FALSE(changed.has_value()) << change << " gives " << *changed;
    EXPECT_EQ(changed.error().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(changed.error().message().find(position), std::string::npos) << changed.error().message();
  }
  EXPECT_FALSE(ChangePosition("here", "7").has_value());
}

}  // namespace
}  // namespace weir::jobs
