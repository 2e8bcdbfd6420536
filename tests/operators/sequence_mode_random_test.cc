// `sequence` that switches by its lag, at random, against what a changefeed promises: every version of every key leaves
// once, whatever is delivered again and whatever is thrown away and restored in between; a target that upserts what
// leaves ends with the newest versions; and in consistent mode nothing above the watermark leaves but what belongs to a
// time that has left already.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "operators/sequence.h"
#include "tests/harness/operator_test_harness.h"
#include "tests/simulation/manual_clock.h"

namespace weir::operators {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'700'000'000;
constexpr int64_t kWindow = 40;

// One column family of a version of a key, or its deletion.
struct Piece {
  int64_t second = 0;
  int64_t key = 0;
  std::string family;  // empty: a deletion
  friend auto operator<=>(const Piece&, const Piece&) = default;

  // "t" of each family tells its time also when it is merged.
  std::string Text() const {
    const std::string at = std::to_string(second);
    return (family.empty() ? "-D" : "+I") + std::string(" {\"k\": ") + std::to_string(key) +
           (family.empty() ? "" : ", \"" + family + "\": " + at) + ", \"t\": " + at +
           ", \"@time\": " + std::to_string((kBegin + second) * kSecond) + "}";
  }
};

// A changefeed with two column families: each tells a key's versions in order, and again at will.
class Feed {
 public:
  explicit Feed(Random& random) : random_(random) {}

  // Some more versions, in the order in which they are delivered.
  std::vector<Piece> Next() {
    std::vector<Piece> pieces;
    for (uint64_t versions = random_.Below(4); versions > 0; --versions) {
      const Piece version{++now_, static_cast<int64_t>(random_.Below(6)), {}};
      const bool deletes = random_.OneIn(5);
      for (const char* family : {"a", "b"}) {
        // A family may be late by some versions of other keys, never by one of its own key.
        std::vector<Piece>& late = late_[{family, version.key}];
        late.push_back({version.second, version.key, deletes ? "" : family});
        if (deletes && *family == 'b') late.pop_back();  // told once
        if (!deletes && random_.OneIn(2)) Tell(version.key, {family}, pieces);
      }
      if (deletes) Tell(version.key, {"a", "b"}, pieces);
    }
    for (uint64_t again = told_.empty() ? 0 : random_.Below(3); again > 0; --again) {
      pieces.push_back(told_[told_.size() - 1 - random_.Below(std::min<size_t>(told_.size(), 40))]);
    }
    return pieces;
  }
  // All that is late; afterwards now() is resolved.
  std::vector<Piece> Rest() {
    std::vector<Piece> pieces;
    for (int64_t key = 0; key < 6; ++key) Tell(key, {"a", "b"}, pieces);
    return pieces;
  }
  int64_t now() const { return now_; }
  const std::vector<Piece>& told() const { return told_; }

 private:
  void Tell(int64_t key, const std::vector<std::string>& families, std::vector<Piece>& pieces) {
    std::vector<Piece> tells;
    for (const std::string& family : families) {
      for (const Piece& piece : std::exchange(late_[{family, key}], {})) tells.push_back(piece);
    }
    std::ranges::stable_sort(tells, {}, &Piece::second);
    told_.insert(told_.end(), tells.begin(), tells.end());
    pieces.insert(pieces.end(), tells.begin(), tells.end());
  }

  Random& random_;
  int64_t now_ = 100;
  std::map<std::pair<std::string, int64_t>, std::vector<Piece>> late_;
  std::vector<Piece> told_;  // once each
};

int64_t Member(const std::string& row, const std::string& name) {
  const size_t at = row.find("\"" + name + "\":");
  return at == std::string::npos ? -1 : std::stoll(row.substr(at + name.size() + 3));
}

// What has left, piece by piece, and the table that it makes.
class Target {
 public:
  void Apply(const std::string& row) {
    const int64_t key = Member(row, "k");
    const int64_t second = Member(row, "t");
    if (row.starts_with("-D")) {
      ++left_[{second, key, ""}];
      table_.erase(key);
    }
    for (const char* family : {"a", "b"}) {
      if (row.starts_with("-D") || Member(row, family) < 0) continue;
      ++left_[{second, key, family}];
      table_[key][family] = Member(row, family);
    }
  }
  bool Has(int64_t second, int64_t key) const {
    const auto from = left_.lower_bound({second, key, ""});
    return from != left_.end() && from->first.second == second && from->first.key == key;
  }
  const std::map<Piece, int>& left() const { return left_; }
  const std::map<int64_t, std::map<std::string, int64_t>>& table() const { return table_; }

