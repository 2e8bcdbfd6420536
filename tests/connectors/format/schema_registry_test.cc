// The registry's client against a server, alone and beneath a changefeed.
#include "connectors/format/schema_registry.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/connectors/format/avro_fixture.h"
#include "tests/connectors/format/changefeed_fixture.h"
#include "tests/harness/schema_registry.h"

namespace weir::connectors {
namespace {

constexpr const char* kKeySchema =
    R"({"type":"record","name":"t","fields":[{"type":["null","long"],"name":"id","default":null}]})";

class SchemaRegistryTest : public ChangefeedTest {
 protected:
  SchemaRegistryOptions Options() const {
    return {.url = server_.url(), .username = {}, .password = {}, .ca_file = {}, .request_timeout = kTimeout};
  }
  Result<std::string> Fetch(SchemaRegistryOptions options, uint32_t id = 1) {
    return NewSchemaRegistry(std::move(options))->Fetch(id);
  }
  Status Problem(uint32_t id = 1) {
    const Result<std::string> schema = Fetch(Options(), id);
    return schema.has_value() ? Status::Ok() : schema.error();
  }

  static constexpr Duration kTimeout = std::chrono::seconds(20);
  TestSchemaRegistry server_;
};

TEST_F(SchemaRegistryTest, B48_GivesASchemaByItsId) {
  const uint32_t id = server_.Add(kKeySchema);
  EXPECT_EQ(Fetch(Options(), id), kKeySchema);
  const Status unknown = Problem(77);
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(), server_.url() + "/schemas/ids/77: there is no such schema");
}

TEST_F(SchemaRegistryTest, B48_BasicAuthentication) {
  server_.Add(kKeySchema);
  server_.RequireLogin("me", "s3cr:t");
  EXPECT_EQ(Problem().code(), StatusCode::kFailedPrecondition);
  SchemaRegistryOptions options = Options();
  options.username = "me";
  options.password = "wrong-one";
  const Result<std::string> refused = Fetch(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.error().message().find("wrong-one"), std::string::npos);
  options.password = "s3cr:t";
  EXPECT_EQ(Fetch(options), kKeySchema);
}

// Only the registry's word that there is no schema makes the record a bad one, which a policy may skip.
TEST_F(SchemaRegistryTest, B48_WhatIsNoRegistrysAnswerIsNoWordOnTheRecord) {
  struct Case {
    int status;
    const char* body;
    StatusCode code;
  };
  for (const Case& c :
       {Case{404, "<html>not here</html>", StatusCode::kFailedPrecondition},
        Case{404, R"({"error_code":404})", StatusCode::kFailedPrecondition},
        Case{301, "", StatusCode::kFailedPrecondition}, Case{403, "", StatusCode::kFailedPrecondition},
        Case{500, "", StatusCode::kUnavailable}, Case{503, "", StatusCode::kUnavailable},
        Case{429, "", StatusCode::kUnavailable}, Case{200, "garbage \xff", StatusCode::kUnavailable},
        Case{200, R"({"schema":7})", StatusCode::kUnavailable}, Case{200, R"(["schema"])", StatusCode::kUnavailable},
        Case{200, R"({"schema":"{}","schemaType":"PROTOBUF"})", StatusCode::kInvalidArgument},
        Case{200, R"({"schema":"{}","references":[{"name":"x"}]})", StatusCode::kInvalidArgument}}) {
    server_.Answer(c.status, c.body);
    EXPECT_EQ(Problem().code(), c.code) << c.status << " " << c.body;
  }
  server_.Answer(200, std::string(5 << 20, 'x'));
  EXPECT_EQ(Problem().code(), StatusCode::kUnavailable);
}

TEST_F(SchemaRegistryTest, B48_AnAnswerThatDoesNotComeIsWaitedForInBounds) {
  server_.Hold();
  SchemaRegistryOptions options = Options();
  options.request_timeout = std::chrono::milliseconds(200);
  const Result<std::string> late = Fetch(options);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), StatusCode::kUnavailable);
  server_.Release();
  options.url = "http://127.0.0.1:1";  // nobody is there
  EXPECT_EQ(Fetch(options).error().code(), StatusCode::kUnavailable);
}

TEST_F(SchemaRegistryTest, B48_AChangefeedAsksOnceASchema) {
  const uint32_t id = server_.Add(kKeySchema);
  Use({{"encoding", RawText("avro")},
       {"envelope", RawText("key_only")},
       {"schema-registry", RawObject({{"url", RawText(server_.url() + "/")}})}});
  for (int64_t i = 0; i < 10; ++i) {
    const std::string key = AvroBytes(kKeySchema, id, [&](AvroPut put) { put.Field("id").Branch(1).Long(i); });
    ASSERT_TRUE(Read(RawRecord{.topic = "t", .key = key}).ok());
  }
  EXPECT_EQ(TakeRows().back(), R"(+U {"id":9})");
  EXPECT_EQ(server_.requests(), 1U);
  const uint32_t broken = server_.Add("no schema");
  const Status status = Read(RawRecord{.topic = "t", .key = WireHeader(broken)});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "record key: schema 2: the schema is not JSON");
}

}  // namespace
}  // namespace weir::connectors
