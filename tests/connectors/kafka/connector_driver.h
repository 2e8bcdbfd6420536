// Drives a Kafka source (enumerator and readers) or a sink writer by hand, as the runtime would, on a world. One
// thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "connectors/kafka/client.h"
#include "operators/options_check.h"
#include "operators/registry.h"
#include "tests/connectors/kafka/kafka_world.h"

namespace weir::kafka_test {

operators::RawValue Text(std::string text);
operators::RawValue Number(int64_t number);
operators::RawValue List(const std::vector<std::string>& texts);
operators::RawValue Object(std::vector<std::pair<std::string, operators::RawValue>> members);

using Definition = std::vector<std::pair<std::string, operators::RawValue>>;

// The problems of a definition by specs and check, one line each.
std::vector<std::string> ProblemsOf(const std::vector<operators::OptionSpec>& specs,
                                    const std::function<void(const operators::Options&, operators::Problems&)>& check,
                                    const Definition& definition, operators::Options* options = nullptr);

// What a checkpoint would hold of a source.
struct SourceSnapshot {
  std::string enumerator;
  std::vector<operators::SourceSplit> splits;
  // Of readers to the enumerator, which it had not heard of at its cut: subtask, text.
  std::vector<std::pair<uint32_t, std::string>> events = {};
};

class SourceDriver final : public operators::SourceOutput {
 public:
  // bootstrap-servers is added to the definition.
  SourceDriver(KafkaWorld& world, Definition definition, uint32_t parallelism = 1);

  Status Start(const SourceSnapshot* restored = nullptr);
  // One round: the enumerator, then each reader once.
  void Step();
  bool Until(const std::function<bool()>& done);  // also ends, false, at the first error
  bool ReadRows(size_t count) {
    return Until([&] { return rows.size() >= count; });
  }
  bool ReadToEnd() {
    return Until([this] { return finished == readers_.size(); });
  }
  // Steps for that long.
  void Linger(Duration time);
  // Between the enumerator's cut and the readers' each reader is polled `polls` times.
  SourceSnapshot Snapshot(uint64_t number, size_t polls = 0);
  void Applied(uint64_t number);
  uint64_t bad_records() const { return metrics_.bad_records.load(); }
  int64_t lag() const { return metrics_.lag_records.load(); }
  // Of a named counter or gauge, the sum over its labels, of those that have a value.
  double MetricSum(std::string_view name) const;
  bool ready() const { return enumerator_->ready(); }
  size_t SplitsOf(uint32_t reader) { return assigned_[reader]; }
  size_t splits() const;

  Status Emit(operators::Batch batch) override;
  Status EmitSide(std::string_view tag, operators::Batch batch) override;
  bool HasSide(std::string_view) const override { return true; }
  void EmitWatermark(const std::string& split_id, operators::Watermark watermark) override;

  std::vector<std::string> rows;  // the last column's text
  std::vector<std::string> sorted_rows() const;
  std::vector<std::string> dead_letters;  // "topic/partition/offset/value: error"
  std::map<std::string, operators::EventTime> watermarks;
  std::map<std::string, std::vector<operators::EventTime>> history;  // of each split's watermark, rises only
  size_t late_rows = 0;                       // not newer than a watermark that was emitted before
  std::map<std::string, std::string> begins;  // split id -> the position it was assigned at
  // The value of a metric of the enumerator's or the readers'; NaN: none.
  double Metric(const std::string& name, const operators::MetricLabels& labels = {});
  size_t finished = 0;  // readers
  Status error;

 private:
  void DeliverToEnumerator();
  void DeliverToReaders();
  void Poll(size_t reader);

  KafkaWorld& world_;
  operators::Registry registry_;
  operators::SubtaskMetrics metrics_;
  std::vector<std::pair<uint32_t, std::string>> to_enumerator_;
  std::vector<std::pair<uint32_t, std::string>> to_readers_;
  operators::EventTime newest_watermark_;
  std::vector<operators::ReaderContext> contexts_;
  std::unique_ptr<operators::Source> source_;
  std::unique_ptr<operators::SplitEnumerator> enumerator_;
  std::vector<std::unique_ptr<operators::SourceReader>> readers_;
  std::vector<bool> done_;
  std::map<uint32_t, size_t> assigned_;
};

class SinkDriver {
 public:
  SinkDriver(KafkaWorld& world, Definition definition);
  // `files` and `output_folder` are for exactly-once delivery.
  Status Open(FileSystem* files = nullptr, const std::string& output_folder = {});
  // Waits for room, then writes.
  Status Write(operators::Batch batch);
  // A barrier: comes back when all is acknowledged.
  Status Barrier();
  operators::SinkWriter& writer() { return *writer_; }
  uint64_t bad_records() const { return metrics_.bad_records.load(); }

 private:
  KafkaWorld& world_;
  operators::Registry registry_;
  operators::SubtaskMetrics metrics_;
  operators::WriterContext context_;
  std::unique_ptr<operators::Sink> sink_;
  std::unique_ptr<operators::SinkWriter> writer_;
};

}  // namespace weir::kafka_test
