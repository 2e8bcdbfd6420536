#include "operators/runtime/operator_chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir::operators {

// What operators_[position] sees as its output.
class OperatorChain::Link final : public Output {
 public:
  Link(OperatorChain& chain, size_t position) : chain_(chain), position_(position) {}

  Status Emit(Batch batch) override {
    if (batch.empty()) return Status::Ok();
    return chain_.PassOn(position_ + 1, 0, std::move(batch));
  }
  Status EmitSide(std::string_view tag, Batch batch) override {
    chain_.outputs_.WriteSide(chain_.operators_[position_].uid, tag, batch);
    return Status::Ok();
  }
  bool HasSide(std::string_view tag) const override {
    return chain_.outputs_.HasSide(chain_.operators_[position_].uid, tag);
  }

 private:
  OperatorChain& chain_;
  const size_t position_;
};

OperatorChain::OperatorChain(std::vector<ChainedOperator> operators, ChainedSink sink, OutputWriter& outputs)
    : operators_(std::move(operators)), sink_(std::move(sink)), outputs_(outputs) {
  for (size_t i = 0; i < operators_.size(); ++i) {
    WEIR_CHECK(operators_[i].instance != nullptr);
    links_.push_back(std::make_unique<Link>(*this, i));
    auto* paced = dynamic_cast<PacedOperator*>(operators_[i].instance.get());
    if (paced != nullptr) paced_.insert(paced_.begin(), {i, paced});
  }
}

OperatorChain::~OperatorChain() = default;

Status OperatorChain::Open(const OperatorContext& context, WriterContext writer_context) {
  metrics_ = context.metrics;
  for (ChainedOperator& each : operators_) {
    OperatorContext own = context;
    own.uid = each.uid;
    if (Status status = each.instance->Open(own); !status.ok()) return status.WithContext(each.uid);
  }
  if (!has_sink()) return Status::Ok();
  writer_context.uid = sink_.uid;
  return sink_.writer->Open(writer_context).WithContext(sink_.uid);
}

Status OperatorChain::ProcessBatch(int input, Batch batch) { return PassOn(0, input, std::move(batch)); }

Status OperatorChain::PassOn(size_t position, int input, Batch batch) {
  if (position < operators_.size()) {
    ChainedOperator& next = operators_[position];
    return Named(next.uid, next.instance->ProcessBatch(input, std::move(batch), *links_[position]));
  }
  if (metrics_ != nullptr) metrics_->rows_out.fetch_add(batch.rows(), std::memory_order_relaxed);
  if (!has_sink()) {
    outputs_.Write(std::move(batch));
    return Status::Ok();
  }
  if (!kept_.empty() || !sink_.writer->CanWrite()) {
    kept_.push_back(std::move(batch));
    return Status::Ok();
  }
  return WriteToSink(std::move(batch));
}

Status OperatorChain::WriteToSink(Batch batch) {
  unflushed_ = true;
  return Named(sink_.uid, sink_.writer->Write(std::move(batch)));
}

Status OperatorChain::ProcessWatermark(Watermark watermark) {
  for (size_t i = 0; i < operators_.size(); ++i) {
    ChainedOperator& each = operators_[i];
    Link& link = *links_[i];
    WEIR_RETURN_IF_ERROR(Named(each.uid, each.instance->ProcessWatermark(watermark, link)));
    if (!each.timers) continue;
    WEIR_RETURN_IF_ERROR(Named(
        each.uid, each.timers(watermark, [&](const Timer& timer) { return each.instance->OnTimer(timer, link); })));
  }
  outputs_.WriteControl(watermark);
  if (!has_sink()) return Status::Ok();
  kept_watermark_ = watermark;
  return kept_.empty() ? PassKeptWatermark() : Status::Ok();
}

Result<bool> OperatorChain::Continue() {
  for (const Paced& each : paced_) {
    Result<bool> more = each.instance->Continue(*links_[each.position]);
    if (!more.has_value()) return Error(Named(operators_[each.position].uid, more.error()));
    if (*more) return true;
  }
  return false;
}

std::optional<MonotonicTime> OperatorChain::NextDeadline() const {
  std::optional<MonotonicTime> next;
  for (const Paced& each : paced_) {
    const std::optional<MonotonicTime> own = each.instance->NextDeadline();
    if (own.has_value()) next = std::min(next.value_or(*own), *own);
  }
  return next;
}

Status OperatorChain::PassKeptWatermark() {
  if (!kept_watermark_.has_value()) return Status::Ok();
  return Named(sink_.uid, sink_.writer->ProcessWatermark(*std::exchange(kept_watermark_, std::nullopt)));
}

Status OperatorChain::Named(const std::string& uid, Status status) {
  if (status.ok() || failed_) return status;
  failed_ = true;
  return status.WithContext(uid);
}

Status OperatorChain::Finish() {
  for (size_t i = 0; i < operators_.size(); ++i) {
    WEIR_RETURN_IF_ERROR(Named(operators_[i].uid, operators_[i].instance->Finish(*links_[i])));
  }
  return Status::Ok();
}

Status OperatorChain::SnapshotState(CheckpointId checkpoint) {
  for (ChainedOperator& each : operators_) {
    WEIR_RETURN_IF_ERROR(Named(each.uid, each.instance->SnapshotState(checkpoint)));
  }
  return Status::Ok();
}

Status OperatorChain::NotifyCheckpointApplied(CheckpointId checkpoint) {
  for (ChainedOperator& each : operators_) {
    WEIR_RETURN_IF_ERROR(Named(each.uid, each.instance->NotifyCheckpointApplied(checkpoint)));
  }
  return Status::Ok();
}

Result<bool> OperatorChain::HasRoom() {
  const bool outputs_have_room = outputs_.HasRoom();
  if (!has_sink()) return outputs_have_room;
  while (!kept_.empty()) {
    if (!sink_.writer->CanWrite()) return false;
    Batch batch = std::move(kept_.front());
    kept_.pop_front();
    WEIR_RETURN_IF_ERROR(WriteToSink(std::move(batch)));
  }
  WEIR_RETURN_IF_ERROR(PassKeptWatermark());
  return sink_.writer->CanWrite() && outputs_have_room;
}

Status OperatorChain::Flush() {
  outputs_.Flush();
  if (!has_sink() || !unflushed_ || !kept_.empty()) return Status::Ok();
  unflushed_ = false;
  return sink_.writer->Flush().WithContext(sink_.uid);
}

Result<bool> OperatorChain::ReadyForBarrier() {
  if (!has_sink()) return true;
  if (!kept_.empty()) {
    WEIR_ASSIGN_OR_RETURN(const bool room, HasRoom());
    if (!room && !kept_.empty()) return false;
  }
  Result<bool> ready = sink_.writer->ReadyForBarrier();
  if (!ready.has_value()) return Error(ready.error().WithContext(sink_.uid));
  return ready;
}

Result<std::vector<checkpoint::Committable>> OperatorChain::PrepareCommit(CheckpointId checkpoint) {
  if (!has_sink()) return std::vector<checkpoint::Committable>();
  Result<std::vector<checkpoint::Committable>> committables = sink_.writer->PrepareCommit(checkpoint);
  if (!committables.has_value()) return Error(committables.error().WithContext(sink_.uid));
  return committables;
}

}  // namespace weir::operators
