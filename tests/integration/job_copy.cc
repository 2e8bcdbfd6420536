#include "tests/integration/job_copy.h"

#include <signal.h>

#include <chrono>
#include <filesystem>

#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

constexpr int kTakenOver = 4;

}  // namespace

Weir CopyTest::Begin(Arguments more) {
  more.insert(more.begin(), {"run", definition_, "--quiet"});
  return {folder_, std::move(more)};
}

void CopyTest::CopyStorage(const std::string& to) const {
  for (const std::string& file : FilesUnder(Storage())) {  // without the control socket
    const std::filesystem::path target = to + file.substr(Storage().size());
    std::filesystem::create_directories(target.parent_path());
    std::filesystem::copy_file(file, target);
  }
}

std::string CopyTest::ACopyTakesOver(Weir& first) {
  const std::string copy = folder_.Path("copy");
  CopyStorage(copy);
  Feed(500);
  Weir second = Begin({"--set", "checkpoint.storage=" + copy});
  EXPECT_TRUE(AllOut()) << second.Output();
  first.Signal(SIGCONT);
  EXPECT_EQ(first.Wait(std::chrono::seconds(30)), kTakenOver) << first.Output();
  ExpectSays(first.Output(), {"has been taken over"});
  Feed(500);
  EXPECT_TRUE(AllOut()) << second.Output();
  EXPECT_EQ(second.Stop(), kOk) << second.Output();
  ExpectExact();
  std::filesystem::remove_all(Storage());
  std::filesystem::rename(copy, Storage());
  return second.Output();
}

void CopyTest::AnOlderCopyIsRefused(const std::string& system) {
  Weir first = Begin();
  Feed(200);
  ASSERT_TRUE(AllOut()) << first.Output();
  const std::string copy = folder_.Path("copy");
  first.Freeze();
  CopyStorage(copy);
  first.Signal(SIGCONT);
  for (int i = 1; i <= 5; ++i) {  // more checkpoints than are retained
    Feed(200);
    ASSERT_TRUE(AllOut()) << first.Output();
  }
  const Ended second = RunToEnd(folder_, {"run", definition_, "--set", "checkpoint.storage=" + copy});
  EXPECT_EQ(second.code, kStartRefused) << second.output;
  ExpectSays(second.output, {"system " + system, "was not started"});
  Feed(200);
  ASSERT_TRUE(AllOut()) << first.Output();
  EXPECT_EQ(first.Stop(), kOk) << first.Output();
  ExpectExact();
}

}  // namespace weir::job_test
