#include <algorithm>
#include <utility>

#include "tests/connectors/kafka/kafka_world.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/sim_kafka.h"

namespace weir::kafka_test {
namespace {

class SimWorld final : public KafkaWorld {
 public:
  explicit SimWorld(uint64_t seed)
      : random_(seed), broker_(clock_, random_.Split("kafka")), factory_(broker_.NewClientFactory()) {
    simulation::SimKafkaFaults faults;
    faults.lost_one_in = 10;
    broker_.SetFaults(faults);
    broker_.SetPassTime([this](MonotonicTime limit) {
      const bool deed_due = later_ != nullptr && later_at_ <= limit;
      clock_.AdvanceTo(std::max(clock_.Now(), deed_due ? later_at_ : limit));
      if (deed_due) std::exchange(later_, nullptr)();
    });
  }

  connectors::KafkaClientFactory& factory() override { return *factory_; }
  connectors::KafkaConnection connection() const override {
    return {.bootstrap_servers = "sim:9092", .properties = {}};
  }
  connectors::KafkaClientContext context() override { return {&clock_, &workers_, &wakeup_}; }
  void Wait() override {
    constexpr Duration kStep = std::chrono::milliseconds(10);
    if (workers_.RunOne(random_)) return;
    const MonotonicTime limit = clock_.Now() + kStep;
    clock_.AdvanceTo(std::max(clock_.Now(), std::min(limit, broker_.NextEvent().value_or(limit))));
    broker_.RunDue();
  }

  Status CreateTopic(const std::string& topic, int partitions) override {
    return broker_.CreateTopic(topic, partitions);
  }
  Status DeleteTopic(const std::string& topic) override { return broker_.DeleteTopic(topic); }
  Status AddPartitions(const std::string& topic, int partitions) override {
    return broker_.AddPartitions(topic, partitions);
  }
  void Append(const std::string& topic, int32_t partition, const std::vector<TestRecord>& records) override {
    for (const TestRecord& record : records) broker_.Append(topic, partition, Convert(record));
  }
  uint64_t BeginTransaction() override { return broker_.BeginTransaction(); }
  void AppendIn(uint64_t transaction, const std::string& topic, int32_t partition,
                const std::vector<TestRecord>& records) override {
    for (const TestRecord& record : records) broker_.AppendIn(transaction, topic, partition, Convert(record));
  }
  void EndTransaction(uint64_t transaction, bool commit) override { broker_.EndTransaction(transaction, commit); }
  void TrimLog(const std::string& topic, int32_t partition, int64_t low) override {
    broker_.TrimLog(topic, partition, low);
  }
  void SetReachable(bool reachable) override { broker_.SetReachable(reachable); }
  void Later(Duration after, std::function<void()> deed) override {
    later_at_ = clock_.Now() + after;
    later_ = std::move(deed);
  }

 private:
  static simulation::SimRecord Convert(const TestRecord& record) {
    return {record.key, record.value, record.timestamp_ms};
  }

  simulation::ManualClock clock_;
  simulation::ManualWorkerFactory workers_;
  NoWakeup wakeup_;
  SeededRandom random_;
  simulation::SimKafka broker_;
  std::unique_ptr<connectors::KafkaClientFactory> factory_;
  MonotonicTime later_at_;
  std::function<void()> later_;
};

}  // namespace

std::unique_ptr<KafkaWorld> NewSimWorld(uint64_t seed) { return std::make_unique<SimWorld>(seed); }

}  // namespace weir::kafka_test
