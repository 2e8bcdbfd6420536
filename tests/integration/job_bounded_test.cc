// More keys of 100 bytes than the memory for state holds, each in several rows far apart, while the process is killed
// with -9, started again and rescaled: every count and sum is right, the resident size stays bounded, and a checkpoint
// writes about what has changed. WEIR_TORTURE=1: ten million keys.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "base/random.h"
#include "connectors/generator/orders.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kSplits = 2;
constexpr int64_t kFirstId = 100'000'000'000;  // of the generator
constexpr int64_t kFirstKey = 100'000'000;     // all keys have nine digits, and padding
constexpr uint64_t kResidentBesidesState = 150'000'000;
constexpr uint64_t kMeasuredCheckpoints = 20;
constexpr seconds kPatience{120};  // without a new row

struct Scale {
  uint64_t keys;
  uint64_t state_bytes;
  int kills;
  milliseconds interval;          // of checkpoints
  milliseconds changed_interval;  // the same where a hundredth of the keys changes between two

  // However fast the machine, an interval brings a tenth of the keys: a row is seen a checkpoint after it was read and
  // the kill comes up to another interval later, and then the input must not be at its end.
  uint64_t RowsPerSecond() const { return keys * 100 / static_cast<uint64_t>(interval.count()); }
};

Scale TheScale() {
  if (std::getenv("WEIR_TORTURE") != nullptr) {
    return {.keys = 10'000'000,
            .state_bytes = 256'000'000,
            .kills = 4,
            .interval = seconds(5),
            .changed_interval = seconds(3)};
  }
  return {.keys = 100'000,
          .state_bytes = 4'000'000,
          .kills = 3,
          .interval = milliseconds(300),
          .changed_interval = milliseconds(200)};
}

std::string Text(milliseconds time) { return std::to_string(time.count()) + "ms"; }

uint64_t NumberIn(const std::string& path, const std::string& pattern) {
  std::smatch match;
  const std::string text = ReadText(path);
  return std::regex_search(text, match, std::regex(pattern)) ? std::stoull(match[1]) : 0;
}

// What must come out, from the input alone, and what has come out: each count of each key once, and the right sum with
// the last. Sixteen bytes a key.
class KeyLedger {
 public:
  KeyLedger(const Scale& scale, uint64_t seed, uint64_t rows)
      : count_(scale.keys), cents_(scale.keys), seen_(scale.keys), rows_expected_(rows) {
    const connectors::OrdersOptions options{.seed = seed, .splits = kSplits, .customers = scale.keys};
    for (uint32_t split = 0; split < kSplits; ++split) {
      for (uint64_t row = 0; row < rows / kSplits; ++row) {
        const connectors::Order order = OrderAt(options, split, row);
        const auto number = static_cast<uint64_t>(order.id - kFirstId);
        const uint64_t key = number % 2 == 0 ? number / 2 % scale.keys : static_cast<uint64_t>(order.customer_id);
        ++count_[key];
        cents_[key] += order.amount_cents;
      }
    }
    EXPECT_LT(*std::ranges::max_element(count_), 32U) << "more counts of a key than this test keeps bits for";
  }

  // {"k":"100231061","n":1,"t":119.40}
  void Take(std::string_view line) {
    ++rows_;
    int64_t key = 0, whole = 0, hundredths = 0;
    uint32_t n = 0;
    const bool read = Skip(line, R"({"k":")") && Number(line, key) && Skip(line, R"(","n":)") && Number(line, n) &&
                      Skip(line, R"(,"t":)") && Number(line, whole) && Skip(line, ".") && Number(line, hundredths) &&
                      line == "}";
    key -= kFirstKey;
    if (!read || key < 0 || static_cast<uint64_t>(key) >= seen_.size()) return Wrong(key, "a row that can't be read");
    const auto at = static_cast<size_t>(key);
    if (n == 0 || n > count_[at]) return Wrong(key, "a count that is too high");
    const uint32_t bit = uint32_t{1} << (n - 1);
    if ((seen_[at] & bit) != 0) return Wrong(key, "a count that was there before");
    seen_[at] |= bit;
    if (n == count_[at] && whole * 100 + hundredths != cents_[at]) Wrong(key, "another sum than that of its rows");
  }

  void ExpectComplete() const {
    EXPECT_EQ(wrong_, 0U);
    EXPECT_EQ(rows_, rows_expected_);
    uint64_t incomplete = 0;
    for (size_t key = 0; key < seen_.size(); ++key) {
      if (static_cast<uint32_t>(std::popcount(seen_[key])) != count_[key]) ++incomplete;
    }
    EXPECT_EQ(incomplete, 0U) << "keys that lack a count";
    EXPECT_EQ(std::ranges::count(count_, 0U), 0) << "keys that the input does not have";
  }

  uint64_t rows() const { return rows_; }
  bool ok() const { return wrong_ == 0; }

