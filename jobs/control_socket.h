// The local control socket of a running job: `control.sock` in its folder of the storage, for this user only. A client
// sends one request, a line of JSON, and gets one answer, a line of JSON, when it is done:
//
//   {"command":"savepoint","folder":"/abs/path","stop":false,"drain":false}   {"command":"stop","drain":false}
//   {"ok":true,"pid":123,"checkpoint":7}                                      {"ok":false,"pid":123,"error":"..."}
//
// Requests are served one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/worker.h"

namespace weir::jobs {

struct ControlRequest {
  std::string savepoint_folder;  // empty: no savepoint
  bool stop = false;
  bool drain = false;  // with `stop`
};

struct ControlAnswer {
  int64_t pid = 0;          // of the job's process
  uint64_t checkpoint = 0;  // of the savepoint; 0: none was asked for
};

class ControlServer {
 public:
  // Blocks until the request is done; on the server's own thread.
  using Handler = std::move_only_function<Result<uint64_t>(const ControlRequest&)>;

  // The caller holds the storage's lock: what an earlier process left under the name is replaced.
  static Result<std::unique_ptr<ControlServer>> Start(const std::string& folder, WorkerFactory& workers,
                                                      Handler handler);
  // Takes no further request, waits for the one that is being served, removes the name.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  ControlServer(std::string path, int listener, int ended, Handler handler);
  void Loop();
  void Serve(int connection);

  const std::string path_;
  const int listener_;
  const int ended_;  // readable when the server shall end
  Handler handler_;
  std::unique_ptr<Worker> thread_;
};

// Asks the job whose folder this is and waits for its answer. NotFound: no process runs the job (in this moment).
Result<ControlAnswer> AskJob(const std::string& folder, const ControlRequest& request);

}  // namespace weir::jobs
