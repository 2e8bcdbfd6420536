// A sink that stalls: the source stands still soon, memory stays bounded, checkpoints go on once the sink is back, and
// no row is lost. WEIR_TORTURE=1 stalls for a minute.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <set>

#include "tests/harness/kafka_broker.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kRows = 250'000;
constexpr int kPartitions = 4;
constexpr uint64_t kMemoryBytesMax = uint64_t{192} << 20;

Duration StallTime() { return std::getenv("WEIR_TORTURE") != nullptr ? seconds(60) : seconds(8); }

uint64_t ResidentBytesOf(pid_t pid) {
  std::smatch match;
  const std::string status = ReadText("/proc/" + std::to_string(pid) + "/status");
  static const std::regex pattern(R"(VmRSS:\s+(\d+) kB)");
  return std::regex_search(status, match, pattern) ? std::stoull(match[1]) * 1024 : 0;
}

// A terminal for a process's output: there a job writes its status line each second.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_GE(master_, 0);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    std::array<char, 128> name{};
    EXPECT_EQ(ptsname_r(master_, name.data(), name.size()), 0);
    path_ = name.data();
    keep_open_ = open(path_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Terminal() {
    close(keep_open_);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  const std::string& path() const { return path_; }
  // What has been written since the last call, waiting for it at most `limit`.
  std::string Read(milliseconds limit) {
    pollfd wanted{.fd = master_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> bytes{};
    if (poll(&wanted, 1, static_cast<int>(limit.count())) <= 0) return {};
    const ssize_t got = read(master_, bytes.data(), bytes.size());
    return got <= 0 ? std::string() : std::string(bytes.data(), static_cast<size_t>(got));
  }

 private:
  int master_;
  int keep_open_ = -1;
  std::string path_;
};

struct StatusSeen {
  std::chrono::steady_clock::time_point at;
  uint64_t in_per_second = 0;
  uint64_t checkpoint = 0;
};

std::optional<uint64_t> NumberBehind(const std::string& text, const std::string& label) {
  const size_t at = text.rfind(label);
  if (at == std::string::npos) return std::nullopt;
  std::string digits;
  for (size_t i = at + label.size(); i < text.size() && (std::isdigit(text[i]) != 0 || text[i] == ','); ++i) {
    if (text[i] != ',') digits += text[i];
  }
  return digits.empty() ? std::nullopt : std::optional<uint64_t>(std::stoull(digits));
}

// A running job whose status lines and size are looked at all the time.
class WatchedJob {
 public:
  explicit WatchedJob(const std::string& definition) : process_(Start(terminal_, definition)) {}

  void Watch(Duration duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end && Running()) Look();
  }
  bool WatchUntil(Duration limit, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      if (done()) return true;
      Look();
    }
    return false;
  }
  bool Running() { return process_->Running(); }
  std::optional<int> Wait(milliseconds limit) { return process_->Wait(limit); }
  const std::vector<StatusSeen>& lines() const { return lines_; }
  uint64_t resident_bytes_max() const { return resident_bytes_max_; }
  const std::string& output() const { return output_; }

 private:
  static std::unique_ptr<harness::ChildProcess> Start(Terminal& terminal, const std::string& definition) {
    harness::ChildProcess::Options options;
    options.arguments = {WeirBinary(), "run", definition};
    options.output_path = terminal.path();
    Result<harness::ChildProcess> process = harness::ChildProcess::Start(options);
    EXPECT_TRUE(process.has_value());
    return std::make_unique<harness::ChildProcess>(std::move(*process));
  }
  void Look() {
    const std::string text = terminal_.Read(milliseconds(100));
    output_ += text;
    if (const auto rate = NumberBehind(text, ": in "); rate.has_value()) {
      lines_.push_back({std::chrono::steady_clock::now(), *rate, NumberBehind(text, ", checkpoint ").value_or(0)});
    }
    resident_bytes_max_ = std::max(resident_bytes_max_, ResidentBytesOf(process_->pid()));
  }

  Terminal terminal_;
  std::vector<StatusSeen> lines_;
  uint64_t resident_bytes_max_ = 0;
  std::string output_;
  std::unique_ptr<harness::ChildProcess> process_;
};

