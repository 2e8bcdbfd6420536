// The real broker as a world. Speaks librdkafka directly for what the port has no call for.
#include <librdkafka/rdkafka.h>

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/random.h"
#include "connectors/kafka/rdkafka_client.h"
#include "tests/connectors/kafka/kafka_world.h"
#include "tests/harness/kafka_broker.h"

namespace weir::kafka_test {
namespace {

constexpr int kTimeoutMs = 15'000;

class ConditionWakeup final : public Wakeup {
 public:
  void Wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    condition_.notify_all();
  }
  void WaitFor(Duration limit) {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, limit, [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;  // guarded by mutex_
};

void Set(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  std::array<char, 256> reason{};
  WEIR_CHECK_EQ(static_cast<int>(rd_kafka_conf_set(conf, name, value.c_str(), reason.data(), reason.size())), 0);
}

void CheckOk(rd_kafka_error_t* error) {
  WEIR_CHECK_EQ(error == nullptr ? std::string() : std::string(rd_kafka_error_string(error)), std::string());
}

class RealWorld final : public KafkaWorld {
 public:
  RealWorld()
      : broker_(harness::SharedKafkaBroker()),
        factory_(connectors::NewRdKafkaClientFactory()),
        workers_(NewThreadWorkerFactory()),
        random_(NewSystemRandom()),
        producer_(NewProducer({})) {}
  ~RealWorld() override {
    later_.reset();
    for (const auto& [number, producer] : transactions_) rd_kafka_destroy(producer);
    rd_kafka_destroy(producer_);
  }
  RealWorld(const RealWorld&) = delete;
  RealWorld& operator=(const RealWorld&) = delete;

  connectors::KafkaClientFactory& factory() override { return *factory_; }
  connectors::KafkaConnection connection() const override {
    return {.bootstrap_servers = broker_.bootstrap(), .properties = {{"fetch.wait.max.ms", "10"}}};
  }
  connectors::KafkaClientContext context() override { return {&clock_, workers_.get(), &wakeup_}; }
  void Wait() override { wakeup_.WaitFor(std::chrono::milliseconds(10)); }

  Status CreateTopic(const std::string& topic, int partitions) override {
    return broker_.CreateTopic(topic, partitions);
  }
  Status DeleteTopic(const std::string& topic) override { return broker_.DeleteTopic(topic); }
  Status AddPartitions(const std::string& topic, int partitions) override;
  void Append(const std::string& topic, int32_t partition, const std::vector<TestRecord>& records) override {
    Produce(producer_, topic, partition, records);
  }
  uint64_t BeginTransaction() override {
    rd_kafka_t* producer = NewProducer(random_->NextId().ToString());
    CheckOk(rd_kafka_init_transactions(producer, kTimeoutMs));
    CheckOk(rd_kafka_begin_transaction(producer));
    transactions_[++last_transaction_] = producer;
    return last_transaction_;
  }
  void AppendIn(uint64_t transaction, const std::string& topic, int32_t partition,
                const std::vector<TestRecord>& records) override {
    Produce(transactions_.at(transaction), topic, partition, records);
  }
  void EndTransaction(uint64_t transaction, bool commit) override {
    rd_kafka_t* producer = transactions_.at(transaction);
    CheckOk(commit ? rd_kafka_commit_transaction(producer, kTimeoutMs)
                   : rd_kafka_abort_transaction(producer, kTimeoutMs));
    rd_kafka_destroy(producer);
    transactions_.erase(transaction);
  }
  void TrimLog(const std::string& topic, int32_t partition, int64_t low) override;
  void SetReachable(bool reachable) override { reachable ? broker_.Resume() : broker_.Pause(); }
  void Later(Duration after, std::function<void()> deed) override {
    later_ = workers_->NewWorker("later");
    later_->Submit([after, deed = std::move(deed)] {
      ConditionWakeup never;
      never.WaitFor(after);
      deed();
    });
  }

 private:
  rd_kafka_t* NewProducer(const std::string& transactional_id) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    Set(conf, "bootstrap.servers", broker_.bootstrap());
    Set(conf, "linger.ms", "0");
    if (!transactional_id.empty()) Set(conf, "transactional.id", transactional_id);
    std::array<char, 256> reason{};
    rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason.data(), reason.size());
    WEIR_CHECK(producer != nullptr);
    return producer;
  }

