// Stands in for an enumerator where a consumer group assigns the partitions: it has no splits and assigns none. What it
// leaves in a checkpoint is only that this was so. The control thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/source.h"

namespace weir::connectors {

class KafkaGroupEnumerator final : public operators::SplitEnumerator {
 public:
  Status Start(operators::EnumeratorContext context, std::optional<std::string> restored,
               std::vector<operators::SourceSplit> splits) override;
  Status Step() override { return {}; }
  bool ready() const override { return true; }
  Result<std::string> SnapshotState(CheckpointId checkpoint) override;
};

// Whether a checkpoint's enumerator goes with how the definition assigns now.
Status CheckRestoredAssignment(bool group, std::string_view restored);

}  // namespace weir::connectors
