// `weir demo`: this process hosts a mock Kafka cluster and writes a changefeed of orders into it; a child runs the main
// job on it, is killed with -9 midway and started again; in the end what lies in the sink's folder is compared with
// totals computed straight from the input.
#include <nlohmann/json.hpp>

#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "base/file_system.h"
#include "base/process.h"
#include "connectors/kafka/mock_cluster.h"
#include "connectors/kafka/rdkafka_client.h"
#include "jobs/commands.h"
#include "jobs/demo_feed.h"
#include "jobs/status_line.h"

namespace weir::jobs {
namespace {

constexpr uint32_t kPartitions = 16;
constexpr uint64_t kCustomers = 1000;
constexpr Duration kFeedTime = std::chrono::seconds(12);
constexpr Duration kDrainTime = std::chrono::seconds(20);
constexpr Duration kStopTime = std::chrono::seconds(10);

std::string Definition(const std::string& bootstrap_servers, const std::string& directory) {
  using nlohmann::ordered_json;
  ordered_json job;
  job["name"] = "orders";
  job["parallelism"] = 2;
  job["checkpoint"] = {{"storage", directory + "/checkpoints"}, {"interval", "1s"}};
  job["sources"] = {{{"id", "orders"},
                     {"connector", "kafka"},
                     {"bootstrap-servers", bootstrap_servers},
                     {"topics", "orders"},
                     {"format", "cockroachdb"},
                     {"key-columns", {"id"}}}};
  job["operators"] = {{{"id", "kept"}, {"type", "filter"}, {"input", "orders"}, {"where", "status <> 'returned'"}},
                      {{"id", "shaped"},
                       {"type", "project"},
                       {"input", "kept"},
                       {"columns", {{"customer", "customer_id"}, {"amount", "CAST(amount AS numeric(20, 2))"}}}},
                      {{"id", "by_customer"}, {"type", "key_by"}, {"input", "shaped"}, {"keys", {"customer"}}},
                      {{"id", "totals"},
                       {"type", "aggregate"},
                       {"input", "by_customer"},
                       {"aggregates",
                        {{"orders", {{"function", "count"}}},
                         {"total", {{"function", "sum"}, {"column", "amount"}}},
                         {"largest", {{"function", "max"}, {"column", "amount"}}}}}}};
  job["sinks"] = {
      {{"id", "totals_topic"},
       {"connector", "kafka"},
       {"input", "totals"},
       {"bootstrap-servers", bootstrap_servers},
       {"topic", "customer_totals"},
       {"key", {"customer"}}},
      {{"id", "totals_files"}, {"connector", "file"}, {"input", "totals"}, {"path", directory + "/totals"}}};
  return job.dump(2) + "\n";
}

// Lines that the sink's folder shows now, and each customer's row with the greatest count.
struct Found {
  uint64_t rows = 0;
  uint64_t doubled = 0;
  std::map<int64_t, std::map<uint64_t, std::string>> totals;  // customer -> orders -> total
};

// A number as the line has it: a parser's double would lose its last zeros. Empty: no such member.
std::string DigitsOf(std::string_view line, const std::string& name) {
  const std::string label = "\"" + name + "\":";
  const size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + label.size();
  return std::string(line.substr(begin, line.find_first_of(",}", begin) - begin));
}

// Asked now and then by what takes its time: not ok ends it.
using GoOn = std::function<Status()>;

Status ReadPart(FileSystem& fs, const std::string& path, const GoOn& go_on, Found& found) {
  constexpr uint64_t kRowsAtOnce = 10'000;
  WEIR_ASSIGN_OR_RETURN(const std::string content, ReadFile(fs, path));
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const auto line = nlohmann::json::parse(content.begin() + static_cast<std::ptrdiff_t>(begin),
                                            content.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_discarded()) return Status::Corruption(path + " holds a broken line");
    if (++found.rows % kRowsAtOnce == 0) WEIR_RETURN_IF_ERROR(go_on());
    auto& of_customer = found.totals[line.value("customer", int64_t{-1})];
    const std::string text = DigitsOf(std::string_view(content).substr(begin, end - begin), "total");
    if (!of_customer.emplace(line.value("orders", uint64_t{0}), text).second) ++found.doubled;
    begin = end + 1;
  }
  return Status::Ok();
}

Result<Found> ReadFolder(FileSystem& fs, const std::string& folder, const GoOn& go_on) {
  Found found;
  if (!Exists(fs, folder)) return found;
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(".")) WEIR_RETURN_IF_ERROR(ReadPart(fs, JoinPath(folder, name), go_on, found));
  }
  return found;
}

