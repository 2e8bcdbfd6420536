// jobs/job.schema.json is what `weir schema` prints.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/file_system.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/group_consumer.h"
#include "connectors/postgres/libpq_client.h"
#include "connectors/register_connectors.h"
#include "jobs/definition_schema.h"
#include "operators/registry.h"

namespace weir::jobs {
namespace {

// Types are registered, nothing is made.
class NoKafka final : public connectors::KafkaClientFactory {
 public:
  Status CheckProperty(connectors::KafkaRole, const std::string&, const std::string&) override { return Status::Ok(); }
  Result<std::unique_ptr<connectors::KafkaConsumer>> NewConsumer(const connectors::KafkaConnection&,
                                                                 const connectors::KafkaClientContext&) override {
    return Error(Status::Unavailable("no client"));
  }
  Result<std::unique_ptr<connectors::KafkaGroupConsumer>> NewGroupConsumer(
      const connectors::KafkaConnection&, const connectors::KafkaGroupMembership&,
      const connectors::KafkaClientContext&) override {
    return Error(Status::Unavailable("no client"));
  }
  Result<std::unique_ptr<connectors::KafkaProducer>> NewProducer(const connectors::KafkaConnection&,
                                                                 const connectors::KafkaClientContext&) override {
    return Error(Status::Unavailable("no client"));
  }
  Result<std::unique_ptr<connectors::KafkaAdmin>> NewAdmin(const connectors::KafkaConnection&, Duration) override {
    return Error(Status::Unavailable("no client"));
  }
  Result<std::unique_ptr<connectors::KafkaTransactionalProducer>> NewTransactionalProducer(
      const connectors::KafkaConnection&, const connectors::KafkaTransactionOptions&, const Clock&) override {
    return Error(Status::Unavailable("no client"));
  }
  Result<std::unique_ptr<connectors::KafkaMarkerReader>> NewMarkerReader(const connectors::KafkaConnection&, Duration,
                                                                         const Clock&) override {
    return Error(Status::Unavailable("no client"));
  }
};

std::string WithoutLineEnds(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

TEST(PublishedSchemaTest, IsUpToDate) {
  const std::unique_ptr<FileSystem> fs = NewPosixFileSystem();
  NoKafka kafka;
  const auto postgres = connectors::NewLibpqClientFactory();
  operators::Registry registry;
  operators::RegisterOperators(registry);
  connectors::RegisterConnectors(
      registry, {.file_system = fs.get(), .kafka = &kafka, .postgres = postgres.get(), .working_directory = "/"});
  const std::string schema = DefinitionSchema(registry);
  const std::string fresh = JoinPath(WEIR_BINARY_DIR, "job.schema.json");
  ASSERT_TRUE(WriteFileDurably(*fs, fresh, schema).ok());
  const Result<std::string> published = ReadFile(*fs, JoinPath(WEIR_SOURCE_DIR, "jobs/job.schema.json"));
  ASSERT_TRUE(published.has_value()) << published.error().message();
  EXPECT_TRUE(WithoutLineEnds(schema) == WithoutLineEnds(*published))
      << "jobs/job.schema.json is out of date: replace it by " << fresh << " (weir schema prints the same)";
}

}  // namespace
}  // namespace weir::jobs
