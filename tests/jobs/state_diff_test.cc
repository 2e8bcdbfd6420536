#include "jobs/state_diff.h"

#include <gtest/gtest.h>

namespace weir::jobs {
namespace {

using Lines = std::vector<std::string>;

StateOverview Overview() {
  StateOverview overview{.job = "job", .key_groups = 128, .operators = {}};
  overview.operators["in"] = {
      .parallelism = 2, .states = {}, .entries = {{"enumerator", "{}"}, {"split:a", R"({"offset":1})"}}};
  overview.operators["totals"] = {
      .parallelism = 2,
      .states = {{"groups", {.type = "value of int64", .entries = 3, .bytes = 30, .digest = 5}}},
      .entries = {}};
  return overview;
}

TEST(StateDiffTest, TheSameHasNoDifference) { EXPECT_EQ(Differences(Overview(), Overview()), Lines{}); }

TEST(StateDiffTest, EachDifferenceIsALine) {
  StateOverview other = Overview();
  other.operators["in"].entries["split:a"] = R"({"offset":2})";
  other.operators["in"].entries["split:b"] = R"({"offset":0})";
  other.operators["in"].parallelism = 3;
  EXPECT_EQ(Differences(Overview(), other),
            (Lines{"operator in: parallelism: 2 -> 3", R"(operator in: split:a: {"offset":1} -> {"offset":2})",
                   "operator in: split:b: only in the second"}));
  other = Overview();
  other.operators["totals"].states["groups"].digest = 6;
  EXPECT_EQ(Differences(Overview(), other),
            Lines{"operator totals: state groups: 3 entries of 30 bytes, other values"});
  other.operators["totals"].states["groups"] = {.type = "value of bytes", .entries = 4, .bytes = 30, .digest = 6};
  other.operators["totals"].states["more"] = {};
  EXPECT_EQ(Differences(Overview(), other),
            (Lines{"operator totals: state groups: value of int64 -> value of bytes",
                   "operator totals: state groups: 3 entries of 30 bytes -> 4 entries of 30 bytes",
                   "operator totals: state more: only in the second"}));
  other = Overview();
  other.operators.erase("totals");
  other.key_groups = 256;
  EXPECT_EQ(Differences(Overview(), other), (Lines{"key groups: 128 -> 256", "operator totals: only in the first"}));
}

}  // namespace
}  // namespace weir::jobs
