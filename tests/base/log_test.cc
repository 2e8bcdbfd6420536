#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

std::string Captured(void (*log)()) {
  testing::internal::CaptureStderr();
  log();
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, WritesTimeLevelAndText) {
  const std::string line = Captured([] { LogWarning("the sink is down"); });
  EXPECT_TRUE(line.ends_with("Z warning the sink is down\n")) << line;
  EXPECT_EQ(line.find('T'), 10U) << line;
}

TEST(LogTest, DropsWhatIsBelowTheLevel) {
  EXPECT_EQ(Captured([] { LogDebug("not shown"); }), "");
  SetLogLevel(LogLevel::kDebug);
  EXPECT_NE(Captured([] { LogDebug("shown"); }), "");
  SetLogLevel(LogLevel::kError);
  EXPECT_EQ(Captured([] { LogWarning("not shown"); }), "");
  EXPECT_NE(Captured([] { LogError("shown"); }), "");
  SetLogLevel(LogLevel::kInfo);
}

TEST(LogTest, KeepsARecordOnOneLineAndTakesBracesAsTheyAre) {
  const std::string line = Captured([] { LogInfo("first\nsecond\r{} {0} %v"); });
  EXPECT_TRUE(line.ends_with(" info first\\nsecond\\r{} {0} %v\n")) << line;
}

TEST(LogTest, ControlCharactersDoNotReachATerminal) {
  const std::string line = Captured([] { LogInfo("a\x1b[31mb\x7f\tc \xc3\xa9"); });
  EXPECT_TRUE(line.ends_with(" info a\\x1b[31mb\\x7f\tc \xc3\xa9\n")) << line;
}

TEST(LogTest, ManyThreadsWriteWholeLines) {
  const std::string text = Captured([] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) LogInfo("line of a thread");
      });
    }
  });
  size_t lines = 0;
  for (size_t at = text.find(" info line of a thread\n"); at != std::string::npos;
       at = text.find(" info line of a thread\n", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 400U);
}

}  // namespace
}  // namespace weir
