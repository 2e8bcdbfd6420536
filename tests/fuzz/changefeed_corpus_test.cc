// The fuzzer's corpus, and damaged copies of it, in every test run.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/random.h"
#include "tests/fuzz/changefeed_fuzz.h"

namespace weir::connectors {
namespace {

TEST(ChangefeedFuzzTest, ReplaysTheCorpusAndDamagedCopies) {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  const std::string folder = std::string(WEIR_SOURCE_DIR) + "/tests/fuzz/changefeed_corpus";
  const Result<std::vector<std::string>> names = fs->List(folder);
  ASSERT_TRUE(names.has_value()) << names.error().ToString();
  EXPECT_GE(names->size(), 20U);
  SeededRandom random(1);
  for (const std::string& name : *names) {
    const std::string text = *ReadFile(*fs, JoinPath(folder, name));
    FuzzChangefeed(text);
    for (size_t cut = 0; cut < text.size(); ++cut) FuzzChangefeed(text.substr(0, cut));
    for (int i = 0; i < 300 && !text.empty(); ++i) {
      std::string damaged = text;
      for (uint64_t n = random.Below(3) + 1; n > 0; --n) {
        damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      }
      FuzzChangefeed(damaged);
    }
  }
}

}  // namespace
}  // namespace weir::connectors