// 123456 -> "1234.56".
std::string DecimalOf(int64_t cents) {
  const std::string fraction = std::to_string(cents % 100);
  return std::to_string(cents / 100) + (fraction.size() < 2 ? ".0" : ".") + fraction;
}

// The first difference between what was found and what the feed added up; empty: none.
std::string Compare(const Found& found, const DemoFeed& feed) {
  if (found.doubled > 0) return std::to_string(found.doubled) + " rows are there twice";
  if (found.rows != feed.kept()) {
    return std::to_string(found.rows) + " rows, expected " + std::to_string(feed.kept());
  }
  for (size_t customer = 0; customer < feed.totals().size(); ++customer) {
    const DemoTotal& expected = feed.totals()[customer];
    if (expected.orders == 0) continue;
    const auto it = found.totals.find(static_cast<int64_t>(customer));
    if (it == found.totals.end() || it->second.size() != expected.orders ||
        it->second.rbegin()->first != expected.orders) {
      return "customer " + std::to_string(customer) + " has not each count from 1 to " +
             std::to_string(expected.orders);
    }
    if (it->second.rbegin()->second != DecimalOf(expected.cents)) {
      return "customer " + std::to_string(customer) + " has total " + it->second.rbegin()->second + ", expected " +
             DecimalOf(expected.cents);
    }
  }
  return {};
}

class Demo {
 public:
  Demo(DemoArguments arguments, std::string directory, SignalWaiter& signals)
      : arguments_(std::move(arguments)),
        directory_(std::move(directory)),
        signals_(signals),
        fs_(NewPosixFileSystem()),
        workers_(NewThreadWorkerFactory()),
        feed_({.seed = 7, .splits = kPartitions, .customers = kCustomers}, "orders", arguments_.rows, kFeedTime) {}

  Status Run() {
    WEIR_RETURN_IF_ERROR(Prepare());
    WEIR_RETURN_IF_ERROR(StartChild());
    WEIR_RETURN_IF_ERROR(FeedUntil(arguments_.rows / 2));
    std::cout << "demo: kill -9 after " << GroupDigits(feed_.written()) << " rows were written\n";
    child_->Signal(SIGKILL);
    while (!child_->WaitFor(std::chrono::seconds(1)).has_value()) {
    }
    WEIR_RETURN_IF_ERROR(StartChild());
    WEIR_RETURN_IF_ERROR(FeedUntil(arguments_.rows));
    WEIR_RETURN_IF_ERROR(Drain());
    return StopAndCompare();
  }

 private:
  Status Prepare() {
    WEIR_RETURN_IF_ERROR(fs_->CreateDirectories(directory_));
    WEIR_ASSIGN_OR_RETURN(cluster_, connectors::MockCluster::Start());
    WEIR_RETURN_IF_ERROR(cluster_->CreateTopic("orders", static_cast<int>(kPartitions)));
    WEIR_RETURN_IF_ERROR(cluster_->CreateTopic("customer_totals", 4));
    const std::string servers = cluster_->bootstrap_servers();
    definition_ = JoinPath(directory_, "orders.json");
    WEIR_RETURN_IF_ERROR(WriteFileDurably(*fs_, definition_, Definition(servers, directory_)));
    factory_ = connectors::NewRdKafkaClientFactory();
    std::cout << "demo: a mock Kafka cluster listens on " << servers << "; definition, checkpoints and output are in "
              << directory_ << "\n";
    return feed_.Open(*factory_, servers, clock_, *workers_);
  }

  Status StartChild() {
    std::cout << "demo: weir run " << definition_ << std::endl;
    WEIR_ASSIGN_OR_RETURN(child_, ChildProcess::Start({arguments_.self, "run", definition_}));
    return Status::Ok();
  }

