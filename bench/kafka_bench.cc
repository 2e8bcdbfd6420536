// What Weir's Kafka connectors cost without an engine against the floor (kafka_floor.cc), on a real broker, in one run:
//
//   kafka_bench [--rows=4000000] [--accounts=100000]
//
// Feeds a topic of 8 partitions with changefeed rows of 277 bytes, then runs each program as a child. "connectors" is
// the source's reader and the sink's writer in one thread. bench/job_bench.cc measures whole jobs.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/kafka_feed.h"
#include "bench/measured_run.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/kafka/register_kafka.h"
#include "operators/options_check.h"
#include "tests/harness/kafka_broker.h"

namespace weir::bench {
namespace {

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

void Measure(const std::string& name, uint64_t rows, const std::vector<std::string>& arguments) {
  const RunCost cost = RunMeasured({.arguments = arguments, .environment = {}, .output_path = {}});
  const double millions = static_cast<double>(rows) / 1e6;
  std::printf("%-28s %8.2f CPU-s/M %8.2f M rows/s %6.0f MB%s\n", name.c_str(), cost.cpu_s / millions,
              millions / cost.wall_s, cost.peak_mb, cost.ok ? "" : "   FAILED");
  std::fflush(stdout);
}

int Run(std::span<char*> arguments) {
  uint64_t rows = 4'000'000;
  uint64_t accounts = 100'000;
  for (const std::string argument : arguments.subspan(1)) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--rows=")) rows = std::strtoull(value.c_str(), nullptr, 10);
    if (argument.starts_with("--accounts=")) accounts = std::strtoull(value.c_str(), nullptr, 10);
  }
  auto broker = std::move(*harness::KafkaBroker::Start());
  int outputs = 0;
  const auto new_output = [&] {
    const std::string name = "out-" + std::to_string(++outputs);
    CheckOk(broker->CreateTopic(name, kPartitions));
    return name;
  };
  CheckOk(broker->CreateTopic("in", kPartitions));
  KafkaFeed(broker->bootstrap()).Write("in", 0, rows, accounts);
  const std::string self = arguments[0];
  const std::string floor = self.substr(0, self.rfind('/') + 1) + "kafka_floor";
  const std::string partitions = std::to_string(kPartitions);
  for (const bool kafka : {true, false}) {
    const std::string where = kafka ? " -> kafka" : " -> nothing";
    Measure("floor" + where, rows,
            {floor, broker->bootstrap(), "in", partitions, kafka ? new_output() : "-", "pass", std::to_string(rows)});
    Measure("connectors" + where, rows, {self, "connectors", broker->bootstrap(), "in", kafka ? new_output() : "-"});
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
