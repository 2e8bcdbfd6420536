// Whole jobs as `weir run` runs them against the floor (kafka_floor.cc), on a real broker, in one run; bench/README.md
// says how to read it.
//
//   job_bench [--rows=4000000] [--rounds=3] [--weir=PATH] [--jobs=FOLDER] [--only=NAME,...] [--hold]
//
// NAME: generator, pass, aggregate, delivery, postgres, checkpoints, latency, start, rescale, bounded. --hold feeds,
// prints the broker's address and waits for a line of input: for a profiler.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/kafka_feed.h"
#include "bench/measured_run.h"
#include "tests/harness/child_process.h"
#include "tests/harness/kafka_broker.h"
#include "tests/harness/postgres_server.h"

namespace weir::bench {
namespace {

struct Settings {
  uint64_t rows = 4'000'000;
  int rounds = 3;
  std::string folder;  // of the programs
  std::string weir;
  std::string jobs = WEIR_BENCH_JOBS;
  std::vector<std::string> only;
  bool hold = false;

  bool Wants(const std::string& name) const { return only.empty() || std::ranges::find(only, name) != only.end(); }
};

Settings Parse(std::span<char*> arguments) {
  Settings settings;
  const std::string self = arguments[0];
  settings.folder = self.substr(0, self.rfind('/') + 1);
  settings.weir = settings.folder + "weir";
  for (const std::string argument : arguments.subspan(1)) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--rows=")) settings.rows = std::strtoull(value.c_str(), nullptr, 10);
    if (argument.starts_with("--rounds=")) settings.rounds = std::atoi(value.c_str());
    if (argument.starts_with("--weir=")) settings.weir = value;
    if (argument.starts_with("--jobs=")) settings.jobs = value;
    if (argument == "--hold") settings.hold = true;
    if (!argument.starts_with("--only=")) continue;
    std::stringstream names(value);
    for (std::string name; std::getline(names, name, ',');) settings.only.push_back(name);
  }
  return settings;
}

// What the runs of one case cost, and its line in the table.
struct Series {
  std::vector<double> cpu, wall, peak;
  bool ok = true;

  void Add(const RunCost& cost) {
    cpu.push_back(cost.cpu_s);
    wall.push_back(cost.wall_s);
    peak.push_back(cost.peak_mb);
    ok = ok && cost.ok;
  }
};

using Inodes = std::set<uint64_t>;

// A folder's files: those that are a second name of a known one, and those with bytes of their own. No file may come or
// go meanwhile.
struct FolderBytes {
  Inodes inodes;
  double linked_mb = 0;
  double own_mb = 0;
};
FolderBytes LookInto(const std::string& path, const Inodes& known) {
  FolderBytes bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    struct stat info{};
    if (lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (!bytes.inodes.insert(info.st_ino).second) continue;
    (known.contains(info.st_ino) ? bytes.linked_mb : bytes.own_mb) += static_cast<double>(info.st_size) / 1e6;
  }
  return bytes;
}

class JobBench {
 public:
  explicit JobBench(Settings settings)
      : settings_(std::move(settings)),
        broker_(std::move(*harness::KafkaBroker::Start())),
        feed_(broker_->bootstrap()) {}

