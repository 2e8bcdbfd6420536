// The floor of the Kafka benchmarks: what a bare loop costs with the same libraries, client settings and allocator, and
// no engine. One thread of its own: librdkafka -> simdjson -> filter -> (a hash table) -> a hand-written row ->
// librdkafka.
//
//   kafka_floor BOOTSTRAP INPUT PARTITIONS OUTPUT|- pass|agg ROWS
//
// Reads ROWS records of INPUT from the start; prints nothing but an error. bench/kafka_bench.cc measures it.
#include <simdjson.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/worker.h"
#include "connectors/kafka/rdkafka_handle.h"

namespace weir::bench {
namespace {

using connectors::KafkaRole;
using connectors::RdKafkaConfig;

struct Account {
  int64_t id = -1;
  int64_t count = 0;
  int64_t sum = 0;
  int64_t last = 0;
};

// Open addressing, power of two, grows at three quarters.
class AccountTable {
 public:
  Account& Find(int64_t id) {
    if (used_ * 4 >= slots_.size() * 3) Grow();
    Account& account = Slot(slots_, id);
    if (account.id < 0) {
      account.id = id;
      ++used_;
    }
    return account;
  }

 private:
  static Account& Slot(std::vector<Account>& slots, int64_t id) {
    size_t at = (static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15ULL) >> 32 & (slots.size() - 1);
    while (slots[at].id >= 0 && slots[at].id != id) at = (at + 1) & (slots.size() - 1);
    return slots[at];
  }
  void Grow() {
    std::vector<Account> larger(slots_.size() * 2);
    for (const Account& account : slots_) {
      if (account.id >= 0) Slot(larger, account.id) = account;
    }
    slots_.swap(larger);
  }
  std::vector<Account> slots_ = std::vector<Account>(1024);
  size_t used_ = 0;
};

struct Row {
  int64_t id = 0, account = 0, amount = 0;
  std::string_view status, region, currency, updated_at, note;
};

class Floor {
 public:
  Floor(std::span<char*> arguments)
      : bootstrap_(arguments[1]),
        input_(arguments[2]),
        partitions_(std::atoi(arguments[3])),
        output_(arguments[4]),
        aggregate_(std::strcmp(arguments[5], "agg") == 0),
        rows_(std::strtoull(arguments[6], nullptr, 10)) {}

  int Run() {
    OpenConsumer();
    if (output_ != "-") OpenProducer();
    std::vector<rd_kafka_message_t*> messages(1024);
    for (uint64_t done = 0; done < rows_;) {
      const ssize_t count = rd_kafka_consume_batch_queue(queue_, 1, messages.data(), messages.size());
      for (ssize_t i = 0; i < count; ++i) {
        rd_kafka_message_t* message = messages[static_cast<size_t>(i)];
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
          Handle(*message);
          ++done;
        }
        rd_kafka_message_destroy(message);
      }
      ServeDeliveries();
      KeepFetching(count > 0);
    }
    while (producer_ != nullptr && rd_kafka_outq_len(producer_) > 0) {
      rd_kafka_flush(producer_, 10);
      ServeDeliveries();
    }
    worker_.reset();
    std::fflush(stdout);
    std::_Exit(0);  // closing a consumer takes half a second that no job would count
  }

 private:
  void OpenConsumer() {
    RdKafkaConfig config(KafkaRole::kConsumer);
    config.Apply({.bootstrap_servers = bootstrap_, .properties = {}});
    wake_ = config.Get("fetch.queue.backoff.ms").empty();
    consumer_ = *config.NewClient(RD_KAFKA_CONSUMER, nullptr);
    rd_kafka_poll_set_consumer(consumer_);
    queue_ = rd_kafka_queue_get_consumer(consumer_);
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(partitions_);
    for (int32_t p = 0; p < partitions_; ++p) rd_kafka_topic_partition_list_add(list, input_.c_str(), p)->offset = 0;
    WEIR_CHECK_EQ(static_cast<int>(rd_kafka_assign(consumer_, list)), 0);
    rd_kafka_topic_partition_list_destroy(list);
  }
  void OpenProducer() {
    RdKafkaConfig config(KafkaRole::kProducer);
    config.Apply({.bootstrap_servers = bootstrap_, .properties = {}});
    rd_kafka_conf_set_events(config.raw(), RD_KAFKA_EVENT_DR);
    producer_ = *config.NewClient(RD_KAFKA_PRODUCER, nullptr);
    deliveries_ = rd_kafka_queue_get_main(producer_);
    topic_ = rd_kafka_topic_new(producer_, output_.c_str(), nullptr);
  }

