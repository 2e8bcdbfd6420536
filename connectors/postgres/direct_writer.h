// The `postgres` sink's writer for at-least-once delivery: rows go to the table in transactions of their own as they
// come, over a session of the writer's, and a barrier waits until all of them are there. A server that can't be reached
// fails the job, which its restart strategy brings back. Runs on its task's thread; the session is a Worker's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/worker.h"
#include "connectors/postgres/client.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/row_frames.h"
#include "connectors/postgres/waiting_rows.h"
#include "operators/sink.h"

namespace weir::connectors {

class PostgresDirectWriter final : public operators::SinkWriter {
 public:
  PostgresDirectWriter(PostgresSinkOptions options, PostgresClientFactory& factory);
  ~PostgresDirectWriter() override;

  Status Open(operators::WriterContext& context) override;
  bool CanWrite() override;
  Status Write(operators::Batch batch) override;
  Status Flush() override;
  Result<bool> ReadyForBarrier() override;
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    tried_again_ = false;
    return std::vector<checkpoint::Committable>();
  }

 private:
  struct Done {
    Status status;
    size_t bytes = 0;
  };

  void TakeResults();
  void Submit();
  // The Worker's.
  Status WriteRows(const std::string& frames);
  Status TryWriteRows(const std::string& frames);

  // Set once.
  const PostgresSinkOptions options_;
  PostgresClientFactory& factory_;
  std::string uid_;
  operators::NamedMetrics* metrics_ = nullptr;  // synchronises itself; null: nobody looks

  // The task's thread only.
  PostgresRowFrames frames_;
  std::string text_;  // frames that are not on their way
  size_t waiting_bytes_ = 0;
  size_t waiting_ = 0;        // pieces with the Worker
  Status failure_;            // the first
  bool tried_again_ = false;  // at this barrier, what waits for its parents

  std::unique_ptr<PostgresSession> session_;           // the Worker's only
  std::unique_ptr<PostgresWaitingRows> waiting_rows_;  // the same
  std::unique_ptr<Mailbox<Done>> done_;                // synchronises itself
  std::unique_ptr<Worker> worker_;                     // last: its jobs use what is above
};

}  // namespace weir::connectors
