// librdkafka as a KafkaProducer: idempotent, bounded, acknowledgements counted. Above the port no object is kept per
// row.
#include <atomic>
#include <unordered_map>

#include "base/log.h"
#include "connectors/kafka/rdkafka_handle.h"
#include "connectors/kafka/rdkafka_row.h"

namespace weir::connectors {
namespace {

constexpr int kFlushSliceMs = 50;

class RdKafkaProducer final : public KafkaProducer {
 public:
  RdKafkaProducer(const KafkaClientContext& context, std::string address)
      : context_(context), address_(std::move(address)), worker_(context.workers->NewWorker("kafka-producer")) {}

  ~RdKafkaProducer() override {
    if (client_ == nullptr) return;
    closing_.store(true);
    rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
    worker_.reset();
    topics_.clear();
    queue_.reset();
    // What is not acknowledged is not waited for: its checkpoint has not happened, so it will be written again.
    rd_kafka_purge(client_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(client_);
  }
  RdKafkaProducer(const RdKafkaProducer&) = delete;
  RdKafkaProducer& operator=(const RdKafkaProducer&) = delete;

  Status Start(const KafkaConnection& connection) {
    RdKafkaConfig config(KafkaRole::kProducer);
    config.Apply(connection);
    message_bytes_max_ = config.Get("message.max.bytes");
    rd_kafka_conf_set_events(config.raw(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    WEIR_ASSIGN_OR_RETURN(client_, config.NewClient(RD_KAFKA_PRODUCER, nullptr));
    queue_.reset(rd_kafka_queue_get_main(client_));
    rd_kafka_queue_cb_event_enable(
        queue_.get(), [](rd_kafka_t*, void* wakeup) { static_cast<Wakeup*>(wakeup)->Wake(); }, context_.wakeup);
    return {};
  }

  Result<size_t> Produce(const std::string& topic, std::span<const ProduceRow> rows) override;
  const ProduceProgress& Progress() override {
    while (const RdKafkaPtr<rd_kafka_event_t> event{rd_kafka_queue_poll(queue_.get(), 0)}) OnEvent(event.get());
    return progress_;
  }
  bool HasRoom() const override { return in_flight() <= room_below_; }
  void Flush() override;

 private:
  uint64_t in_flight() const { return progress_.accepted - progress_.acknowledged - failed_; }
  void OnEvent(rd_kafka_event_t* event);
  void OnFailure(const rd_kafka_message_t& message);
  Status Refusal(const std::string& topic, const ProduceRow& row, rd_kafka_resp_err_t error) const {
    return RefusedRow(address_, message_bytes_max_, topic, row, error);
  }

  // Set once.
  const KafkaClientContext context_;
  const std::string address_;
  std::unique_ptr<Worker> worker_;
  rd_kafka_t* client_ = nullptr;
  RdKafkaPtr<rd_kafka_queue_t> queue_;
  std::string message_bytes_max_;

  // The task's thread only: callbacks run inside its Progress.
  std::unordered_map<std::string, RdKafkaPtr<rd_kafka_topic_t>> topics_;  // never iterated
  ProduceProgress progress_;
  uint64_t failed_ = 0;
  uint64_t room_below_ = UINT64_MAX;  // rows in flight at which a full queue counts as having room again

  // Any thread.
  std::atomic<bool> flushing_{false};
  std::atomic<bool> closing_{false};
};

void RdKafkaProducer::OnEvent(rd_kafka_event_t* event) {
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR) {
    while (const rd_kafka_message_t* message = rd_kafka_event_message_next(event)) {
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) [[likely]] {
        ++progress_.acknowledged;
      } else {
        OnFailure(*message);
      }
    }
    return;
  }
  if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ERROR) return;
  // Anything but a fatal error the client heals by itself.
  if (rd_kafka_event_error_is_fatal(event) == 0) {
    LogDebug("Kafka producer at " + address_ + ": " + rd_kafka_event_error_string(event));
  } else if (progress_.error.ok()) {
    progress_.error = Status::Unavailable("Kafka producer at " + address_ +
                                          " failed for good: " + rd_kafka_event_error_string(event));
  }
}

void RdKafkaProducer::OnFailure(const rd_kafka_message_t& message) {
  ++failed_;
  if (!progress_.error.ok()) return;
  progress_.error = Refusal(rd_kafka_topic_name(message.rkt), RowOf(message), message.err);
}

Result<size_t> RdKafkaProducer::Produce(const std::string& topic, std::span<const ProduceRow> rows) {
  if (!progress_.error.ok()) return Error(progress_.error);
  RdKafkaPtr<rd_kafka_topic_t>& handle = topics_[topic];
  if (handle == nullptr) handle.reset(rd_kafka_topic_new(client_, topic.c_str(), nullptr));
  if (handle == nullptr) {
    return Error(Status::InvalidArgument("topic \"" + topic + "\": " + rd_kafka_err2str(rd_kafka_last_error())));
  }
  size_t taken = 0;
  for (; taken < rows.size(); ++taken) {
    const rd_kafka_resp_err_t error = EnqueueRow(client_, handle.get(), rows[taken]);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) [[likely]]
      continue;
    if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) break;
    progress_.accepted += taken;
    progress_.error = Refusal(topic, rows[taken], error);
    return Error(progress_.error);
  }
  progress_.accepted += taken;
  room_below_ = taken == rows.size() ? UINT64_MAX : in_flight() * 3 / 4;
  return taken;
}

void RdKafkaProducer::Flush() {
  if (in_flight() == 0 || flushing_.exchange(true)) return;
  // While a thread is inside rd_kafka_flush nothing lingers. It waits only: acknowledgements are events, which the
  // task's thread takes.
  worker_->Submit([this] {
    rd_kafka_resp_err_t outcome = RD_KAFKA_RESP_ERR__TIMED_OUT;
    while (outcome == RD_KAFKA_RESP_ERR__TIMED_OUT && !closing_.load())
      outcome = rd_kafka_flush(client_, kFlushSliceMs);
    flushing_.store(false);
    context_.wakeup->Wake();
  });
}

}  // namespace

Result<std::unique_ptr<KafkaProducer>> NewRdKafkaProducer(const KafkaConnection& connection,
                                                          const KafkaClientContext& context) {
  auto producer = std::make_unique<RdKafkaProducer>(context, connection.bootstrap_servers);
  WEIR_RETURN_IF_ERROR(producer->Start(connection));
  return producer;
}

}  // namespace weir::connectors
