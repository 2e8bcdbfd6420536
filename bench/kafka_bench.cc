// What Weir's Kafka connectors and jobs cost against the floor (kafka_floor.cc), on a real broker, in one run:
//
//   kafka_bench [--rows=4000000] [--accounts=100000] [--weir=PATH --job=NAME=FILE ...]
//
// Feeds a topic of 8 partitions with changefeed rows of 277 bytes, then runs each program as a child and reports its
// CPU seconds per million rows, rows per second and peak resident size. "connectors" is the source's reader and the
// sink's writer in one thread without an engine between them. A job file may use the texts @BOOTSTRAP@, @INPUT@ and
// @OUTPUT@; it must be bounded ("end": "latest").
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "bench/kafka_rows.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/kafka/register_kafka.h"
#include "operators/options_check.h"
#include "tests/harness/kafka_broker.h"

namespace weir::bench {
namespace {

constexpr int kPartitions = 8;

class ConditionWakeup final : public Wakeup {
 public:
  void Wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    condition_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, std::chrono::milliseconds(10), [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;  // guarded by mutex_
};

void CheckOk(const Status& status) { WEIR_CHECK_EQ(status.ToString(), std::string("ok")); }

operators::RawValue Text(std::string text, operators::RawKind kind = operators::RawKind::kString) {
  operators::RawValue value;
  value.kind = kind;
  value.text = std::move(text);
  return value;
}

operators::Options Checked(const std::vector<operators::OptionSpec>& specs,
                           std::vector<std::pair<std::string, operators::RawValue>> members) {
  operators::RawValue object;
  object.kind = operators::RawKind::kObject;
  object.members = std::move(members);
  operators::Problems problems;
  operators::Options options = operators::CheckOptions(object, specs, problems);
  for (const operators::Problem& problem : problems) std::fprintf(stderr, "%s\n", problem.message.c_str());
  WEIR_CHECK(problems.empty());
  return options;
}

void Feed(const std::string& bootstrap, const std::string& topic, uint64_t rows, uint64_t accounts) {
  const auto factory = connectors::NewRdKafkaClientFactory();
  const auto workers = NewThreadWorkerFactory();
  SystemClock clock;
  ConditionWakeup wakeup;
  const auto producer = std::move(
      *factory->NewProducer({.bootstrap_servers = bootstrap, .properties = {}}, {&clock, workers.get(), &wakeup}));
  std::vector<std::string> keys(1000);
  std::vector<std::string> values(1000);
  for (uint64_t i = 0; i < rows;) {
    std::vector<connectors::ProduceRow> block;
    for (size_t j = 0; j < keys.size() && i < rows; ++j, ++i) {
      BuildChangefeedRow(i, accounts, keys[j], values[j]);
      block.push_back({.key = keys[j], .value = values[j], .partition = static_cast<int32_t>(i % kPartitions)});
    }
    for (size_t taken = 0; taken < block.size();) {
      taken += *producer->Produce(topic, std::span(block).subspan(taken));
      CheckOk(producer->Progress().error);
      if (taken < block.size()) wakeup.Wait();
    }
  }
  while (producer->Progress().acknowledged < producer->Progress().accepted) wakeup.Wait();
}

// The source's reader straight into the sink's writer.
class Connectors final : public operators::SourceOutput {
 public:
  Connectors(const std::string& bootstrap, const std::string& input, const std::string& output) {
    connectors::RegisterKafka(registry_, *factory_);
    const operators::SourceType* source = registry_.FindSource("kafka");
    operators::RawValue columns;
    columns.kind = operators::RawKind::kList;
    for (const char* name : {"id", "account_id", "amount", "currency", "region", "status", "updated_at"}) {
      columns.list.push_back(Text(name));
    }
    source_ = std::move(*source->create(Checked(source->options, {{"bootstrap-servers", Text(bootstrap)},
                                                                  {"topics", Text(input)},
                                                                  {"format", Text("cockroachdb")},
                                                                  {"columns", columns},
                                                                  {"end", Text("latest")}})));
    if (output == "-") return;
    const operators::SinkType* sink = registry_.FindSink("kafka");
    sink_ = std::move(*sink->create(Checked(
        sink->options, {{"bootstrap-servers", Text(bootstrap)}, {"topic", Text(output)}, {"key", Text("id")}})));
  }

  int Run() {
    reader_ = std::move(*source_->CreateReader());
    enumerator_ = std::move(*source_->CreateEnumerator());
    operators::ReaderContext reader{.uid = "in",
                                    .clock = &clock_,
                                    .workers = workers_.get(),
                                    .wakeup = &wakeup_,
                                    .metrics = &metrics_,
                                    .send_event = {}};
    CheckOk(reader_->Open(reader));
    if (sink_ != nullptr) {
      writer_ = std::move(*sink_->CreateWriter());
      operators::WriterContext writer{.job = "bench",
                                      .uid = "out",
                                      .subtask = 0,
                                      .parallelism = 1,
                                      .attempt = {1, 1},
                                      .clock = &clock_,
                                      .workers = workers_.get(),
                                      .wakeup = &wakeup_,
                                      .metrics = &metrics_};
      CheckOk(writer_->Open(writer));
    }
    operators::EnumeratorContext enumerator{.uid = "in",
                                            .clock = &clock_,
                                            .workers = workers_.get(),
                                            .wakeup = &wakeup_,
                                            .assign_splits =
                                                [this](uint32_t, std::vector<operators::SourceSplit> splits) {
                                                  CheckOk(reader_->AddSplits(std::move(splits)));
                                                },
                                            .no_more_splits = [this](uint32_t) { reader_->NoMoreSplits(); },
                                            .send_event = {}};
    CheckOk(enumerator_->Start(std::move(enumerator), std::nullopt, {}));
    for (bool finished = false; !finished;) {
      CheckOk(enumerator_->Step());
      if (writer_ != nullptr && !writer_->CanWrite()) {
        wakeup_.Wait();
        continue;
      }
      const operators::PollStatus status = *reader_->PollNext(*this);
      finished = status == operators::PollStatus::kFinished;
      if (status == operators::PollStatus::kIdle) wakeup_.Wait();
    }
    while (writer_ != nullptr && !*writer_->ReadyForBarrier()) wakeup_.Wait();
    std::_Exit(0);  // closing the clients is no part of the figure
  }

