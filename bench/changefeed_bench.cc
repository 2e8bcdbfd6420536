// Changefeeds of two tables as `weir run` brings them into PostgreSQL, on real servers; bench/README.md says how to
// read it.
//
//   changefeed_bench [--rows=500000] [--rounds=3] [--weir=PATH] [--best-effort] [--lag] [--rate=5000] [--flat]
//
// Without --lag and --flat: what each mode costs. --best-effort: the mode of this name too, which needs a `weir` whose
// sink knows `on-missing-parent`.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/changefeed_feed.h"
#include "bench/measured_run.h"
#include "tests/harness/child_process.h"
#include "tests/harness/http_request.h"
#include "tests/harness/kafka_broker.h"
#include "tests/harness/postgres_server.h"

namespace weir::bench {
namespace {

struct Settings {
  uint64_t rows = 500'000;
  int rounds = 3;
  std::string weir;
  double rate = 5'000;  // rows a second, of --lag
  bool best_effort = false;
  bool lag = false;
  bool flat = false;
};

Settings Parse(std::span<char*> arguments) {
  Settings settings;
  const std::string self = arguments[0];
  settings.weir = self.substr(0, self.rfind('/') + 1) + "weir";
  for (const std::string argument : arguments.subspan(1)) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--rows=")) settings.rows = std::strtoull(value.c_str(), nullptr, 10);
    if (argument.starts_with("--rounds=")) settings.rounds = std::atoi(value.c_str());
    if (argument.starts_with("--rate=")) settings.rate = std::strtod(value.c_str(), nullptr);
    if (argument.starts_with("--weir=")) settings.weir = value;
    if (argument == "--best-effort") settings.best_effort = true;
    if (argument == "--lag") settings.lag = true;
    if (argument == "--flat") settings.flat = true;
  }
  return settings;
}

// A way into the target; the costs of its runs.
struct Mode {
  std::string name;
  std::string definition;
  bool foreign_keys = false;
  double idle_s = 0;  // a run that has nothing to read
  std::vector<double> wall_s = {}, weir_cpu_s = {}, server_cpu_s = {}, peak_mb = {};
  bool ok = true;
};

class ChangefeedBench {
 public:
  explicit ChangefeedBench(Settings settings) : settings_(std::move(settings)) {
    const std::string backend = postgres_->Query("SELECT pg_backend_pid()").at(0);
    server_ = ParentOf(std::atoi(backend.c_str()));
  }

