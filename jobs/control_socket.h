// What a running job can be asked for through `control.sock` in its folder of the storage (base/local_socket.h). A
// request and its answer are a line of JSON each; the answer comes when the request is done:
//
//   {"command":"savepoint","folder":"/abs/path","stop":false,"drain":false}   {"command":"stop","drain":false}
//   {"ok":true,"pid":123,"checkpoint":7}                                      {"ok":false,"pid":123,"error":"..."}
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/local_socket.h"
#include "base/status.h"
#include "base/worker.h"

namespace weir::jobs {

struct ControlRequest {
  std::string savepoint_folder;  // absolute; empty: no savepoint
  bool stop = false;
  bool drain = false;  // with `stop`
};

struct ControlAnswer {
  int64_t pid = 0;          // of the job's process
  uint64_t checkpoint = 0;  // of the savepoint; 0: none was asked for
};

// Blocks until the request is done; on the server's own thread. The number of the savepoint's checkpoint, or 0.
using ControlHandler = std::move_only_function<Result<uint64_t>(const ControlRequest&)>;

// `folder`: the job's, whose lock the caller holds.
Result<std::unique_ptr<LocalSocketServer>> ServeControl(const std::string& folder, WorkerFactory& workers,
                                                        ControlHandler handler);

// Asks the job whose folder this is and waits for its answer. NotFound: no process runs the job (in this moment).
Result<ControlAnswer> AskJob(const std::string& folder, const ControlRequest& request);

}  // namespace weir::jobs
