// Defaults of the contracts' optional calls.
#include "operators/operator.h"
#include "operators/sink.h"
#include "operators/source.h"

namespace weir::operators {

Status Operator::ProcessWatermark(Watermark, Output&) { return Status::Ok(); }
Status Operator::OnTimer(const Timer&, Output&) { return Status::Ok(); }
Status Operator::SnapshotState(CheckpointId) { return Status::Ok(); }
Status Operator::NotifyCheckpointApplied(CheckpointId) { return Status::Ok(); }
Status Operator::Finish(Output&) { return Status::Ok(); }
Status SourceReader::HandleEvent(const std::string&) { return Status::Ok(); }
Status Source::CheckRestored(const std::string&) const { return Status::Ok(); }
Status SplitEnumerator::HandleEvent(uint32_t, const std::string&) { return Status::Ok(); }
Status SinkWriter::ProcessWatermark(Watermark /*watermark*/) { return Status::Ok(); }
Status SinkWriter::Flush() { return Status::Ok(); }

}  // namespace weir::operators