class JobStallTest : public testing::Test {
 protected:
  // Fills the topic `name` of `broker` with orders, by a job of its own.
  void FillTopic(harness::KafkaBroker& broker, const std::string& name) {
    ASSERT_EQ(broker.CreateTopic(name, kPartitions).ToString(), "ok");
    Json job = EmptyJob(folder_, "filler");
    job["sources"].push_back({{"id", "in"}, {"connector", "generator"}, {"rows", kRows}, {"splits", kPartitions}});
    job["sinks"].push_back({{"id", "out"},
                            {"connector", "kafka"},
                            {"input", "in"},
                            {"bootstrap-servers", broker.bootstrap()},
                            {"topic", name},
                            {"key", {"id"}}});
    const Ended ended = RunToEnd(folder_, {"run", WriteJob(folder_, job, "filler.json")});
    ASSERT_EQ(ended.code, 0) << ended.output;
  }
  std::string Definition(harness::KafkaBroker& source, const std::string& input, const std::string& output) {
    Json job = EmptyJob(folder_, "stalled");
    job["parallelism"] = 2;
    job["checkpoint"]["interval"] = "500ms";
    job["memory"] = {{"bytes-max", kMemoryBytesMax}};
    job["state"] = {{"bytes-max", "64MiB"}};
    job["sources"].push_back(KafkaSource(*world_, "in", input, "json"));
    job["sources"][0]["bootstrap-servers"] = source.bootstrap();
    job["sources"][0]["end"] = "latest";
    job["operators"].push_back({{"id", "by_customer"}, {"type", "key_by"}, {"input", "in"}, {"keys", {"customer_id"}}});
    job["operators"].push_back({{"id", "counts"},
                                {"type", "aggregate"},
                                {"input", "by_customer"},
                                {"aggregates", {{"n", {{"function", "count"}}}}}});
    job["sinks"].push_back(KafkaSink(*world_, "out", "counts", output, Json::array({"customer_id"})));
    return WriteJob(folder_, job);
  }
  uint64_t RowsIn(const std::string& topic) {
    std::vector<connectors::TopicPartition> partitions;
    for (int32_t p = 0; p < kPartitions; ++p) partitions.push_back({topic, p});
    const auto ends = world_->NewAdmin()->QueryWatermarks(partitions);
    uint64_t rows = 0;
    if (ends.has_value()) {
      for (const connectors::Watermarks& end : *ends) rows += static_cast<uint64_t>(end.high);
    }
    return rows;
  }

  std::unique_ptr<kafka_test::KafkaWorld> world_ = kafka_test::NewRealWorld();
  JobFolder folder_;
};

// Of the status lines whose second began at least one second into the stall.
void ExpectStoodStill(const std::vector<StatusSeen>& lines, std::chrono::steady_clock::time_point stalled,
                      std::chrono::steady_clock::time_point resumed) {
  int still = 0;
  for (const StatusSeen& line : lines) {
    if (line.at < stalled + milliseconds(2'200) || line.at > resumed) continue;
    ++still;
    EXPECT_EQ(line.in_per_second, 0U) << std::chrono::duration_cast<milliseconds>(line.at - stalled).count()
                                      << " ms into the stall";
  }
  EXPECT_GE(still, 3);
}

TEST_F(JobStallTest, B31_B44_TheSourceStandsStillAndMemoryIsBounded) {
  auto source = harness::KafkaBroker::Start();
  ASSERT_TRUE(source.has_value()) << source.error().ToString();
  ASSERT_NO_FATAL_FAILURE(FillTopic(**source, "orders"));
  const std::string output = world_->NewName("out");
  ASSERT_TRUE(world_->CreateTopic(output, kPartitions).ok());
  WatchedJob job(Definition(**source, "orders", output));
  ASSERT_TRUE(job.WatchUntil(seconds(30), [&] { return RowsIn(output) > 5'000; })) << job.output();
  world_->SetReachable(false);
  const auto stalled = std::chrono::steady_clock::now();
  job.Watch(StallTime());
  const auto resumed = std::chrono::steady_clock::now();
  EXPECT_TRUE(job.Running()) << "it did not last until the stall: " << job.output();
  world_->SetReachable(true);
  ExpectStoodStill(job.lines(), stalled, resumed);
  const uint64_t checkpoint = job.lines().empty() ? 0 : job.lines().back().checkpoint;
  EXPECT_TRUE(job.WatchUntil(seconds(60), [&] { return !job.Running(); })) << job.output();
  EXPECT_EQ(job.Wait(milliseconds(0)), 0) << job.output();
  EXPECT_LE(job.resident_bytes_max(), kMemoryBytesMax + kMemoryBytesMax * 15 / 100);
  std::cout << "largest resident size " << (job.resident_bytes_max() >> 20) << " MiB; checkpoint " << checkpoint
            << " at the end of the stall\n";
  // Each customer's counts from 1 on: nothing is missing, and nothing has been overtaken.
  std::map<std::string, uint64_t> counts;
  uint64_t rows = 0;
  for (const TopicRecord& record : ReadTopic(*world_, output, kPartitions)) {
    ++rows;
    const uint64_t n = NumberBehind(*record.value, "\"n\":").value_or(0);
    EXPECT_EQ(n, ++counts[*record.key]);
  }
  EXPECT_EQ(rows, kRows);
}

}  // namespace
}  // namespace weir::job_test
