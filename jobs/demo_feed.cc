#include "jobs/demo_feed.h"

#include <algorithm>
#include <utility>

namespace weir::jobs {

DemoFeed::DemoFeed(connectors::OrdersOptions options, std::string topic, uint64_t rows, Duration duration)
    : options_(options), topic_(std::move(topic)), rows_(rows), duration_(duration), totals_(options.customers) {}

Status DemoFeed::Open(connectors::KafkaClientFactory& factory, const std::string& bootstrap_servers, const Clock& clock,
                      WorkerFactory& workers) {
  clock_ = &clock;
  connectors::KafkaConnection connection;
  connection.bootstrap_servers = bootstrap_servers;
  connection.client_id = "weir-demo";
  WEIR_ASSIGN_OR_RETURN(producer_, factory.NewProducer(connection, {&clock, &workers, &wakeup_}));
  begin_ = last_resolved_ = clock.Now();
  return Status::Ok();
}

Result<bool> DemoFeed::Produce(const std::string& key, const std::string& value, uint32_t partition) {
  const connectors::ProduceRow row{key, value, 0, static_cast<int32_t>(partition)};
  WEIR_ASSIGN_OR_RETURN(const size_t taken, producer_->Produce(topic_, {&row, 1}));
  return taken == 1;
}

Status DemoFeed::Write(uint64_t upto) {
  std::string key;
  std::string value;
  for (; written_ < upto; ++written_) {
    const auto split = static_cast<uint32_t>(written_ % options_.splits);
    const connectors::Order order = OrderAt(options_, split, written_ / options_.splits);
    key.clear();
    value.clear();
    AppendOrderKey(order, key);
    AppendOrderMessage(order, value);
    WEIR_ASSIGN_OR_RETURN(const bool taken, Produce(key, value, split));
    if (!taken) return Status::Ok();  // the rest with a later step
    if (order.status == "returned") continue;
    ++kept_;
    DemoTotal& total = totals_[static_cast<size_t>(order.customer_id)];
    ++total.orders;
    total.cents += order.amount_cents;
  }
  return Status::Ok();
}

Status DemoFeed::WriteResolved() {
  for (uint32_t split = 0; split < options_.splits; ++split) {
    const uint64_t n = written_ / options_.splits;
    if (n == 0) continue;
    std::string value;
    connectors::AppendResolvedMessage(OrderAt(options_, split, n - 1).updated, value);
    WEIR_ASSIGN_OR_RETURN(const bool taken, Produce("", value, split));
    if (!taken) return Status::Ok();  // the next second's say more
  }
  return Status::Ok();
}

Status DemoFeed::Step() {
  const MonotonicTime now = clock_->Now();
  const double part = std::chrono::duration<double>(now - begin_) / std::chrono::duration<double>(duration_);
  const auto due = static_cast<uint64_t>(static_cast<double>(rows_) * std::min(part, 1.0));
  WEIR_RETURN_IF_ERROR(Write(std::min(due, rows_)));
  if (now - last_resolved_ >= std::chrono::seconds(1)) {
    last_resolved_ = now;
    WEIR_RETURN_IF_ERROR(WriteResolved());
  }
  return producer_->Progress().error;
}

bool DemoFeed::acknowledged() {
  producer_->Flush();
  const connectors::ProduceProgress& progress = producer_->Progress();
  return progress.acknowledged == progress.accepted;
}

}  // namespace weir::jobs
