// Replays a fuzzer's corpus, and damaged copies of it, without the fuzzer: in every test run and under the sanitizers.
// Linked with one fuzz target; WEIR_FUZZ_CORPUS is its folder below tests/fuzz/corpus.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weir::fuzz {
namespace {

void RunOne(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::vector<std::string> Corpus() {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  const std::string folder = std::string(WEIR_SOURCE_DIR) + "/tests/fuzz/corpus/" + WEIR_FUZZ_CORPUS;
  const Result<std::vector<std::string>> names = fs->List(folder);
  EXPECT_TRUE(names.has_value());
  std::vector<std::string> texts;
  if (!names.has_value()) return texts;
  for (const std::string& name : *names) texts.push_back(*ReadFile(*fs, JoinPath(folder, name)));
  return texts;
}

TEST(FuzzCorpusTest, HoldsAndIsReplayed) {
  const std::vector<std::string> corpus = Corpus();
  EXPECT_GE(corpus.size(), 10U);
  RunOne("");
  for (const std::string& text : corpus) RunOne(text);
}

TEST(FuzzCorpusTest, SoAreItsDamagedCopies) {
  SeededRandom random(1);
  for (const std::string& text : Corpus()) {
    if (text.empty()) continue;
    for (int i = 0; i < 30; ++i) {
      RunOne(text.substr(0, random.Below(text.size())));
      std::string damaged = text;
      for (uint64_t n = 1 + random.Below(3); n > 0; --n) {
        damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      }
      RunOne(damaged);
    }
  }
}

}  // namespace
}  // namespace weir::fuzz