  int Run() {
    if (settings_.lag) {
      for (const char* interval : {"200ms", "1s"}) Lag(interval);
    }
    if (settings_.flat) {
      ChangefeedFeed feed = NewFeed(100'000, 2'000'000);
      feed.Write(kFlatRows, kResolvedRows);
      Flat("consistent (sequence)", "changefeed_ordered_to_blackhole.json");
      Flat("immediate (deduplicate, retention of 500,000 rows)", "changefeed_newest_to_blackhole.json");
    }
    if (!settings_.lag && !settings_.flat) Modes();
    return 0;
  }

 private:
  static constexpr uint64_t kResolvedRows = 1'000;
  static constexpr uint64_t kFlatRows = 10'000'000;
  static constexpr uint64_t kFlatStep = 1'000'000;

  ChangefeedFeed NewFeed(size_t parents, size_t children) {
    prefix_ = "bench-" + std::to_string(++feeds_) + ".";
    for (const char* table : {"parent", "child"}) {
      CheckOk(broker_->CreateTopic(prefix_ + table, ChangefeedFeed::kPartitionsOfTopic));
    }
    return {broker_->bootstrap(), prefix_, parents, children};
  }

  void MakeTables(bool foreign_keys) {
    const std::string reference = foreign_keys ? " REFERENCES parent (id)" : "";
    CheckOk(postgres_->Run("DROP TABLE IF EXISTS child, parent"));
    CheckOk(postgres_->Run("CREATE TABLE parent (id bigint PRIMARY KEY, value bigint NOT NULL, note text)"));
    CheckOk(postgres_->Run("CREATE TABLE child (id bigint PRIMARY KEY, parent bigint NOT NULL" + reference +
                           ", value bigint NOT NULL, note text)"));
    CheckOk(postgres_->Run("CHECKPOINT"));  // what was written before is not this run's cost
  }

  // Of the newest feed, and what the command line says: a name of its own, as markers belong to it.
  std::vector<std::string> JobCommand(const std::string& definition) {
    folder_ = broker_->folder() + "/job-" + std::to_string(++jobs_);
    name_ = "job-" + std::to_string(jobs_);
    const std::string job = WriteJobFile(std::string(WEIR_BENCH_JOBS) + "/" + definition, folder_,
                                         {{"@BOOTSTRAP@", broker_->bootstrap()},
                                          {"@INPUT@", prefix_},
                                          {"@OUTPUT@", postgres_->conninfo()},
                                          {"@FOLDER@", folder_}});
    return {settings_.weir, "run", job, "--quiet", "--set=name=" + name_};
  }

  void Modes() {
    std::vector<Mode> modes = {
        {.name = "immediate", .definition = "changefeed_immediate.json"},
        {.name = "consistent", .definition = "changefeed_consistent.json", .foreign_keys = true}};
    if (settings_.best_effort) {
      modes.push_back({.name = "best effort", .definition = "changefeed_best_effort.json", .foreign_keys = true});
    }
    (void)NewFeed(1, 1);
    for (Mode& mode : modes) mode.idle_s = RunMode(mode).wall_s;
    ChangefeedFeed feed = NewFeed(20'000, 100'000);
    feed.Write(settings_.rows, kResolvedRows);
    for (int round = 0; round < settings_.rounds; ++round) {
      for (Mode& mode : modes) Measure(mode, feed.Expected());
    }
    const double millions = static_cast<double>(settings_.rows) / 1e6;
    std::printf("%-12s %12s %16s %20s %10s\n", "", "rows/s", "weir CPU-s/M", "postgres CPU-s/M", "peak MB");
    for (const Mode& mode : modes) {
      std::printf("%-12s %12.0f %16.2f %20.2f %10.0f%s\n", mode.name.c_str(),
                  millions * 1e6 / (Median(mode.wall_s) - mode.idle_s), Median(mode.weir_cpu_s) / millions,
                  Median(mode.server_cpu_s) / millions, Median(mode.peak_mb), mode.ok ? "" : "   FAILED");
    }
  }
  RunCost RunMode(const Mode& mode) {
    MakeTables(mode.foreign_keys);
    const std::vector<std::string> command = JobCommand(mode.definition);
    const std::string log = folder_ + "/log";
    const RunCost cost = RunMeasured({.arguments = command, .environment = {}, .output_path = log});
    if (!cost.ok) std::fprintf(stderr, "FAILED: %s\n", ReadFile(log).c_str());
    std::filesystem::remove_all(folder_ + "/checkpoints");
    return cost;
  }
  void Measure(Mode& mode, const std::string& expected) {
    const double server_before = CpuSecondsOfServer(server_);
    const RunCost cost = RunMode(mode);
    mode.wall_s.push_back(cost.wall_s);
    mode.weir_cpu_s.push_back(cost.cpu_s);
    mode.peak_mb.push_back(cost.peak_mb);
    mode.server_cpu_s.push_back(CpuSecondsOfServer(server_) - server_before);
    const std::string there = postgres_
                                  ->Query(
                                      "SELECT * FROM (SELECT count(*), sum(value) FROM parent) p, "
                                      "(SELECT count(*), sum(value) FROM child) c")
                                  .at(0);
    if (there != expected) std::fprintf(stderr, "%s: %s, not %s\n", mode.name.c_str(), there.c_str(), expected.c_str());
    mode.ok = mode.ok && cost.ok && there == expected;
  }

  // A steady rate; from the moment at which the last partition is told that all is told until a reader of the target
  // sees a marker that says so.
  void Lag(const std::string& interval) {
    constexpr double kResolvedSeconds = 0.2, kWarmSeconds = 5, kSeconds = 65;
    struct Told {
      int64_t time_ns;  // of the newest row before
      MonotonicTime when;
    };
    ChangefeedFeed feed = NewFeed(20'000, 100'000);
    MakeTables(true);
    std::vector<std::string> command = JobCommand("changefeed_consistent.json");
    command.insert(command.end(), {"--set=sources.0.end=none", "--set=checkpoint.interval=" + interval});
    const std::string log = folder_ + "/log";
    auto weir = std::move(*harness::ChildProcess::Start({.arguments = command, .environment = {}, .output_path = log}));
    const std::string marker = "SELECT frontier FROM weir_markers WHERE job = '" + name_ + "'";
    const MonotonicTime start = clock_.Now();
    std::deque<Told> told;
    std::vector<double> ms;
    double rows = 0, resolved = 0;
    for (double s = 0; s < kSeconds && !weir.Wait(std::chrono::milliseconds(2)).has_value();) {
      s = static_cast<double>((clock_.Now() - start).count()) / 1e9;
      const double due = s * settings_.rate - rows;
      if (due >= 1) feed.AddRows(static_cast<uint64_t>(due));
      rows += due >= 1 ? static_cast<double>(static_cast<uint64_t>(due)) : 0;
      if (s >= resolved * kResolvedSeconds) {
        ++resolved;
        told.push_back({feed.newest_ns(), clock_.Now()});
        feed.Resolve();
      }
      const std::vector<std::string> seen = postgres_->Query(marker);
      const int64_t frontier = seen.size() == 1 ? std::atoll(seen[0].c_str()) : 0;
      for (; !told.empty() && told.front().time_ns <= frontier; told.pop_front()) {
        if (s > kWarmSeconds) ms.push_back(static_cast<double>((clock_.Now() - told.front().when).count()) / 1e6);
      }
    }
    const CostSoFar cost = MeasureRunning(weir.pid());
    weir.Signal(SIGTERM);
    if (weir.Wait(std::chrono::minutes(1)) != 0) std::fprintf(stderr, "FAILED: %s\n", ReadFile(log).c_str());
    std::ranges::sort(ms);
    std::printf(
        "lag at %.0f rows/s, resolved each %.0f ms, checkpoint.interval %s: p50 %.0f ms, p99 %.0f ms, longest "
        "%.0f ms of %zu; weir %.2f CPU-s/M\n",
        settings_.rate, kResolvedSeconds * 1e3, interval.c_str(), ms.empty() ? 0 : ms[ms.size() / 2],
        ms.empty() ? 0 : ms[ms.size() * 99 / 100], ms.empty() ? 0 : ms.back(), ms.size(), cost.cpu_s / rows * 1e6);
    std::fflush(stdout);
  }

  // What the state is while the rows pass: the greatest that was seen within each million.
  void Flat(const std::string& what, const std::string& definition) {
    struct Seen {
      double state_mb = 0, waiting_rows = 0, resident_mb = 0;
    };
    const int port = *harness::FreePort();
    std::vector<std::string> command = JobCommand(definition);
    command.push_back("--metrics=127.0.0.1:" + std::to_string(port));
    const std::string log = folder_ + "/log";
    const MonotonicTime start = clock_.Now();
    auto weir = std::move(*harness::ChildProcess::Start({.arguments = command, .environment = {}, .output_path = log}));
    std::map<uint64_t, Seen> seen;
    while (!weir.Wait(std::chrono::milliseconds(100)).has_value()) {
      const std::string text = harness::GetHttp(static_cast<uint16_t>(port), "/metrics").body;
      const double rows = Sum(text, "weir_rows_out_total", "feed");
      Seen& now = seen[static_cast<uint64_t>(rows) / kFlatStep];
      now.state_mb = std::max(now.state_mb, Sum(text, "weir_checkpoint_state_bytes", "") / 1e6);
      now.waiting_rows = std::max(now.waiting_rows, Sum(text, "weir_rows_waiting", ""));
      now.resident_mb = std::max(now.resident_mb, Sum(text, "process_resident_memory_bytes", "") / 1e6);
    }
    const double wall_s = static_cast<double>((clock_.Now() - start).count()) / 1e9;
    const bool ok = weir.Wait(std::chrono::milliseconds(0)) == 0;
    if (!ok) std::fprintf(stderr, "FAILED: %s\n", ReadFile(log).c_str());
    std::printf("%s, %.0f M rows in %.0f s\n%10s %22s %14s %14s\n", what.c_str(), kFlatRows / 1e6, wall_s, "M rows",
                "checkpoint's state, MB", "rows waiting", "resident, MB");
    for (const auto& [millions, each] : seen) {
      std::printf("%10llu %22.1f %14.0f %14.0f\n", static_cast<unsigned long long>(millions), each.state_mb,
                  each.waiting_rows, each.resident_mb);
    }
    std::fflush(stdout);
  }
  // Of the metric's samples whose labels hold `labels`.
  static double Sum(const std::string& text, const std::string& name, const std::string& labels) {
    double sum = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      if (line.substr(0, line.find_first_of("{ ")) != name || line.find(labels) == std::string::npos) continue;
      sum += std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    return sum;
  }

  const Settings settings_;
  const std::unique_ptr<harness::KafkaBroker> broker_ = std::move(*harness::KafkaBroker::Start());
  const std::unique_ptr<harness::PostgresServer> postgres_ = harness::StartPostgres();
  SystemClock clock_;
  pid_t server_ = 0;  // the one whose children serve
  int feeds_ = 0;
  int jobs_ = 0;
  std::string prefix_;  // of the newest feed's topics
  std::string folder_;  // of the newest job
  std::string name_;
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  return weir::bench::ChangefeedBench(weir::bench::Parse({arguments, static_cast<size_t>(count)})).Run();
}