 private:
  static bool Skip(std::string_view& text, std::string_view what) {
    if (!text.starts_with(what)) return false;
    text.remove_prefix(what.size());
    return true;
  }
  template <typename Integer>
  static bool Number(std::string_view& text, Integer& number) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
    return true;
  }
  void Wrong(int64_t key, const std::string& what) {
    if (++wrong_ <= 5) ADD_FAILURE() << "key " << key << " has " << what;
  }

  std::vector<uint32_t> count_;
  std::vector<int64_t> cents_;
  std::vector<uint32_t> seen_;  // bit n - 1: the row with count n
  const uint64_t rows_expected_;
  uint64_t rows_ = 0;
  uint64_t wrong_ = 0;
};

class BoundedJob {
 public:
  BoundedJob(const Scale& scale, uint64_t seed)
      : scale_(scale), rows_(scale.keys * 3), ledger_(scale, seed, rows_) {
    Json job = EmptyJob(folder_, "bounded");
    job["checkpoint"]["interval"] = Text(scale.interval);
    job["state"] = {{"bytes-max", scale.state_bytes}};
    job["sources"].push_back({{"id", "orders"},
                              {"connector", "generator"},
                              {"rows", rows_},
                              {"rows-per-second", scale.RowsPerSecond()},
                              {"splits", kSplits},
                              {"customers", scale.keys},
                              {"seed", seed}});
    // Split 0 comes by all keys in turn, split 1 by random ones.
    const std::string number = "(id - " + std::to_string(kFirstId) + ")";
    const std::string key =
        "CASE WHEN id % 2 = 0 THEN " + number + " / 2 % " + std::to_string(scale.keys) + " ELSE customer_id END";
    job["operators"] = {
        {{"id", "by_key"},
         {"type", "key_by"},
         {"input", "orders"},
         {"computed",
          {{"key",
            "CAST(" + std::to_string(kFirstKey) + " + " + key + " AS text) || '" + std::string(91, '-') + "'"}}}},
        {{"id", "totals"},
         {"type", "aggregate"},
         {"input", "by_key"},
         {"keys", {"key"}},
         {"retractions", false},
         {"aggregates", {{"n", {{"function", "count"}}}, {"t", {{"function", "sum"}, {"column", "amount"}}}}}},
        {{"id", "short"},
         {"type", "project"},
         {"input", "totals"},
         {"columns", {{"k", "left(key, 9)"}, {"n", "n"}, {"t", "t"}}}}};
    job["sinks"].push_back(FileSink(folder_, "rows", "short"));
    definition_ = WriteJob(folder_, job);
  }

  // A life that ends with -9, at any time from the moment at which `rows` rows are out.
  void LiveUntil(uint64_t rows, int parallelism, Random& random) {
    Weir weir = Begin(parallelism, {});
    Watch(weir, parallelism, [&] { return ledger_.rows() >= rows; });
    Pause(milliseconds(random.Below(static_cast<uint64_t>(scale_.interval.count()))));
    End(weir, parallelism);
  }

  // A hundredth of the keys changes between two checkpoints.
  void ExpectSmallCheckpoints() {
    const uint64_t changed = scale_.keys / 100;
    const auto rate = changed * 1'000 / static_cast<uint64_t>(scale_.changed_interval.count());
    Weir weir = Begin(1, {"--set", "sources.orders.rows-per-second=" + std::to_string(rate), "--set",
                          "checkpoint.interval=" + Text(scale_.changed_interval)});
    const uint64_t restored = NewestCheckpoint();
    Watch(weir, 1, [&] { return NewestCheckpoint() >= restored + 2; });  // the state is open, nothing is left over
    const uint64_t first = NewestCheckpoint(), rows_first = ledger_.rows(), written_first = Written(weir);
    Watch(weir, 1, [&] { return NewestCheckpoint() >= first + kMeasuredCheckpoints; });
    const uint64_t written = Written(weir) - written_first;
    const uint64_t rows = ledger_.rows() - rows_first;
    const uint64_t checkpoints = NewestCheckpoint() - first;
    End(weir, 1);
    const uint64_t dump = StateBytes();
    std::cout << checkpoints << " checkpoints of " << rows / checkpoints << " changed keys wrote "
              << static_cast<double>(written) / 1e6 << " MB, output included; all state has "
              << static_cast<double>(dump) / 1e6 << " MB: " << static_cast<double>(written) / static_cast<double>(dump)
              << " full dumps\n";
    EXPECT_GT(rows, kMeasuredCheckpoints * changed / 2) << "too few keys have changed to tell";
    EXPECT_GT(written, rows * 30) << "what the process writes is not counted here";
    EXPECT_LE(written * 5, dump * kMeasuredCheckpoints);
  }

  void LiveToTheEnd() {
    Weir weir = Begin(1, {"--set", "sources.orders.rows-per-second=" + std::to_string(scale_.keys * 100)});
    Watch(weir, 1, [&] { return !weir.Running(); }, true);
    EXPECT_EQ(weir.Wait(seconds(0)), 0) << weir.Output();
    TakeNewRows();
    ledger_.ExpectComplete();
    std::cout << ledger_.rows() << " rows of " << scale_.keys << " keys, largest resident size "
              << static_cast<double>(resident_max_[1]) / 1e6 << " MB, " << static_cast<double>(resident_max_[2]) / 1e6
              << " MB at parallelism 2, " << static_cast<double>(disk_max_) / 1e6 << " MB on disk\n";
    EXPECT_GT(resident_max_[1], scale_.state_bytes / 4);
    EXPECT_LE(resident_max_[1], scale_.state_bytes + kResidentBesidesState);
  }