  void Handle(const rd_kafka_message_t& message) {
    if (padded_.size() < message.len + simdjson::SIMDJSON_PADDING)
      padded_.resize(message.len + simdjson::SIMDJSON_PADDING);
    std::memcpy(padded_.data(), message.payload, message.len);
    Row row;
    simdjson::ondemand::document document;
    if (parser_.iterate(padded_.data(), message.len, padded_.size()).get(document) != simdjson::SUCCESS) return;
    simdjson::ondemand::object after;
    if (document["after"].get_object().get(after) != simdjson::SUCCESS) return;
    for (auto field : after) Take(field.key().value_unsafe(), field.value(), row);
    if (row.status == "cancelled") return;
    if (aggregate_) {
      Account& account = table_.Find(row.account);
      ++account.count;
      account.sum += row.amount;
      account.last = row.id;
      if (producer_ != nullptr) WriteAccount(account);
    } else if (producer_ != nullptr) {
      WriteRow(row);
    }
  }

  template <class V>
  static void Take(simdjson::ondemand::raw_json_string name, V value, Row& row) {
    if (name == "account_id") {
      row.account = value.get_int64();
    } else if (name == "amount") {
      row.amount = value.get_int64();
    } else if (name == "id") {
      row.id = value.get_int64();
    } else if (name == "status") {
      row.status = value.get_string();
    } else if (name == "region") {
      row.region = value.get_string();
    } else if (name == "currency") {
      row.currency = value.get_string();
    } else if (name == "updated_at") {
      row.updated_at = value.get_string();
    } else {
      row.note = value.get_string();
    }
  }

  void Put(std::string_view text) { out_ += text; }
  void Put(int64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out_.append(digits.data(), static_cast<size_t>(end - digits.data()));
  }
  template <class... Parts>
  void Send(std::string_view key, Parts... parts) {
    out_.clear();
    (Put(parts), ...);
    while (rd_kafka_produce(topic_, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, out_.data(), out_.size(), key.data(),
                            key.size(), nullptr) != 0) {
      WEIR_CHECK_EQ(static_cast<int>(rd_kafka_last_error()), static_cast<int>(RD_KAFKA_RESP_ERR__QUEUE_FULL));
      rd_kafka_event_destroy(rd_kafka_queue_poll(deliveries_, 1));
    }
  }
  std::string_view Key(int64_t id) {
    key_[0] = '[';
    char* end = std::to_chars(key_.data() + 1, key_.data() + key_.size() - 1, id).ptr;
    *end = ']';
    return {key_.data(), static_cast<size_t>(end + 1 - key_.data())};
  }
  void WriteRow(const Row& row) {
    Send(Key(row.id), R"({"id":)", row.id, R"(,"account_id":)", row.account, R"(,"amount":)", row.amount,
         R"(,"currency":")", row.currency, R"(","region":")", row.region, R"(","status":")", row.status,
         R"(","updated_at":")", row.updated_at, R"("})");
  }
  void WriteAccount(const Account& account) {
    Send(Key(account.id), R"({"account_id":)", account.id, R"(,"orders":)", account.count, R"(,"total":)", account.sum,
         R"(,"last_order":)", account.last, R"(})");
  }

  void ServeDeliveries() {
    if (producer_ == nullptr) return;
    while (rd_kafka_event_t* event = rd_kafka_queue_poll(deliveries_, 0)) {
      while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event)) {
        WEIR_CHECK_EQ(static_cast<int>(message->err), 0);
      }
      rd_kafka_event_destroy(event);
    }
  }

  // As the connector does (connectors/kafka/rdkafka_consumer.cc).
  void KeepFetching(bool flowing) {
    flowed_ = flowed_ || flowing;
    const MonotonicTime now = clock_.Now();
    if (!wake_ || !flowed_ || asking_.load() || (flowing && now - last_ < std::chrono::milliseconds(5))) return;
    if (flowing && rd_kafka_queue_length(queue_) >= 20'000) return;
    last_ = now;
    flowed_ = false;
    asking_.store(true);
    worker_->Submit([this, partition = next_++ % partitions_] {
      int64_t low = 0;
      int64_t high = 0;
      (void)rd_kafka_query_watermark_offsets(consumer_, input_.c_str(), partition, &low, &high, 1000);
      asking_.store(false);
    });
  }

  const std::string bootstrap_, input_;
  const int32_t partitions_;
  const std::string output_;
  const bool aggregate_;
  const uint64_t rows_;
  rd_kafka_t* consumer_ = nullptr;
  rd_kafka_t* producer_ = nullptr;
  rd_kafka_queue_t* queue_ = nullptr;
  rd_kafka_queue_t* deliveries_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  simdjson::ondemand::parser parser_;
  std::vector<char> padded_ = std::vector<char>(4096);
  AccountTable table_;
  std::string out_;
  std::array<char, 32> key_{};
  bool wake_ = false;
  bool flowed_ = false;
  int32_t next_ = 0;
  MonotonicTime last_;
  SystemClock clock_;
  std::atomic<bool> asking_{false};
  std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  std::unique_ptr<Worker> worker_ = workers_->NewWorker("floor-wake");
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  if (count != 7) {
    std::fprintf(stderr, "usage: kafka_floor BOOTSTRAP INPUT PARTITIONS OUTPUT|- pass|agg ROWS\n");
    return 2;
  }
  return weir::bench::Floor(std::span(arguments, static_cast<size_t>(count))).Run();
}
