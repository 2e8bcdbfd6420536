#include "connectors/kafka/group_enumerator.h"

namespace weir::connectors {
namespace {

constexpr std::string_view kState = R"({"assignment":"group"})";

}  // namespace

Status KafkaGroupEnumerator::Start(operators::EnumeratorContext, std::optional<std::string> restored,
                                   std::vector<operators::SourceSplit> splits) {
  if (!splits.empty()) {
    return Status::FailedPrecondition("the checkpoint holds positions, and with assignment group they are the group's");
  }
  return restored.has_value() ? CheckRestoredAssignment(true, *restored) : Status();
}

Result<std::string> KafkaGroupEnumerator::SnapshotState(CheckpointId) { return std::string(kState); }

Status CheckRestoredAssignment(bool group, std::string_view restored) {
  if ((restored == kState) == group) return {};
  return Status::FailedPrecondition(
      group ? "the checkpoint holds offsets, and assignment group takes those committed to the group: begin with "
              "--restore none, or with assignment enumerator"
            : "the checkpoint is one of assignment group and holds no offsets: begin with --restore none and start "
              "group-offsets, or with assignment group");
}

}  // namespace weir::connectors