 private:
  std::map<Piece, int> left_;
  std::map<int64_t, std::map<std::string, int64_t>> table_;
};

class SequenceModeRandomTest : public testing::TestWithParam<HarnessMode> {
 protected:
  void Run(uint64_t seed, int rounds) {
    SeededRandom random(seed);
    simulation::ManualClock clock(kBegin * kSecond);
    OperatorTestHarness harness(
        SequenceType(), R"({"best-effort-window": ")" + std::to_string(kWindow) + "s\"}",
        {.mode = GetParam(), .keys = {"k"}, .clock = &clock, .state_bytes = seed % 2 == 0 ? 1U << 20 : 64U << 20});
    Feed feed(random);
    Target target;
    int64_t watermark = 0;
    const auto take = [&](bool consistent) {
      for (const std::string& row : harness.Take()) {
        const int64_t second = Member(row, "t");
        if (consistent && second > watermark) {
          EXPECT_TRUE(target.Has(second, Member(row, "k"))) << row;
        }
        target.Apply(row);
      }
    };
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      const bool resolves = random.OneIn(12);
      Rows rows;
      for (const Piece& piece : resolves ? feed.Rest() : feed.Next()) rows.push_back(piece.Text());
      const bool consistent = harness.NamedMetric("best_effort") == 0 && GetParam() == HarnessMode::kPlain;
      ASSERT_TRUE(harness.Process(rows).ok());
      take(consistent && harness.NamedMetric("best_effort") == 0);
      modes_.insert(harness.NamedMetric("best_effort"));
      if (resolves) {
        watermark = feed.now();
        ASSERT_TRUE(harness.ProcessWatermark({EventTime{(kBegin + watermark) * kSecond, 0}}).ok());
        take(false);
      }
      // The lag goes up and down; now and then the clock is far ahead or at the watermark.
      const int64_t lag = static_cast<int64_t>(random.Below(2 * kWindow)) * static_cast<int64_t>(random.Below(2));
      if (random.OneIn(8)) {
        clock.JumpWall(
            std::chrono::nanoseconds((kBegin + std::max(watermark, int64_t{1}) + lag) * kSecond - clock.WallNs()));
      }
      if (!random.OneIn(3)) continue;
      ASSERT_TRUE(harness.Continue().ok());
      take(false);
    }
    CheckEnd(harness, feed, target);
  }

  void CheckEnd(OperatorTestHarness& harness, Feed& feed, Target& target) {
    Rows rows;
    for (const Piece& piece : feed.Rest()) rows.push_back(piece.Text());
    ASSERT_TRUE(harness.Process(rows).ok());
    ASSERT_TRUE(harness.ProcessWatermark({EventTime{(kBegin + feed.now()) * kSecond, 0}}).ok());
    for (const std::string& row : harness.Take()) target.Apply(row);
    std::map<Piece, int> once;
    Target direct;
    std::vector<Piece> in_order = feed.told();
    std::ranges::stable_sort(in_order, {}, &Piece::second);
    for (const Piece& piece : in_order) {
      once[piece] = 1;
      direct.Apply(piece.Text().substr(0, 3) + "{\"k\":" + std::to_string(piece.key) +
                   (piece.family.empty() ? "" : ",\"" + piece.family + "\":" + std::to_string(piece.second)) +
                   ",\"t\":" + std::to_string(piece.second) + "}");
    }
    EXPECT_EQ(target.left() == once, true) << "something left twice or never";
    EXPECT_EQ(target.table(), direct.table());
    EXPECT_EQ(harness.StateEntries({"rows"}), 0U);
    EXPECT_EQ(harness.StateEntries({"left"}), 0U);
    EXPECT_EQ(harness.NamedMetric("rows_waiting"), 0);
  }

  std::set<double> modes_;
};

INSTANTIATE_TEST_SUITE_P(Modes, SequenceModeRandomTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

TEST_P(SequenceModeRandomTest, B42_EachVersionLeavesOnceAndTheNewestStays) {
  const bool plain = GetParam() == HarnessMode::kPlain;
  for (uint64_t seed = 1; seed <= (plain ? 20U : 6U) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Run(seed, plain ? 400 : 120);
  }
  EXPECT_EQ(modes_.size(), 2U);
}

}  // namespace
}  // namespace weir::operators
