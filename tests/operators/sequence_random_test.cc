// `sequence` against a slow oracle: all rows that came, in a list for each time and key, folded when a watermark
// passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "operators/sequence.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

using Columns = std::map<std::string, std::string>;

struct Arrival {
  std::string kind;
  Columns columns;
};

Columns Over(Columns over, const Columns& under) {
  over.insert(under.begin(), under.end());
  return over;
}

std::string TextOf(const std::string& kind, int64_t key, const Columns& columns) {
  std::string text = kind + " {\"k\":" + std::to_string(key);
  for (const auto& [name, value] : columns) text += ",\"" + name + "\":" + value;
  return text + "}";
}

// Members in order of their names, "k" first.
std::string Canonical(const std::string& row) {
  Columns columns;
  std::string key;
  std::string members = row.substr(4, row.size() - 5);
  for (size_t at = 0; at < members.size();) {
    const size_t end = std::min(members.find(",\"", at), members.size());
    const size_t colon = members.find("\":", at);
    const std::string name = members.substr(at + 1, colon - at - 1);
    const std::string value = members.substr(colon + 2, end - colon - 2);
    if (name == "k") {
      key = value;
    } else {
      columns[name] = value;
    }
    at = end + 1;
  }
  return TextOf(row.substr(0, 2), std::stoll(key), columns);
}

class Oracle {
 public:
  void Add(int64_t time, int64_t key, Arrival arrival) {
    if (time <= watermark_) {
      ++stale_;
    } else {
      waiting_[{time, key}].push_back(std::move(arrival));
    }
  }

  Rows Release(int64_t watermark) {
    Rows rows;
    watermark_ = std::max(watermark_, watermark);
    while (!waiting_.empty() && waiting_.begin()->first.first <= watermark) {
      Fold(waiting_.begin()->first.second, waiting_.begin()->second, rows);
      waiting_.erase(waiting_.begin());
    }
    return rows;
  }

  int stale() const { return stale_; }

 private:
  static void Fold(int64_t key, const std::vector<Arrival>& arrivals, Rows& rows) {
    std::optional<Columns> before;
    std::optional<Arrival> after;
    for (const Arrival& each : arrivals) {
      const bool deleted = after.has_value() && after->kind == "-D";
      if (each.kind == "-U") {
        if (!deleted) before = before.has_value() ? Over(*before, each.columns) : each.columns;
      } else if (!after.has_value()) {
        after = each;
      } else if (deleted == (each.kind == "-D")) {
        after = Arrival{each.kind, Over(each.columns, after->columns)};
      } else if (deleted) {
        if (!before.has_value()) before = after->columns;
        after = each;
      } else {
        after = Arrival{"-D", before.has_value() ? Over(*before, each.columns) : each.columns};
        before.reset();
      }
    }
    if (before.has_value()) rows.push_back(TextOf("-U", key, *before));
    if (after.has_value()) rows.push_back(TextOf(after->kind, key, after->columns));
  }

  int64_t watermark_ = -1;
  int stale_ = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<Arrival>> waiting_;
};

Arrival RandomArrival(Random& random, const std::string& filler) {
  Arrival arrival;
  const uint64_t kind = random.Below(10);
  arrival.kind = kind < 2 ? "-U" : (kind < 4 ? "-D" : (kind < 7 ? "+U" : "+I"));
  for (const char* name : {"a", "b", "c"}) {
    if (random.OneIn(2)) continue;
    arrival.columns[name] = random.OneIn(4) ? "null" : "\"" + std::to_string(random.Below(3)) + filler + "\"";
  }
  return arrival;
}

struct RandomCase {
  HarnessMode mode = HarnessMode::kPlain;
  uint64_t state_bytes = 64 << 20;
  int inputs = 150;
  std::string filler = {};
};

class SequenceRandomTest : public testing::TestWithParam<RandomCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, SequenceRandomTest,
    testing::Values(RandomCase{.inputs = 3000}, RandomCase{.mode = HarnessMode::kRestore},
                    RandomCase{.mode = HarnessMode::kRescale},
                    RandomCase{.state_bytes = 1 << 20, .inputs = 3000, .filler = std::string(400, 'x')}),
    [](const auto& each) { return HarnessModeName(each.param.mode) + (each.param.filler.empty() ? "" : "Spilled"); });

TEST_P(SequenceRandomTest, EqualsTheSlowWay) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    SeededRandom random(seed);
    OperatorTestHarness harness(SequenceType(), "{}",
                                {.mode = GetParam().mode, .keys = {"k"}, .state_bytes = GetParam().state_bytes});
    Oracle oracle;
    int64_t watermark = 0;
    for (int input = 0; input < GetParam().inputs; ++input) {
      Rows rows;
      for (uint64_t i = 0; i < 1 + random.Below(4); ++i) {
        const auto key = static_cast<int64_t>(random.Below(8));
        const int64_t time = std::max<int64_t>(0, watermark - 3) + static_cast<int64_t>(random.Below(60));
        Arrival arrival = RandomArrival(random, GetParam().filler);
        std::string text = TextOf(arrival.kind, key, arrival.columns);
        text.back() = ',';
        rows.push_back(text + "\"@time\":" + std::to_string(time) + "}");
        oracle.Add(time, key, std::move(arrival));
      }
      ASSERT_TRUE(harness.Process(rows).ok());
      EXPECT_EQ(harness.Take(), Rows{});
      if (!random.OneIn(5)) continue;
      watermark += static_cast<int64_t>(random.Below(20));
      ASSERT_TRUE(harness.ProcessWatermark({EventTime{watermark, 0}}).ok());
      Rows found = harness.Take();
      std::transform(found.begin(), found.end(), found.begin(), Canonical);
      Rows expected = oracle.Release(watermark);
      if (GetParam().mode == HarnessMode::kRescale) {  // the order is of each subtask
        std::sort(found.begin(), found.end());
        std::sort(expected.begin(), expected.end());
      }
      ASSERT_EQ(found, expected) << "seed " << seed << ", input " << input;
    }
    EXPECT_EQ(harness.NamedMetric("rows_stale"), oracle.stale());
    ASSERT_TRUE(harness.ProcessWatermark({EventTime::Max()}).ok());
    EXPECT_EQ(harness.Take().size(), oracle.Release(INT64_MAX).size());
    EXPECT_EQ(harness.StateEntries({"rows"}), 0U);
    EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
    if (GetParam().mode == HarnessMode::kPlain) {
      EXPECT_EQ(harness.StoreReads() > 0, !GetParam().filler.empty());
    }
  }
}

}  // namespace
}  // namespace weir::operators
