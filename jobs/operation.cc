#include "jobs/operation.h"

#include <charconv>
#include <utility>

#include "base/log.h"
#include "base/process.h"
#include "jobs/health.h"
#include "jobs/metrics_text.h"

namespace weir::jobs {
namespace {

constexpr const char* kJsonType = "application/json";

std::string BuildText() {
  std::string text;
#ifdef NDEBUG
  text += "release";
#else
  text += "debug";
#endif
#ifdef __clang__
  text += ", clang ";
#else
  text += ", g++ ";
#endif
  text += __VERSION__;
  return text;
}

ProcessReading ReadProcess(const std::string& version) {
  return {.version = version,
          .build = BuildText(),
          .resident_bytes = ResidentBytes(),
          .cpu_seconds = CpuSeconds(),
          .open_descriptors = OpenDescriptors()};
}

HttpAnswer Answer(const OperationPorts& ports, std::string_view path) {
  if (path == "/metrics") {
    return {.content_type = kMetricsContentType,
            .body = MetricsPage(ports.observer->Read(), ReadProcess(ports.version))};
  }
  if (path == "/health" || path == "/healthz") {
    const JobReading reading = ports.observer->Read();
    const Health health = JudgeHealth(reading);
    return {.code = health.ok() ? 200 : 503, .content_type = kJsonType, .body = HealthJson(reading, health)};
  }
  if (path == "/diagnostics") {
    const JobReading reading = ports.observer->Read();
    const ProcessReading process = ReadProcess(ports.version);
    return {.content_type = kJsonType,
            .body = DiagnosticsJson({.reading = &reading,
                                     .process = &process,
                                     .definition = ports.definition,
                                     .file_system = ports.file_system,
                                     .storage_root = ports.storage_root})};
  }
  return {.code = 404, .body = "404 there are /metrics, /health and /diagnostics\n"};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> ServeOperation(const HttpAddress& address, OperationPorts ports) {
  WorkerFactory& workers = *ports.workers;
  const Clock& clock = *ports.clock;
  WEIR_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> server,
      HttpServer::Start(address, {}, workers, clock,
                        [ports = std::move(ports)](std::string_view path) { return Answer(ports, path); }));
  LogInfo("metrics, health and diagnostics at http://" + server->address());
  if (!server->is_loopback()) {
    LogWarning("other machines can reach http://" + server->address() + ": whoever does sees this job's diagnostics");
  }
  return server;
}

Result<HttpAddress> ParseHttpAddress(std::string_view text) {
  HttpAddress address;
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!host.empty()) address.host = host;
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return Error(Status::InvalidArgument("expected HOST:PORT or PORT, found \"" + std::string(text) + "\""));
  }
  return address;
}

}  // namespace weir::jobs
