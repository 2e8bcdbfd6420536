// The source tree keeps the house rules.
#include <gtest/gtest.h>

#include <string>

#include "tests/tidy/exceptions.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/source_file.h"

namespace weir::tidy {
namespace {

TEST(TidyTest, TheTreeKeepsTheHouseRules) {
  const std::vector<SourceFile> tree = ReadTree(WEIR_SOURCE_DIR);
  ASSERT_GT(tree.size(), 30U);
  const Judgement judgement = Judge(CheckTree(tree), Exceptions());
  std::string report;
  for (const Violation& violation : judgement.violations) report += violation.ToString() + "\n";
  for (const Exception& exception : judgement.unused) {
    report += exception.path + ": the exception for " + exception.subject + " [" + exception.rule +
              "] excuses nothing any more: delete it\n";
  }
  EXPECT_TRUE(report.empty()) << report;
}

TEST(TidyTest, EveryExceptionHasAReason) {
  for (const Exception& exception : Exceptions()) EXPECT_GT(exception.reason.size(), 10U) << exception.path;
}

}  // namespace
}  // namespace weir::tidy
