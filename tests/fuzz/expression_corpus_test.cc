// Replays the fuzzer's corpus, and changed copies of it, without the fuzzer.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weir::fuzz {
namespace {

int RunOne(const std::string& text) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::vector<std::string> Corpus() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_SOURCE_DIR "/tests/fuzz/corpus/expression")) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

TEST(ExpressionCorpusTest, EveryTextIsRefusedOrEvaluated) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 10U);
  for (const std::string& text : corpus) EXPECT_EQ(RunOne(text), 0);
}

TEST(ExpressionCorpusTest, SoIsEveryBeginningAndEveryTextWithAChangedPiece) {
  const std::vector<std::string> corpus = Corpus();
  std::mt19937_64 random(1);
  for (const std::string& text : corpus) {
    for (size_t n = 0; n <= text.size(); ++n) EXPECT_EQ(RunOne(text.substr(0, n)), 0);
    for (int i = 0; i < 200; ++i) {
      std::string changed = text;
      const std::string& other = corpus[random() % corpus.size()];
      const size_t from = random() % (other.size() + 1);
      changed.replace(random() % (changed.size() + 1), random() % 4, other.substr(from, random() % 12));
      if (!changed.empty() && random() % 2 == 0) changed[random() % changed.size()] = static_cast<char>(random() % 256);
      EXPECT_EQ(RunOne(changed), 0);
    }
  }
}

}  // namespace
}  // namespace weir::fuzz