  Status Emit(operators::Batch batch) override {
    // A block may hold more than one batch; the writer takes the next when it has room.
    while (writer_ != nullptr && !writer_->CanWrite()) wakeup_.Wait();
    return writer_ == nullptr ? Status() : writer_->Write(std::move(batch));
  }
  Status EmitSide(std::string_view, operators::Batch) override { return {}; }
  bool HasSide(std::string_view) const override { return false; }
  void EmitWatermark(const std::string&, operators::Watermark) override {}

 private:
  const std::unique_ptr<connectors::KafkaClientFactory> factory_ = connectors::NewRdKafkaClientFactory();
  const std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  SystemClock clock_;
  ConditionWakeup wakeup_;
  operators::SubtaskMetrics metrics_;
  operators::Registry registry_;
  std::unique_ptr<operators::Source> source_;
  std::unique_ptr<operators::Sink> sink_;
  std::unique_ptr<operators::SplitEnumerator> enumerator_;
  std::unique_ptr<operators::SourceReader> reader_;
  std::unique_ptr<operators::SinkWriter> writer_;
};

// Runs a program to its end and prints its line.
void Measure(const std::string& name, uint64_t rows, std::vector<std::string> arguments) {
  SystemClock clock;
  const MonotonicTime start = clock.Now();
  const pid_t child = fork();
  WEIR_CHECK_GE(child, 0);
  if (child == 0) {
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv(raw[0], raw.data());
    std::perror(raw[0]);
    std::_Exit(127);
  }
  int status = 0;
  rusage usage{};
  WEIR_CHECK_EQ(wait4(child, &status, 0, &usage), child);
  const double wall_s = static_cast<double>((clock.Now() - start).count()) / 1e9;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const double cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const double millions = static_cast<double>(rows) / 1e6;
  std::printf("%-28s %8.2f CPU-s/M %8.2f M rows/s %6ld MB%s\n", name.c_str(), cpu_s / millions, millions / wall_s,
              usage.ru_maxrss / 1024, status == 0 ? "" : "   FAILED");
  std::fflush(stdout);
}

std::string Filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [from, to] : values) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

struct Settings {
  uint64_t rows = 4'000'000;
  uint64_t accounts = 100'000;
  std::string weir;
  std::vector<std::pair<std::string, std::string>> jobs;  // name, file
};

Settings Parse(std::span<char*> arguments) {
  Settings settings;
  for (const std::string argument : arguments.subspan(1)) {
    const size_t equals = argument.find('=');
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (argument.starts_with("--rows=")) settings.rows = std::strtoull(value.c_str(), nullptr, 10);
    if (argument.starts_with("--accounts=")) settings.accounts = std::strtoull(value.c_str(), nullptr, 10);
    if (argument.starts_with("--weir=")) settings.weir = value;
    if (argument.starts_with("--job="))
      settings.jobs.emplace_back(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
  }
  return settings;
}

int Run(std::span<char*> arguments) {
  const Settings settings = Parse(arguments);
  auto broker = std::move(*harness::KafkaBroker::Start());
  int outputs = 0;
  const auto new_output = [&] {
    const std::string name = "out-" + std::to_string(++outputs);
    CheckOk(broker->CreateTopic(name, kPartitions));
    return name;
  };
  CheckOk(broker->CreateTopic("in", kPartitions));
  Feed(broker->bootstrap(), "in", settings.rows, settings.accounts);
  const std::string self = arguments[0];
  const std::string floor = self.substr(0, self.rfind('/') + 1) + "kafka_floor";
  const std::string rows = std::to_string(settings.rows);
  const std::string partitions = std::to_string(kPartitions);
  for (const bool aggregate : {false, true}) {
    for (const bool kafka : {true, false}) {
      Measure(
          std::string("floor ") + (aggregate ? "aggregate" : "pass") + (kafka ? " -> kafka" : " -> nothing"),
          settings.rows,
          {floor, broker->bootstrap(), "in", partitions, kafka ? new_output() : "-", aggregate ? "agg" : "pass", rows});
    }
  }
  Measure("connectors -> kafka", settings.rows, {self, "connectors", broker->bootstrap(), "in", new_output()});
  Measure("connectors -> nothing", settings.rows, {self, "connectors", broker->bootstrap(), "in", "-"});
  for (const auto& [name, file] : settings.jobs) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    const std::string folder = broker->folder() + "/job-" + name;
    const std::string job = folder + ".json";
    std::ofstream(job) << Filled(
        text.str(),
        {{"@BOOTSTRAP@", broker->bootstrap()}, {"@INPUT@", "in"}, {"@OUTPUT@", new_output()}, {"@FOLDER@", folder}});
    Measure("weir " + name, settings.rows, {settings.weir, "run", job});
  }
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  const std::span all(arguments, static_cast<size_t>(count));
  if (count == 5 && std::string(all[1]) == "connectors") return weir::bench::Connectors(all[2], all[3], all[4]).Run();
  return weir::bench::Run(all);
}