  // Not ok once a stop was asked for; waits for that.
  Status Pause(Duration duration) {
    if (signals_.WaitFor(duration) != SignalWaiter::Event::kStop) return Status::Ok();
    return Status::Cancelled("stopped before its totals were proven");
  }

  Status ChildRuns() {
    const auto code = child_->WaitFor(Duration::zero());
    if (!code.has_value()) return Status::Ok();
    WEIR_RETURN_IF_ERROR(Pause(Duration::zero()));  // a terminal's Ctrl-C goes to both
    return Status::Internal("the job ended by itself with exit code " + std::to_string(*code));
  }

  Status FeedUntil(uint64_t rows) {
    while (feed_.written() < rows) {
      WEIR_RETURN_IF_ERROR(Pause(std::chrono::milliseconds(50)));
      WEIR_RETURN_IF_ERROR(feed_.Step());
      WEIR_RETURN_IF_ERROR(ChildRuns());
    }
    return Status::Ok();
  }

  Result<Found> ReadTotals() {
    return ReadFolder(*fs_, JoinPath(directory_, "totals"), [this] { return Pause(Duration::zero()); });
  }

  // Until as many rows are visible as were kept, or time is up: the comparison then says what is wrong.
  Status Drain() {
    const MonotonicTime end = clock_.Now() + kDrainTime;
    while (clock_.Now() < end) {
      WEIR_RETURN_IF_ERROR(Pause(std::chrono::milliseconds(500)));
      WEIR_RETURN_IF_ERROR(ChildRuns());
      if (!feed_.acknowledged()) continue;
      WEIR_ASSIGN_OR_RETURN(const Found found, ReadTotals());
      if (found.rows >= feed_.kept()) return Status::Ok();
    }
    return Status::Ok();
  }

  Status StopAndCompare() {
    child_->Signal(SIGTERM);
    const MonotonicTime end = clock_.Now() + kStopTime;
    std::optional<int> code;
    while (!code.has_value() && clock_.Now() < end) {
      WEIR_RETURN_IF_ERROR(Pause(Duration::zero()));
      code = child_->WaitFor(std::chrono::milliseconds(50));
    }
    if (code != 0) {
      return Status::Internal("the job did not stop cleanly: " +
                              (code.has_value() ? "exit code " + std::to_string(*code) : "it still runs"));
    }
    WEIR_ASSIGN_OR_RETURN(const Found found, ReadTotals());
    if (const std::string difference = Compare(found, feed_); !difference.empty()) return Status::Internal(difference);
    std::cout << "demo: " << GroupDigits(feed_.written()) << " orders written, " << GroupDigits(feed_.kept())
              << " kept by the filter; the folder holds " << GroupDigits(found.rows) << " rows of "
              << GroupDigits(found.totals.size())
              << " customers: every count once, every total equal to the one computed from the input\n";
    return Status::Ok();
  }

  const DemoArguments arguments_;
  const std::string directory_;
  SignalWaiter& signals_;
  SystemClock clock_;
  std::unique_ptr<FileSystem> fs_;
  std::unique_ptr<WorkerFactory> workers_;
  std::unique_ptr<connectors::MockCluster> cluster_;
  std::unique_ptr<connectors::KafkaClientFactory> factory_;
  DemoFeed feed_;
  std::string definition_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace

ExitCode DemoCommand(const DemoArguments& arguments, SignalWaiter& signals) {
  const bool temporary = arguments.directory.empty();
  const std::string directory =
      temporary ? "/tmp/weir-demo-" + NewSystemRandom()->NextId().ToString().substr(0, 8) : arguments.directory;
  Status status;
  {
    Demo demo(arguments, directory, signals);
    status = demo.Run();
  }
  const bool stopped = status.code() == StatusCode::kCancelled;
  const bool removed = temporary && (status.ok() || stopped) && NewPosixFileSystem()->RemoveTree(directory).ok();
  if (status.ok()) return ExitCode::kOk;
  std::cerr << "demo: " << (stopped ? status.message() : "FAILED: " + status.ToString()) << "; " << directory
            << (removed ? " is removed\n" : " stays\n");
  return ExitCode::kJobFailed;
}

}  // namespace weir::jobs
