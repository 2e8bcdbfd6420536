#include "connectors/blackhole/sink.h"

#include <memory>
#include <string>
#include <vector>

namespace weir::connectors {
namespace {

class BlackholeWriter final : public operators::SinkWriter {
 public:
  Status Open(operators::WriterContext&) override { return Status::Ok(); }
  bool CanWrite() override { return true; }
  Status Write(operators::Batch) override { return Status::Ok(); }
  Result<bool> ReadyForBarrier() override { return true; }
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    return std::vector<checkpoint::Committable>();
  }
};

class BlackholeSink final : public operators::Sink {
 public:
  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override { return std::make_unique<BlackholeWriter>(); }
  std::string system() const override { return {}; }
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext&) override {
    return Error(Status::Internal("the sink blackhole has no committer"));
  }
};

}  // namespace

operators::SinkType BlackholeSinkType() {
  return {.name = "blackhole",
          .doc = "Counts rows and forgets them.",
          .options = {},
          .create = [](const operators::Options&) -> Result<std::unique_ptr<operators::Sink>> {
            return std::make_unique<BlackholeSink>();
          }};
}

}  // namespace weir::connectors
