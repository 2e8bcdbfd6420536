#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir {
namespace {

Status Fail(bool fail) { return fail ? Status::NotFound("thing") : Status::Ok(); }
Result<std::unique_ptr<int>> Make(bool fail) {
  if (fail) return Error(Status::Unavailable("later"));
  return std::make_unique<int>(5);
}

Status PassesStatus(bool fail) {
  WEIR_RETURN_IF_ERROR(Fail(fail));
  return Status::IoError("after");
}
Result<int> PassesStatusAsResult(bool fail) {
  WEIR_RETURN_IF_ERROR(Fail(fail));
  return 1;
}
Result<int> PassesResult(bool fail) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<int> made, Make(fail));
  return *made;
}
Status PassesResultAsStatus(bool fail) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<int> made, Make(fail));
  WEIR_ASSIGN_OR_RETURN(made, Make(fail));
  return *made == 5 ? Status::Ok() : Status::Internal("wrong");
}

TEST(StatusTest, SaysWhatHappened) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().ToString(), "ok");
  EXPECT_EQ(Status::InvalidArgument("bad").ToString(), "invalid argument: bad");
  EXPECT_EQ(Status::Fenced("other").code(), StatusCode::kFenced);
}

TEST(StatusTest, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    EXPECT_NE(StatusCodeName(static_cast<StatusCode>(code)), "unknown");
  }
}

TEST(StatusTest, OnlyUnavailableIsWorthARetry) {
  EXPECT_TRUE(Status::Unavailable("x").retryable());
  EXPECT_FALSE(Status::IoError("x").retryable());
  EXPECT_FALSE(Status().retryable());
}

TEST(StatusTest, ContextGoesInFrontOfFailuresOnly) {
  EXPECT_EQ(Status::IoError("disk").WithContext("chk-7").ToString(), "i/o error: chk-7: disk");
  EXPECT_TRUE(Status().WithContext("chk-7").ok());
}

TEST(StatusTest, MacrosPassFailuresOn) {
  EXPECT_EQ(PassesStatus(true).code(), StatusCode::kNotFound);
  EXPECT_EQ(PassesStatus(false).message(), "after");
  EXPECT_EQ(PassesStatusAsResult(true).error().code(), StatusCode::kNotFound);
  EXPECT_EQ(PassesStatusAsResult(false), 1);
  EXPECT_EQ(PassesResult(true).error().message(), "later");
  EXPECT_EQ(PassesResult(false), 5);
  EXPECT_EQ(PassesResultAsStatus(true).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(PassesResultAsStatus(false).ok());
}

}  // namespace
}  // namespace weir
