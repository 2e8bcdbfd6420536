// librdkafka as a KafkaTransactionalProducer.
//
// What an error means is not told by its code alone. A fatal one hides its cause behind rd_kafka_fatal_error. One that
// asks for an abort may have been caused by a newer producer of the same id, and only the coordinator knows: so the
// transaction is aborted at once, and if the abort is refused because this producer is fenced, that is the answer. A
// producer that took being fenced for a passing failure would make itself anew and fence its successor.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "connectors/kafka/rdkafka_handle.h"
#include "connectors/kafka/rdkafka_row.h"

namespace weir::connectors {
namespace {

constexpr int kFullQueuePollMs = 5;
constexpr int kAbortFlushMs = 1000;
constexpr int kUnknownTopicPollMs = 20;
constexpr Duration kUnknownTopicPatience = std::chrono::seconds(1);

int64_t Milliseconds(Duration duration) { return duration.count() / 1'000'000; }

bool IsFenced(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__FENCED || error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

class RdKafkaTransactionalProducer final : public KafkaTransactionalProducer {
 public:
  RdKafkaTransactionalProducer(std::string address, KafkaTransactionOptions options, const Clock& clock)
      : address_(std::move(address)), options_(std::move(options)), clock_(clock) {}

  ~RdKafkaTransactionalProducer() override {
    if (client_ == nullptr) return;
    // The library (2.0.2) ends the process when it is destroyed in the moment in which it tells the coordinator of a
    // partition; it does not do so outside an open transaction.
    if (open_ && !undecided_) {
      if (rd_kafka_error_t* error = End(kAbortFlushMs); error != nullptr) rd_kafka_error_destroy(error);
    }
    topics_.clear();
    rd_kafka_purge(client_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(client_);
  }
  RdKafkaTransactionalProducer(const RdKafkaTransactionalProducer&) = delete;
  RdKafkaTransactionalProducer& operator=(const RdKafkaTransactionalProducer&) = delete;

  Status Start(const KafkaConnection& connection);

  Status Init() override;
  Status Begin() override;
  Status Produce(const std::string& topic, std::span<const ProduceRow> rows) override;
  Status Commit() override;
  Status Abort() override;

 private:
  struct Failure {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    std::string text;
    bool fatal = false;
    bool retriable = false;
  };

  int timeout_ms() const { return static_cast<int>(Milliseconds(options_.request_timeout)); }
  std::string Where() const {
    return "Kafka at " + address_ + ", transactional id " + options_.transactional_id + ": ";
  }
  void OnUndelivered(const rd_kafka_message_t& message);
  Result<rd_kafka_topic_t*> Topic(const std::string& name);
  Status AwaitTopic(const std::string& name, rd_kafka_topic_t* topic);
  Status Enqueue(const std::string& name, rd_kafka_topic_t* topic, const ProduceRow& row);
  // Takes the error apart and frees it.
  Failure Examine(rd_kafka_error_t* error) const;
  Status Meaning(const std::string& what, const Failure& failure) const;
  // Ends the open transaction without its rows; null if the coordinator has agreed.
  rd_kafka_error_t* End(int timeout_ms);
  // The transaction can't be committed any more: aborts it, and tells why.
  Status GiveUp(const std::string& what, const Failure& failure);
  Status Fail(Status status) {
    if (error_.ok()) error_ = std::move(status);
    return error_;
  }

  // Set once.
  const std::string address_;
  const KafkaTransactionOptions options_;
  const Clock& clock_;
  std::string message_bytes_max_;
  rd_kafka_t* client_ = nullptr;

  // The caller's thread only: callbacks run inside its calls.
  std::unordered_map<std::string, RdKafkaPtr<rd_kafka_topic_t>> topics_;  // known to exist; never iterated
  RdKafkaComplaint complaint_;
  Status error_;                      // the first; nothing but Abort is done afterwards
  Status undelivered_;                // of the first row that the broker did not take, of large ones the largest
  size_t undelivered_bytes_ = 0;      // of that row
  std::vector<std::string> written_;  // topics of the open transaction: the library does not tell which one failed
  bool open_ = false;
  bool undecided_ = false;  // a commit was asked for and may still be under way
};

Status RdKafkaTransactionalProducer::Start(const KafkaConnection& connection) {
  RdKafkaConfig config(KafkaRole::kProducer);
  config.Apply(connection);
  config.Set("transactional.id", options_.transactional_id);
  config.Set("transaction.timeout.ms", std::to_string(Milliseconds(options_.transaction_timeout)));
  // The library refuses to wait for anything longer than a transaction may last.
  config.Set("message.timeout.ms", std::to_string(Milliseconds(options_.transaction_timeout)));
  const int64_t socket_timeout_ms = std::strtoll(config.Get("socket.timeout.ms").c_str(), nullptr, 10);
  config.Set("socket.timeout.ms",
             std::to_string(std::min(socket_timeout_ms,
                                     Milliseconds(std::min(options_.transaction_timeout, options_.request_timeout)))));
  // The first partition of a transaction is refused while the one before is being written out, which takes some ms.
  if (std::ranges::find(connection.properties, "retry.backoff.ms", &std::pair<std::string, std::string>::first) ==
      connection.properties.end()) {
    config.Set("retry.backoff.ms", "5");
  }
  config.Set("delivery.report.only.error", "true");
  message_bytes_max_ = config.Get("message.max.bytes");
  rd_kafka_conf_set_dr_msg_cb(config.raw(), [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
    static_cast<RdKafkaTransactionalProducer*>(self)->OnUndelivered(*message);
  });
  rd_kafka_conf_set_error_cb(config.raw(), [](rd_kafka_t* client, int error, const char* reason, void* self) {
    if (error == RD_KAFKA_RESP_ERR__FATAL) return;  // told by the next call
    RecordRdKafkaError(client, error, reason, &static_cast<RdKafkaTransactionalProducer*>(self)->complaint_);
  });
  WEIR_ASSIGN_OR_RETURN(client_, config.NewClient(RD_KAFKA_PRODUCER, this));
  return {};
}

void RdKafkaTransactionalProducer::OnUndelivered(const rd_kafka_message_t& message) {
  switch (message.err) {
    // Consequences of what the next call tells.
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__STATE: return;
    default: break;
  }
  if (IsFenced(message.err)) return;
  // The broker refuses a whole batch for its size: the largest row tells most.
  const size_t bytes = message.key_len + message.len;
  const bool is_larger = message.err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE && bytes > undelivered_bytes_;
  if (!undelivered_.ok() && !is_larger) return;
  undelivered_bytes_ = bytes;
  undelivered_ =
      RefusedRow(address_, message_bytes_max_, rd_kafka_topic_name(message.rkt), RowOf(message), message.err);
}

RdKafkaTransactionalProducer::Failure RdKafkaTransactionalProducer::Examine(rd_kafka_error_t* error) const {
  const RdKafkaPtr<rd_kafka_error_t> owned(error);
  Failure failure;
  failure.code = rd_kafka_error_code(error);
  failure.text = rd_kafka_error_string(error);
  failure.fatal = rd_kafka_error_is_fatal(error) != 0;
  failure.retriable = rd_kafka_error_is_retriable(error) != 0;
  std::array<char, 512> text{};
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(client_, text.data(), text.size());
  if (fatal == RD_KAFKA_RESP_ERR_NO_ERROR) return failure;
  return {.code = fatal, .text = text.data(), .fatal = true, .retriable = false};
}

Status RdKafkaTransactionalProducer::Meaning(const std::string& what, const Failure& failure) const {
  const std::string text = Where() + what + ": ";
  if (IsFenced(failure.code)) return Status::Fenced(text + failure.text);
  switch (failure.code) {
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return Status::InvalidArgument(text + "the broker refuses a transaction timeout of " +
                                     SecondsText(options_.transaction_timeout) +
                                     "; its limit is the broker's transaction.max.timeout.ms (15 minutes unless set)");
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR__CONFLICT:
    case RD_KAFKA_RESP_ERR__FATAL: return Status::Internal(text + failure.text);
    default: break;
  }
  Status status = RdKafkaFailure(Where() + what, failure.code, options_.request_timeout, complaint_);
  // For admin calls what is not known is worth a retry; here it is so only if the library says so.
  const bool passing = !failure.fatal && (failure.retriable || IsUnanswered(failure.code));
  if (status.retryable() && !passing) return Status::Internal(text + failure.text);
  return status;
}

Status RdKafkaTransactionalProducer::GiveUp(const std::string& what, const Failure& failure) {
  if (IsFenced(failure.code) || failure.fatal) return Fail(Meaning(what, failure));
  if (rd_kafka_error_t* error = rd_kafka_abort_transaction(client_, timeout_ms()); error != nullptr) {
    const Failure end = Examine(error);
    if (IsFenced(end.code)) return Fail(Meaning(what, end));
    LogDebug(Where() + "abort after a failure: " + end.text);
  } else {
    open_ = false;
  }
  if (!undelivered_.ok()) return Fail(undelivered_.WithContext(Where() + what));
  return Fail(Meaning(what, failure));
}

Status RdKafkaTransactionalProducer::Init() {
  rd_kafka_error_t* error = rd_kafka_init_transactions(client_, timeout_ms());
  if (error == nullptr) return {};
  rd_kafka_poll(client_, 0);
  return Fail(Meaning("fence older producers", Examine(error)));
}

Status RdKafkaTransactionalProducer::Begin() {
  if (!error_.ok()) return error_;
  if (open_) return Status::FailedPrecondition(Where() + "a transaction is open already");
  if (rd_kafka_error_t* error = rd_kafka_begin_transaction(client_); error != nullptr) {
    return Fail(Meaning("begin a transaction", Examine(error)));
  }
  open_ = true;
  written_.clear();
  return {};
}

// A broker may deny a topic for a moment that another has told of.
Status RdKafkaTransactionalProducer::AwaitTopic(const std::string& name, rd_kafka_topic_t* topic) {
  const MonotonicTime start = clock_.Now();
  for (;;) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const rd_kafka_resp_err_t asked = rd_kafka_metadata(client_, 0, topic, &metadata, timeout_ms());
    if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_poll(client_, 0);
      return RdKafkaFailure(Where() + "describe topic " + name, asked, options_.request_timeout, complaint_);
    }
    const rd_kafka_resp_err_t told =
        metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    rd_kafka_metadata_destroy(metadata);
    if (told == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    const Duration patience =
        told == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ? options_.request_timeout : kUnknownTopicPatience;
    if (clock_.Now() - start >= patience) {
      return RdKafkaFailure(Where() + "topic " + name, told, options_.request_timeout, complaint_);
    }
    rd_kafka_poll(client_, kUnknownTopicPollMs);
  }
}

// The library itself takes rows for a topic that nobody knows and thinks about it for half a minute.
Result<rd_kafka_topic_t*> RdKafkaTransactionalProducer::Topic(const std::string& name) {
  if (const auto known = topics_.find(name); known != topics_.end()) return known->second.get();
  RdKafkaPtr<rd_kafka_topic_t> topic(rd_kafka_topic_new(client_, name.c_str(), nullptr));
  if (topic == nullptr) {
    return Error(Status::InvalidArgument("topic \"" + name + "\": " + rd_kafka_err2str(rd_kafka_last_error())));
  }
  WEIR_RETURN_IF_ERROR(AwaitTopic(name, topic.get()));
  return topics_.emplace(name, std::move(topic)).first->second.get();
}

Status RdKafkaTransactionalProducer::Enqueue(const std::string& name, rd_kafka_topic_t* topic, const ProduceRow& row) {
  std::optional<MonotonicTime> full_since;
  for (;;) {
    const rd_kafka_resp_err_t error = EnqueueRow(client_, topic, row);
    switch (error) {
      case RD_KAFKA_RESP_ERR_NO_ERROR: return {};
      case RD_KAFKA_RESP_ERR__STATE:
      case RD_KAFKA_RESP_ERR__FATAL:
        return GiveUp("write to topic " + name, Examine(rd_kafka_error_new(error, "the transaction has failed")));
      case RD_KAFKA_RESP_ERR__QUEUE_FULL: break;
      default: return Fail(RefusedRow(address_, message_bytes_max_, name, row, error));
    }
    if (!full_since.has_value()) full_since = clock_.Now();
    if (clock_.Now() - *full_since >= options_.request_timeout) {
      return Fail(RdKafkaFailure(Where() + "write to topic " + name, RD_KAFKA_RESP_ERR__TIMED_OUT,
                                 options_.request_timeout, complaint_));
    }
    rd_kafka_poll(client_, kFullQueuePollMs);
  }
}

Status RdKafkaTransactionalProducer::Produce(const std::string& topic, std::span<const ProduceRow> rows) {
  if (!error_.ok()) return error_;
  if (!open_) return Status::FailedPrecondition(Where() + "no transaction is open");
  Result<rd_kafka_topic_t*> handle = Topic(topic);
  if (!handle.has_value()) return Fail(handle.error());
  if (std::ranges::find(written_, topic) == written_.end()) written_.push_back(topic);
  for (const ProduceRow& row : rows) WEIR_RETURN_IF_ERROR(Enqueue(topic, *handle, row));
  rd_kafka_poll(client_, 0);
  return {};
}

Status RdKafkaTransactionalProducer::Commit() {
  if (!error_.ok()) return error_;
  if (!open_) return Status::FailedPrecondition(Where() + "no transaction is open");
  std::string what = "commit rows of";
  for (const std::string& topic : written_) what += " " + topic;
  if (!undelivered_.ok()) return GiveUp(what, {});
  // Sends at once whatever lingers.
  rd_kafka_error_t* error = rd_kafka_commit_transaction(client_, timeout_ms());
  if (error == nullptr) {
    open_ = false;
    return {};
  }
  rd_kafka_poll(client_, 0);
  const bool given_up = rd_kafka_error_txn_requires_abort(error) != 0;
  const Failure failure = Examine(error);
  if (given_up) return GiveUp(what, failure);
  undecided_ = true;
  return Fail(Meaning(what, failure));
}

rd_kafka_error_t* RdKafkaTransactionalProducer::End(int timeout_ms) {
  // The library (2.0.2) may ask for the end of a transaction that the coordinator has not heard of yet, and takes the
  // refusal for the end of the producer. So the rows go out first, if they can.
  rd_kafka_flush(client_, std::min(timeout_ms, kAbortFlushMs));
  return rd_kafka_abort_transaction(client_, timeout_ms);
}

Status RdKafkaTransactionalProducer::Abort() {
  if (!open_) return {};
  if (undecided_) return error_;
  rd_kafka_error_t* error = End(timeout_ms());
  if (error == nullptr) {
    open_ = false;
    return {};
  }
  rd_kafka_poll(client_, 0);
  return Fail(Meaning("abort", Examine(error)));
}

}  // namespace

Result<std::unique_ptr<KafkaTransactionalProducer>> NewRdKafkaTransactionalProducer(
    const KafkaConnection& connection, const KafkaTransactionOptions& options, const Clock& clock) {
  auto producer = std::make_unique<RdKafkaTransactionalProducer>(connection.bootstrap_servers, options, clock);
  WEIR_RETURN_IF_ERROR(producer->Start(connection));
  return producer;
}

}  // namespace weir::connectors