  uint64_t rows() const { return rows_; }

 private:
  Weir Begin(int parallelism, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", definition_, "--quiet", "--set",
                                          "parallelism=" + std::to_string(parallelism)};
    std::ranges::move(more, std::back_inserter(arguments));
    return {folder_, std::move(arguments)};
  }

  void Watch(Weir& weir, int parallelism, const std::function<bool()>& done, bool may_end = false) {
    auto last_new = std::chrono::steady_clock::now();
    while (!done() && !testing::Test::HasFailure()) {
      const bool running = weir.Running();
      Look(weir, parallelism);
      if (TakeNewRows()) last_new = std::chrono::steady_clock::now();
      if (!running && !may_end) ADD_FAILURE() << "ended by itself:\n" << weir.Output();
      if (std::chrono::steady_clock::now() - last_new > kPatience) ADD_FAILURE() << "no new row:\n" << weir.Output();
      Pause(milliseconds(20));
    }
  }
  void Look(Weir& weir, int parallelism) {
    const uint64_t resident =
        1024 * NumberIn("/proc/" + std::to_string(weir.pid()) + "/status", R"(VmHWM:\s+(\d+) kB)");
    resident_max_[parallelism] = std::max(resident_max_[parallelism], resident);
  }
  void End(Weir& weir, int parallelism) {
    EXPECT_TRUE(weir.Running()) << "ended by itself:\n" << weir.Output();
    Look(weir, parallelism);
    weir.Kill9();
    uint64_t bytes = 0;
    std::set<uint64_t> counted;  // links share their bytes
    for (const std::string& file : FilesUnder(folder_.path())) bytes += BytesOf(file, counted);
    disk_max_ = std::max(disk_max_, bytes);
  }

  // Parts that have appeared since the last call. One that has its name is never changed.
  bool TakeNewRows() {
    bool any = false;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("rows"), ignored)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || name.starts_with(".") || !parts_.insert(name).second) continue;
      const std::string text = ReadText(entry.path().string());
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        ledger_.Take(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
        any = true;
      }
    }
    return any;
  }

  // Numbers rise by one with each checkpoint that is durable.
  uint64_t NewestCheckpoint() const {
    uint64_t newest = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("checkpoints/bounded"), ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("chk-") || !std::filesystem::exists(entry.path() / "_metadata", ignored)) continue;
      newest = std::max<uint64_t>(newest, std::strtoull(name.c_str() + 4, nullptr, 10));
    }
    return newest;
  }
  static uint64_t Written(Weir& weir) {
    return NumberIn("/proc/" + std::to_string(weir.pid()) + "/io", R"(wchar: (\d+))");
  }
  uint64_t StateBytes() const {
    const Ended shown = RunToEnd(folder_, {"state", "show", folder_.Path("checkpoints/bounded")});
    std::smatch match;
    const bool found = std::regex_search(shown.output, match, std::regex(R"(in all (\d+) bytes)"));
    EXPECT_TRUE(found) << shown.output;
    return found ? std::stoull(match[1]) : 0;
  }
  static uint64_t BytesOf(const std::string& file, std::set<uint64_t>& counted) {
    struct stat info{};
    if (stat(file.c_str(), &info) != 0 || !counted.insert(info.st_ino).second) return 0;
    return static_cast<uint64_t>(info.st_size);
  }

  const Scale scale_;
  const uint64_t rows_;
  KeyLedger ledger_;
  JobFolder folder_;
  std::string definition_;
  std::set<std::string> parts_;
  std::map<int, uint64_t> resident_max_;  // by parallelism
  uint64_t disk_max_ = 0;
};

TEST(JobBoundedTest, MoreKeysThanMemoryKilledAndRescaledAreExact) {
  const Scale scale = TheScale();
  const auto random = NewSystemRandom();
  const char* given = std::getenv("WEIR_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : random->Below(1'000'000);
  std::cout << "seed " << seed << " (WEIR_SEED=" << seed << " repeats the input)\n";
  BoundedJob job(scale, seed);
  // Twice as many rows as keys in lives of like length, the second of them at parallelism 2.
  for (int life = 1; life <= scale.kills && !HasFailure(); ++life) {
    const uint64_t rows = scale.keys * 2 * static_cast<uint64_t>(life) / static_cast<uint64_t>(scale.kills);
    job.LiveUntil(rows, life == 2 ? 2 : 1, *random);
  }
  if (!HasFailure()) job.ExpectSmallCheckpoints();
  if (!HasFailure()) job.LiveToTheEnd();
}

}  // namespace
}  // namespace weir::job_test