  int Run() {
    if (!settings_.hold && settings_.Wants("generator")) Generator();
    const bool aggregate = settings_.Wants("aggregate");
    if (settings_.hold || settings_.Wants("pass") || settings_.Wants("delivery") || aggregate)
      Input("rows-100k", settings_.rows, 100'000);
    if (settings_.hold || aggregate) Input("rows-1m", settings_.rows, 1'000'000);
    if (settings_.hold) return Hold();
    std::printf("%-32s %10s %10s %10s %10s %10s\n", "", "CPU-s/M", "of floor", "M rows/s", "of floor", "peak MB");
    if (settings_.Wants("pass")) Compare("pass -> kafka", "pass", "rows-100k", "pass.json", true);
    for (const std::string keys : {"100k", "1m"}) {
      if (!aggregate) break;
      Compare("aggregate " + keys + " -> kafka", "agg", "rows-" + keys, "aggregate_to_kafka.json", true);
      Compare("aggregate " + keys + " -> blackhole", "agg", "rows-" + keys, "aggregate_to_blackhole.json", false);
    }
    if (settings_.Wants("delivery")) Delivery();
    if (settings_.Wants("postgres")) Postgres();
    if (settings_.Wants("checkpoints")) Checkpoints();
    if (settings_.Wants("latency")) Latency();
    if (settings_.Wants("start")) Start();
    if (settings_.Wants("rescale")) Rescale();
    if (settings_.Wants("bounded")) Bounded();
    return 0;
  }

 private:
  static constexpr Duration kPatience = std::chrono::minutes(5);

  void Input(const std::string& topic, uint64_t rows, uint64_t accounts) {
    CheckOk(broker_->CreateTopic(topic, kPartitions));
    feed_.Write(topic, 0, rows, accounts);
  }
  std::string NewOutput() {
    const std::string name = "out-" + std::to_string(++outputs_);
    CheckOk(broker_->CreateTopic(name, kPartitions));
    return name;
  }

  // The definition with its places filled in, in a folder of its own for what the job keeps.
  std::string JobFile(const std::string& definition, const std::string& input, const std::string& output) {
    folder_ = broker_->folder() + "/job-" + std::to_string(++jobs_);
    return WriteJobFile(
        settings_.jobs + "/" + definition, folder_,
        {{"@BOOTSTRAP@", broker_->bootstrap()}, {"@INPUT@", input}, {"@OUTPUT@", output}, {"@FOLDER@", folder_}});
  }

  RunCost Weir(const std::string& job, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {settings_.weir, "run", job, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunCost cost = RunMeasured({.arguments = arguments, .environment = {}, .output_path = job + ".log"});
    if (!cost.ok) std::fprintf(stderr, "FAILED: %s\n", ReadFile(job + ".log").c_str());
    std::filesystem::remove_all(folder_ + "/checkpoints");
    return cost;
  }
  RunCost Floor(const std::string& input, const std::string& output, const std::string& mode) {
    return RunMeasured({.arguments = {settings_.folder + "kafka_floor", broker_->bootstrap(), input,
                                      std::to_string(kPartitions), output, mode, std::to_string(settings_.rows)},
                        .environment = {},
                        .output_path = {}});
  }

  // Floor and job alternately, and a job on an empty topic for what starting and stopping takes.
  void Compare(const std::string& name, const std::string& mode, const std::string& input,
               const std::string& definition, bool kafka) {
    const auto output = [&] { return kafka ? NewOutput() : std::string("-"); };
    Series floor, job;
    const std::string empty = NewOutput();
    const double idle_s = Weir(JobFile(definition, empty, output())).wall_s;
    for (int round = 0; round < settings_.rounds; ++round) {
      floor.Add(Floor(input, output(), mode));
      job.Add(Weir(JobFile(definition, input, output())));
    }
    const double millions = static_cast<double>(settings_.rows) / 1e6;
    const double floor_cpu = Median(floor.cpu) / millions, job_cpu = Median(job.cpu) / millions;
    const double floor_rate = millions / Median(floor.wall), job_rate = millions / (Median(job.wall) - idle_s);
    std::printf("%-32s %10.2f %10s %10.2f %10s %10.0f%s\n", ("floor " + name).c_str(), floor_cpu, "", floor_rate, "",
                Median(floor.peak), floor.ok ? "" : "   FAILED");
    std::printf("%-32s %10.2f %10.2f %10.2f %10.2f %10.0f%s\n", ("weir  " + name).c_str(), job_cpu, job_cpu / floor_cpu,
                job_rate, job_rate / floor_rate, Median(job.peak), job.ok ? "" : "   FAILED");
    std::fflush(stdout);
  }

  // One job in two ways alternately; the second one's CPU beside the first one's.
  struct Ways {
    std::string name, definition, input;
    std::array<std::vector<std::string>, 2> arguments;
    double millions = 0;                  // of rows
    std::function<std::string()> output;  // a new one for each run
  };
  void CompareWays(const Ways& ways) {
    std::array<Series, 2> series;
    for (int round = 0; round < settings_.rounds; ++round) {
      for (size_t way = 0; way < series.size(); ++way) {
        const std::string job = JobFile(ways.definition, ways.input, ways.output());
        std::vector<std::string> more = ways.arguments[way];
        more.push_back("--set=name=job-" + std::to_string(jobs_));  // markers belong to a name
        series[way].Add(Weir(job, more));
      }
    }
    const double first = Median(series[0].cpu) / ways.millions, second = Median(series[1].cpu) / ways.millions;
    std::printf("%-44s %6.2f -> %.2f CPU-s/M (%.2f), %.2f -> %.2f M rows/s%s\n", ways.name.c_str(), first, second,
                second / first, ways.millions / Median(series[0].wall), ways.millions / Median(series[1].wall),
                series[0].ok && series[1].ok ? "" : "   FAILED");
    std::fflush(stdout);
  }
  void CompareOnKafka(const std::string& name, const std::string& definition, const std::string& input,
                      const std::array<std::vector<std::string>, 2>& arguments) {
    CompareWays({.name = name,
                 .definition = definition,
                 .input = input,
                 .arguments = arguments,
                 .millions = static_cast<double>(settings_.rows) / 1e6,
                 .output = [this] { return NewOutput(); }});
  }
  void Delivery() {
    CompareOnKafka("pass, at least once -> exactly once", "pass.json", "rows-100k", Deliveries({}));
    CompareOnKafka("aggregate 100k, at least once -> exactly once", "aggregate_to_kafka.json", "rows-100k",
                   Deliveries({}));
  }
  static std::array<std::vector<std::string>, 2> Deliveries(const std::vector<std::string>& more) {
    std::array<std::vector<std::string>, 2> ways = {more, more};
    ways[0].push_back("--set=sinks.0.delivery=at-least-once");
    ways[1].push_back("--set=sinks.0.delivery=exactly-once");
    return ways;
  }

  // A quarter of the rows: the server takes ten times as long for one as the job.
  void Postgres() {
    const uint64_t rows = settings_.rows / 4;
    const auto server = std::move(*harness::PostgresServer::Start());
    const auto compare = [&](const std::string& mode, const std::string& key) {
      const auto new_table = [&] {
        const std::string name = "orders_" + std::to_string(++outputs_);
        CheckOk(server->Run("CREATE TABLE " + name +
                            " (id bigint, customer_id bigint, amount numeric, currency text, " +
                            "region text, status text, note text, created_at timestamptz" + key + ")"));
        return name;
      };
      CompareWays(
          {.name = "postgres " + mode + ", at least once -> exactly once",
           .definition = "orders_to_postgres.json",
           .input = server->conninfo(),
           .arguments = Deliveries({"--set=sinks.0.mode=" + mode, "--set=sources.0.rows=" + std::to_string(rows)}),
           .millions = static_cast<double>(rows) / 1e6,
           .output = new_table});
    };
    compare("upsert", ", PRIMARY KEY (customer_id)");
    compare("append", "");
  }
  void Checkpoints() {
    Input("rows-10k", settings_.rows, 10'000);
    CompareOnKafka("aggregate 10k, no checkpoints -> each second", "aggregate_to_blackhole.json", "rows-10k",
                   {{{"--set=checkpoint.interval=1h"}, {"--set=checkpoint.interval=1s"}}});
  }

  // From the moment at which the broker has a row until a read_committed consumer sees one more row of the output.
  void Latency() {
    constexpr size_t kRowsMeasured = 400;
    constexpr size_t kRowsAtOnce = 4;
    Input("ticks", 1000, 100);
    const std::string output = NewOutput();
    const std::string job = JobFile("pass.json", "ticks", output);
    ArrivalWatch watch(broker_->bootstrap(), output);
    auto weir = std::move(*harness::ChildProcess::Start(
        {.arguments = {settings_.weir, "run", job, "--quiet", "--set=sources.0.end=none",
                       "--set=operators.0.where=status <> ''", "--set=sinks.0.delivery=exactly-once",
                       "--set=checkpoint.interval=1s", "--set=name=latency"},
         .environment = {},
         .output_path = job + ".log"}));
    size_t seen = 0;
    while (seen < 1000) seen += AfterAWhile(watch);
    std::vector<MonotonicTime> written;
    std::vector<double> ms;
    while (ms.size() < kRowsMeasured) {
      if (written.size() < kRowsMeasured) {
        feed_.Write("ticks", 1000 + written.size(), 1000 + written.size() + kRowsAtOnce, 100);
        written.insert(written.end(), kRowsAtOnce, clock_.Now());
      }
      for (size_t arrived = AfterAWhile(watch); arrived > 0; --arrived) {
        ms.push_back(static_cast<double>((clock_.Now() - written[ms.size()]).count()) / 1e6);
      }
    }
    StopWeir(weir);
    std::ranges::sort(ms);
    std::printf("exactly once, checkpoint.interval 1s: a row is visible after %.0f ms (p50), %.0f ms (p99)\n",
                ms[ms.size() / 2], ms[ms.size() * 99 / 100]);
    std::fflush(stdout);
  }
  static size_t AfterAWhile(ArrivalWatch& watch) {
    ConditionWakeup never;
    never.Wait();
    return watch.Take();
  }

  // Allocations are counted by the allocator, in two runs of different length: what a start takes falls out.
  void Generator() {
    constexpr double kFew = 2e6, kMany = 20e6;
    Series runs;
    std::vector<double> allocations;
    const std::string job = JobFile("generator.json", "", "");
    for (const double rows : {kFew, kMany}) {
      const std::string set = "--set=sources.0.rows=" + std::to_string(static_cast<int64_t>(rows));
      const std::string log = job + std::to_string(rows);
      const RunCost cost = RunMeasured({.arguments = {settings_.weir, "run", job, "--quiet", "--restore=none", set},
                                        .environment = {{"MALLOC_CONF", "stats_print:true,stats_print_opts:Jgdablx"}},
                                        .output_path = log});
      if (!cost.ok) std::fprintf(stderr, "FAILED: %s\n", ReadFile(log).c_str());
      allocations.push_back(Allocations(ReadFile(log)));
      std::filesystem::remove_all(folder_ + "/checkpoints");
    }
    for (int round = 0; round < settings_.rounds; ++round) {
      runs.Add(Weir(job, {"--restore=none", "--set=sources.0.rows=20000000"}));
    }
    std::printf("generator -> blackhole: %.3f CPU-s/M, %.1f M rows/s, peak %.0f MB, %.4f allocations a row\n",
                Median(runs.cpu) / (kMany / 1e6), kMany / 1e6 / Median(runs.wall), Median(runs.peak),
                (allocations[1] - allocations[0]) / (kMany - kFew));
    std::fflush(stdout);
  }
  // The sum of small and large allocations in jemalloc's statistics.
  static double Allocations(const std::string& text) {
    double sum = 0;
    for (size_t at = text.find("\"nmalloc\""); at != std::string::npos; at = text.find("\"nmalloc\"", at + 1)) {
      sum += std::strtod(text.c_str() + text.find(':', at) + 1, nullptr);
    }
    return sum;
  }

  // From the start of the process to the first row that a consumer of the output sees; then what the job holds when
  // nothing comes.
  void Start() {
    Input("few", 1000, 100);
    std::vector<double> first_ms;
    std::vector<double> idle_mb;
    for (int round = 0; round < std::max(settings_.rounds, 3); ++round) {
      const std::string output = NewOutput();
      const std::string job = JobFile("aggregate_to_kafka.json", "few", output);
      ArrivalWatch watch(broker_->bootstrap(), output);
      auto [weir, ms] = StartAndAwait(job, watch);
      first_ms.push_back(ms);
      (void)weir.Wait(std::chrono::seconds(6));  // past the next checkpoint
      idle_mb.push_back(MeasureRunning(weir.pid()).resident_mb);
      StopWeir(weir);
    }
    std::printf("start to first row %.0f ms, idle resident size %.0f MB (medians of %zu)\n", Median(first_ms),
                Median(idle_mb), first_ms.size());
    std::fflush(stdout);
  }

  std::pair<harness::ChildProcess, double> StartAndAwait(const std::string& job, ArrivalWatch& watch,
                                                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {settings_.weir, "run", job, "--quiet", "--set=sources.0.end=none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const MonotonicTime start = clock_.Now();
    auto weir = std::move(
        *harness::ChildProcess::Start({.arguments = arguments, .environment = {}, .output_path = job + ".log"}));
    if (!watch.AwaitRecord(kPatience)) std::fprintf(stderr, "no row: %s\n", ReadFile(job + ".log").c_str());
    return {std::move(weir), static_cast<double>((clock_.Now() - start).count()) / 1e6};
  }
  static void StopWeir(harness::ChildProcess& weir) {
    weir.Signal(SIGTERM);
    if (weir.Wait(std::chrono::minutes(1)) != 0) std::fprintf(stderr, "a job did not stop well\n");
  }

  // A job with keys of about 150 bytes, one a row, is stopped at parallelism 2, some rows are written, and it starts
  // again, each time from that same checkpoint.
  void Rescale() {
    constexpr std::array<int, 4> kParallelisms = {2, 4, 3, 1};
    const uint64_t rows = settings_.rows * 2;
    CheckOk(broker_->CreateTopic("long-keys", kPartitions));
    feed_.Write("long-keys", 0, rows, 1000, true);
    const std::string output = NewOutput();
    const std::string job = JobFile("long_keys.json", "long-keys", output);
    {
      ArrivalWatch watch(broker_->bootstrap(), output);
      auto [weir, ms] = StartAndAwait(job, watch, {"--set=parallelism=2"});
      while (feed_.Count(output) < rows) (void)weir.Wait(std::chrono::milliseconds(500));
      StopWeir(weir);
    }
    std::filesystem::remove_all(folder_ + "/local");
    std::filesystem::rename(folder_ + "/checkpoints", folder_ + "/stopped");
    feed_.Write("long-keys", rows, rows + 1000, 1000, true);
    std::array<Restarts, kParallelisms.size()> restarts;
    for (int round = 0; round < settings_.rounds; ++round) {
      for (size_t i = 0; i < restarts.size(); ++i) Restart(job, output, kParallelisms[i], restarts[i]);
    }
    std::printf("restore of %.2f GB of state, parallelism 2 to\n", Median(restarts[0].local_linked_mb) / 1e3);
    std::printf("%4s %14s %8s %10s %12s %14s %14s %16s\n", "", "first row, ms", "CPU-s", "read MB", "written MB",
                "local: linked", "own MB", "stored anew MB");
    for (size_t i = 0; i < restarts.size(); ++i) {
      const Restarts& of = restarts[i];
      std::printf("%4d %14.0f %8.2f %10.0f %12.0f %14.0f %14.0f %16.0f\n", kParallelisms[i], Median(of.first_row_ms),
                  Median(of.cpu_s), Median(of.read_mb), Median(of.written_mb), Median(of.local_linked_mb),
                  Median(of.local_own_mb), Median(of.stored_mb));
    }
    std::fflush(stdout);
  }
  struct Restarts {
    std::vector<double> first_row_ms, cpu_s, read_mb, written_mb;  // of the process, until the first row
    std::vector<double> local_linked_mb, local_own_mb;             // then
    std::vector<double> stored_mb;                                 // by the checkpoint of the stop
  };
  // In a copy of what was left in "stopped", by links; nothing writes into a file of a storage twice.
  void Restart(const std::string& job, const std::string& output, int parallelism, Restarts& restarts) {
    const std::string storage = folder_ + "/checkpoints", local = folder_ + "/local";
    std::filesystem::copy(folder_ + "/stopped", storage,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::create_hard_links);
    const Inodes before = LookInto(storage, {}).inodes;
    ArrivalWatch watch(broker_->bootstrap(), output);
    auto [weir, ms] = StartAndAwait(job, watch, {"--set=parallelism=" + std::to_string(parallelism)});
    weir.Pause();
    const CostSoFar cost = MeasureRunning(weir.pid());
    const FolderBytes then = LookInto(local, before);
    weir.Signal(SIGCONT);
    StopWeir(weir);
    const FolderBytes after = LookInto(storage, before);
    std::filesystem::remove_all(storage);
    std::filesystem::remove_all(local);
    restarts.first_row_ms.push_back(ms);
    restarts.cpu_s.push_back(cost.cpu_s);
    restarts.read_mb.push_back(cost.read_mb);
    restarts.written_mb.push_back(cost.written_mb);
    restarts.local_linked_mb.push_back(then.linked_mb);
    restarts.local_own_mb.push_back(then.own_mb);
    restarts.stored_mb.push_back(after.own_mb);
  }

  // More keys than the memory for state holds.
  void Bounded() {
    const RunCost cost = Weir(JobFile("many_keys.json", "", ""));
    std::printf("10 M keys of 100 bytes, 256 MiB for state: %.2f CPU-s/M, %.2f M rows/s, peak %.0f MB%s\n",
                cost.cpu_s / 10, 10 / cost.wall_s, cost.peak_mb, cost.ok ? "" : "   FAILED");
  }

  int Hold() {
    std::printf("broker %s, topics rows-100k and rows-1m; a line ends it\n", broker_->bootstrap().c_str());
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    return 0;
  }

  const Settings settings_;
  const std::unique_ptr<harness::KafkaBroker> broker_;
  KafkaFeed feed_;
  SystemClock clock_;
  int outputs_ = 0;
  int jobs_ = 0;
  std::string folder_;  // of the newest job
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  return weir::bench::JobBench(weir::bench::Parse({arguments, static_cast<size_t>(count)})).Run();
}
