#include "connectors/postgres/sink.h"

#include <map>
#include <memory>
#include <utility>

#include "connectors/postgres/committer.h"
#include "connectors/postgres/direct_writer.h"
#include "connectors/postgres/options.h"
#include "connectors/postgres/segment_writer.h"

namespace weir::connectors {
namespace {

class PostgresSink final : public operators::Sink {
 public:
  PostgresSink(PostgresSinkOptions options, PostgresClientFactory& factory)
      : options_(std::move(options)), factory_(factory) {}

  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override {
    if (options_.exactly_once) return std::make_unique<PostgresSegmentWriter>(options_, system(), factory_);
    return std::make_unique<PostgresDirectWriter>(options_, factory_);
  }
  // The address: the server's own identifier is not known before it is reached. Whoever answers there in its place has
  // no marker, or another one.
  std::string system() const override {
    if (!options_.exactly_once) return {};
    const auto address = factory_.AddressOf(options_.connection.conninfo);
    return "postgres:" + (address.has_value() ? address->ToString() : std::string());
  }
  std::map<std::string, std::string> committer_settings() const override {
    const PostgresPolicies& policies = options_.policies;
    return {{"connection", options_.connection.conninfo},
            {"connect-timeout", std::to_string(options_.connection.connect_timeout.count())},
            {"statement-timeout", std::to_string(options_.connection.statement_timeout.count())},
            {"fence-timeout", std::to_string(options_.fence_timeout.count())},
            {"marker-schema", options_.marker_schema},
            {"ordering", std::to_string(static_cast<int>(policies.ordering))},
            {"on-missing-parent", policies.waiting.has_value() ? "wait" : "fail"},
            {"on-missing-table", std::to_string(static_cast<int>(policies.missing_table))},
            {"deleted-retention", std::to_string(policies.deleted_retention_ms)},
            {"unknown-columns", std::to_string(static_cast<int>(policies.unknown_columns))},
            {"extras-column", policies.extras_column},
            {"dead-letter-table", policies.dead_letters.has_value() ? policies.dead_letters->Quoted() : std::string()}};
  }
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext& context) override {
    return std::make_unique<PostgresCommitter>(options_, factory_, context);
  }

 private:
  const PostgresSinkOptions options_;
  PostgresClientFactory& factory_;
};

}  // namespace

operators::SinkType PostgresSinkType(PostgresClientFactory& factory) {
  operators::SinkType type;
  type.name = "postgres";
  type.doc = "Writes rows to a table of a PostgreSQL database, exactly once or at least once.";
  type.options = PostgresSinkOptionSpecs();
  type.check = [&factory](const operators::Options& options, operators::Problems& problems) {
    CheckPostgresSinkOptions(options, factory, problems);
  };
  type.create = [&factory](const operators::Options& options) -> Result<std::unique_ptr<operators::Sink>> {
    return std::make_unique<PostgresSink>(ParsePostgresSinkOptions(options), factory);
  };
  return type;
}

}  // namespace weir::connectors
