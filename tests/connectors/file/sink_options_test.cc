#include <gtest/gtest.h>

#include <string>

#include "base/file_system.h"
#include "connectors/file/sink.h"
#include "tests/connectors/collected_output.h"

namespace weir::connectors {
namespace {

// What is wrong with a file sink "out" that has this prefix, each problem in a line.
std::string ProblemsOf(const std::string& prefix) {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  const operators::SinkType type = FileSinkType(*fs, "/");
  std::vector<operators::OptionSpec> specs = type.options;
  specs.push_back({.name = "id", .doc = "As every node has one."});
  operators::Problems problems;
  const operators::Options options =
      OptionsOf(specs, {{"id", RawText("out")}, {"path", RawText("/parts")}, {"prefix", RawText(prefix)}}, problems);
  type.check(options, problems);
  std::string text;
  for (const operators::Problem& problem : problems) {
    text += problem.path + ": " + problem.message + ", expected " + problem.expected + "\n";
  }
  return text;
}

TEST(FileSinkOptionsTest, APrefixIsTheBeginningOfAVisibleNameThatFits) {
  EXPECT_EQ(ProblemsOf("part"), "");
  EXPECT_EQ(ProblemsOf("a.b-c_d"), "");
  EXPECT_EQ(ProblemsOf(".part"),
            "/prefix: files whose names begin with a dot are hidden, expected a prefix without a dot in front\n");
  EXPECT_EQ(ProblemsOf("a/b"), "/prefix: a / would be the name of a folder (see path), expected a prefix without /\n");
  // <prefix>-out-<16 digits>-<10 digits>-<20 digits>.jsonl
  constexpr size_t kRest = 1 + 3 + 1 + 16 + 1 + 10 + 1 + 20 + 6;
  EXPECT_EQ(ProblemsOf(std::string(255 - kRest, 'p')), "");
  EXPECT_EQ(
      ProblemsOf(std::string(300, 'p')),
      "/prefix: with id, attempt, subtask and sequence the names of parts could have 359 bytes, and a file's name "
      "has at most 255, expected a prefix of at most 196 bytes\n");
  // Other characters are written with three.
  EXPECT_EQ(ProblemsOf(std::string(65, ' ')), "");
  EXPECT_NE(ProblemsOf(std::string(66, ' ')), "");
}

}  // namespace
}  // namespace weir::connectors
