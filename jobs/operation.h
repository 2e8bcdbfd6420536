// The process's HTTP server with what stands at its paths: /metrics, /health (and /healthz), /diagnostics. It runs
// beside the job on a thread of its own, from before the first attempt until after the last one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/http_server.h"
#include "jobs/diagnostics.h"

namespace weir::jobs {

struct OperationPorts {
  const JobObserver* observer = nullptr;
  const operators::RawValue* definition = nullptr;  // as it may be shown
  FileSystem* file_system = nullptr;
  std::string storage_root;  // the job's folder of the storage
  std::string version;
  WorkerFactory* workers = nullptr;
  const Clock* clock = nullptr;
};

// Logs where it is reached. `ports` outlive the server.
Result<std::unique_ptr<HttpServer>> ServeOperation(const HttpAddress& address, OperationPorts ports);

// "127.0.0.1:9464", "[::1]:9464"; "9464" and ":9464" are on loopback. InvalidArgument: none of these.
Result<HttpAddress> ParseHttpAddress(std::string_view text);

}  // namespace weir::jobs
