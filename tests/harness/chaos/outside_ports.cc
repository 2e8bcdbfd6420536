// The ports of `weir_chaos`, which is `weir` but for them: the real ones, each of whose call sites fails twice. The
// environment says where the failures are told (WEIR_CHAOS_REPORT) and below which folder files fail
// (WEIR_CHAOS_FILES); nothing: none do.
#include <memory>

#include "base/process.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/postgres/libpq_client.h"
#include "jobs/definition_command.h"
#include "tests/harness/chaos/call_sites.h"
#include "tests/harness/chaos/file_system.h"
#include "tests/harness/chaos/kafka_client.h"
#include "tests/harness/chaos/postgres_client.h"

namespace weir::jobs {

OutsidePorts NewOutsidePorts() {
  const auto sites =
      std::make_shared<chaos::CallSites>(EnvironmentVariable("WEIR_CHAOS_REPORT").value_or("/dev/stderr"));
  OutsidePorts ports;
  ports.file_system = NewPosixFileSystem();
  if (const auto folder = EnvironmentVariable("WEIR_CHAOS_FILES"); folder.has_value()) {
    ports.file_system = chaos::FailingFiles(std::move(ports.file_system), *folder, sites);
  }
  ports.kafka = chaos::FailingKafka(connectors::NewRdKafkaClientFactory(), sites);
  ports.postgres = chaos::FailingPostgres(connectors::NewLibpqClientFactory(), sites);
  return ports;
}

}  // namespace weir::jobs
