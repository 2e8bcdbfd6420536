// docs/changefeed_tests.md lists the tests that are named after a behaviour: all of them, and none that is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/tidy/source_file.h"

namespace weir::tidy {
namespace {

constexpr char kPage[] = "docs/changefeed_tests.md";

// Takes "B12_", "Weakness_c_" or "case_H52_" from the front of a test's name and answers the page's word for it: "B12",
// "Weakness c", "H52". Empty: it begins with none.
std::string TakeBehaviour(std::string_view& name) {
  const auto take = [&](std::string_view prefix, size_t letters, std::string word) -> std::string {
    const size_t size = prefix.size() + letters;
    if (!name.starts_with(prefix) || name.size() <= size || name[size] != '_') return {};
    for (const char c : name.substr(prefix.size(), letters)) {
      if (letters == 2 && std::isdigit(static_cast<unsigned char>(c)) == 0) return {};
    }
    word += name.substr(prefix.size(), letters);
    name.remove_prefix(size + 1);
    return word;
  };
  for (const auto& [prefix, letters, word] :
       {std::tuple("B", 2, "B"), std::tuple("Weakness_", 1, "Weakness "), std::tuple("case_H", 2, "H")}) {
    if (std::string behaviour = take(prefix, static_cast<size_t>(letters), word); !behaviour.empty()) return behaviour;
  }
  return {};
}

// The text up to the next , or ) without blanks; taken from the front.
std::string TakeWord(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(",)"), text.size());
  std::string word;
  for (const char c : text.substr(0, end)) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) word += c;
  }
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// Behaviour -> "`Suite.Name`" of each test.
std::map<std::string, std::set<std::string>> NamedTests(const std::vector<SourceFile>& tree) {
  std::map<std::string, std::set<std::string>> tests;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with("_test.cc")) continue;
    for (size_t at = 0; (at = file.text.find("\nTEST", at)) != std::string::npos; ++at) {
      std::string_view rest = std::string_view(file.text).substr(at);
      rest.remove_prefix(std::min(rest.find('('), rest.size() - 1) + 1);
      const std::string suite = TakeWord(rest);
      const std::string whole = TakeWord(rest);
      std::string_view name = whole;
      for (std::string behaviour = TakeBehaviour(name); !behaviour.empty(); behaviour = TakeBehaviour(name)) {
        tests[behaviour].insert("`" + suite + "." + whole + "`");
      }
    }
  }
  return tests;
}

std::set<std::string> Behaviours() {
  std::set<std::string> all = {"H49"};
  for (int i = 1; i <= 52; ++i) all.insert((i < 10 ? "B0" : "B") + std::to_string(i));
  for (char letter = 'a'; letter <= 'o'; ++letter) all.insert(std::string("Weakness ") + letter);
  for (int i = 52; i <= 59; ++i) all.insert("H" + std::to_string(i));
  return all;
}

TEST(NamedTestsTest, ThePageListsEachTestUnderWhatItShows) {
  const std::vector<SourceFile> tree = ReadTree(WEIR_SOURCE_DIR);
  const auto page = std::ranges::find(tree, kPage, &SourceFile::path);
  ASSERT_NE(page, tree.end());
  std::map<std::string, std::set<std::string>> tests = NamedTests(tree);
  std::set<std::string> missing = Behaviours();
  std::string fresh;
  for (const std::string_view line : Lines(page->text)) {
    const size_t second = line.find(" | ");
    const size_t third = line.find(" | ", second + 3);
    const std::string behaviour(line.starts_with("| ") && third < line.size() ? line.substr(2, second - 2) : "");
    if (missing.erase(behaviour) == 0) {
      fresh += std::string(line) + '\n';
      continue;
    }
    std::string cell;
    for (const std::string& test : tests[behaviour]) cell += (cell.empty() ? "" : ", ") + test;
    const std::string_view said = line.substr(third + 3);
    if (cell.empty()) cell = said.starts_with("none: ") ? said.substr(0, said.size() - 2) : "none: say why";
    fresh += std::string(line.substr(0, third + 3)) + cell + " |\n";
  }
  EXPECT_EQ(missing, std::set<std::string>()) << "behaviours without a row";
  const std::string path = std::string(WEIR_BINARY_DIR) + "/changefeed_tests.md";
  std::ofstream(path) << fresh;
  EXPECT_TRUE(fresh == page->text) << kPage << " is out of date: replace it by " << path;
  EXPECT_EQ(fresh.find("none: say why"), std::string::npos) << path;
}

}  // namespace
}  // namespace weir::tidy