  static void Produce(rd_kafka_t* producer, const std::string& topic, int32_t partition,
                      const std::vector<TestRecord>& records) {
    for (const TestRecord& record : records) {
      std::array<rd_kafka_vu_t, 6> arguments{};
      arguments[0].vtype = RD_KAFKA_VTYPE_TOPIC;
      arguments[0].u.cstr = topic.c_str();
      arguments[1].vtype = RD_KAFKA_VTYPE_PARTITION;
      arguments[1].u.i32 = partition;
      arguments[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
      arguments[2].u.i = RD_KAFKA_MSG_F_COPY;
      arguments[3].vtype = RD_KAFKA_VTYPE_VALUE;
      if (record.value) arguments[3].u.mem = {const_cast<char*>(record.value->data()), record.value->size()};
      arguments[4].vtype = RD_KAFKA_VTYPE_KEY;
      if (record.key) arguments[4].u.mem = {const_cast<char*>(record.key->data()), record.key->size()};
      arguments[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
      arguments[5].u.i64 = record.timestamp_ms < 0 ? 0 : record.timestamp_ms;
      CheckOk(rd_kafka_produceva(producer, arguments.data(), arguments.size()));
    }
    WEIR_CHECK_EQ(static_cast<int>(rd_kafka_flush(producer, kTimeoutMs)), 0);
  }

  harness::KafkaBroker& broker_;
  std::unique_ptr<connectors::KafkaClientFactory> factory_;
  SystemClock clock_;
  std::unique_ptr<WorkerFactory> workers_;
  ConditionWakeup wakeup_;
  std::unique_ptr<Random> random_;
  rd_kafka_t* producer_;
  std::map<uint64_t, rd_kafka_t*> transactions_;
  uint64_t last_transaction_ = 0;
  std::unique_ptr<Worker> later_;
};

Status RealWorld::AddPartitions(const std::string& topic, int partitions) {
  std::array<char, 256> reason{};
  std::array<rd_kafka_NewPartitions_t*, 1> request = {
      rd_kafka_NewPartitions_new(topic.c_str(), static_cast<size_t>(partitions), reason.data(), reason.size())};
  rd_kafka_queue_t* queue = rd_kafka_queue_new(producer_);
  rd_kafka_CreatePartitions(producer_, request.data(), 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kTimeoutMs);
  WEIR_CHECK(event != nullptr);
  WEIR_CHECK_EQ(std::string(rd_kafka_err2name(rd_kafka_event_error(event))), std::string("NO_ERROR"));
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewPartitions_destroy(request[0]);
  const auto admin = NewAdmin();
  const bool grown = Until([&] {
    const auto found = admin->DescribeTopic(topic);
    return found.has_value() && found->partitions == partitions;
  });
  // The producer here must hear of it as well.
  const rd_kafka_metadata_t* metadata = nullptr;
  if (rd_kafka_metadata(producer_, 0, nullptr, &metadata, kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(metadata);
  }
  return grown ? Status() : Status::Unavailable("topic " + topic + " does not grow");
}

void RealWorld::TrimLog(const std::string& topic, int32_t partition, int64_t low) {
  rd_kafka_topic_partition_list_t* offsets = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(offsets, topic.c_str(), partition)->offset = low;
  std::array<rd_kafka_DeleteRecords_t*, 1> request = {rd_kafka_DeleteRecords_new(offsets)};
  rd_kafka_queue_t* queue = rd_kafka_queue_new(producer_);
  rd_kafka_DeleteRecords(producer_, request.data(), 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kTimeoutMs);
  WEIR_CHECK(event != nullptr);
  WEIR_CHECK_EQ(std::string(rd_kafka_err2name(rd_kafka_event_error(event))), std::string("NO_ERROR"));
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_DeleteRecords_destroy(request[0]);
  rd_kafka_topic_partition_list_destroy(offsets);
}

}  // namespace

std::unique_ptr<KafkaWorld> NewRealWorld() { return std::make_unique<RealWorld>(); }

}  // namespace weir::kafka_test
