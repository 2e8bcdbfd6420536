#include "connectors/postgres/direct_writer.h"

#include <utility>

#include "connectors/postgres/segment.h"
#include "connectors/postgres/transaction.h"

namespace weir::connectors {
namespace {

constexpr size_t kTransactionBytes = 256 * 1024;
constexpr size_t kUnsentBytesMax = 4U << 20U;
constexpr int kTries = 3;

}  // namespace

PostgresDirectWriter::PostgresDirectWriter(PostgresSinkOptions options, PostgresClientFactory& factory)
    : options_(std::move(options)),
      factory_(factory),
      frames_(options_.target, options_.columns, options_.policies.dead_letters.has_value()) {}

PostgresDirectWriter::~PostgresDirectWriter() = default;

Status PostgresDirectWriter::Open(operators::WriterContext& context) {
  uid_ = context.uid;
  if (context.metrics != nullptr) metrics_ = &context.metrics->named;
  waiting_rows_ = std::make_unique<PostgresWaitingRows>(context.job, options_.policies, *context.clock);
  done_ = std::make_unique<Mailbox<Done>>(*context.wakeup);
  worker_ = context.workers->NewWorker("postgres-" + std::to_string(context.subtask));
  return {};
}

void PostgresDirectWriter::TakeResults() {
  while (std::optional<Done> done = done_->Take()) {
    waiting_bytes_ -= done->bytes;
    --waiting_;
    if (failure_.ok()) failure_ = std::move(done->status);
  }
}

bool PostgresDirectWriter::CanWrite() {
  TakeResults();
  // An error is the next Write's to report.
  return !failure_.ok() || waiting_bytes_ < kUnsentBytesMax;
}

Status PostgresDirectWriter::Write(operators::Batch batch) {
  TakeResults();
  WEIR_RETURN_IF_ERROR(failure_);
  WEIR_ASSIGN_OR_RETURN(const uint64_t rows, frames_.Append(batch, text_));
  if (rows > 0 && text_.size() >= kTransactionBytes) Submit();
  return {};
}

Status PostgresDirectWriter::Flush() {
  TakeResults();
  WEIR_RETURN_IF_ERROR(failure_);
  if (waiting_ == 0 && !text_.empty()) Submit();
  return {};
}

Result<bool> PostgresDirectWriter::ReadyForBarrier() {
  TakeResults();
  WEIR_RETURN_IF_ERROR(failure_);
  // Rows of another writer may be what they wait for.
  const bool tries_again = waiting_rows_->on() && !std::exchange(tried_again_, true);
  if (!text_.empty() || tries_again) Submit();
  return waiting_ == 0;
}

void PostgresDirectWriter::Submit() {
  frames_.Restart();
  waiting_bytes_ += text_.size();
  ++waiting_;
  worker_->Submit([this, frames = std::exchange(text_, {})] {
    done_->Post({.status = WriteRows(frames), .bytes = frames.size()});
  });
}

// What comes again by a second try is written again, which at least once allows.
Status PostgresDirectWriter::WriteRows(const std::string& frames) {
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = TryWriteRows(frames);
    if (status.ok()) return status;
    session_ = nullptr;
    if (!status.retryable()) return status;
  }
  return status;
}

Status PostgresDirectWriter::TryWriteRows(const std::string& frames) {
  if (session_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(session_, factory_.Connect(options_.connection));
  }
  const auto begin = [this]() -> Status {
    const auto begun = session_->ExecuteOne({"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"});
    return begun.has_value() ? Status::Ok() : begun.error();
  };
  const auto read = [&](const TakeSegmentRow& take) {
    return ReadPostgresRows(frames, [&](const SegmentRow& row) {
      SegmentRow ours = row;
      ours.uid = uid_;
      return take(ours);
    });
  };
  return WriteInTransaction(*session_, options_.policies, *waiting_rows_,
                            {.begin = begin, .read = read, .metrics = metrics_});
}

}  // namespace weir::connectors
