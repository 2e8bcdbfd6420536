#include "connectors/format/schema_registry.h"

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

#include "connectors/http_client.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;

std::string StringMember(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto member = object.find(name);
  return member == object.end() || !member->is_string() ? std::string() : member->get<std::string>();
}

// What the registry answered.
Result<std::string> SchemaIn(const HttpAnswer& answer) {
  constexpr int kSchemaNotFound = 40403;
  const nlohmann::json body = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  const std::string code = "HTTP status " + std::to_string(answer.status);
  if (answer.status == 401 || answer.status == 403) {
    return Error(Status::FailedPrecondition("it refuses the user and password, or their lack (" + code + ")"));
  }
  if (answer.status == 429 || answer.status >= 500) return Error(Status::Unavailable(code));
  // Another server's 404 is not the word of a registry: with it no record may be put aside.
  if (answer.status == 404 && body.is_object() && body.value("error_code", nlohmann::json()) == kSchemaNotFound) {
    return Error(Status::InvalidArgument("there is no such schema"));
  }
  if (answer.status != 200) {
    return Error(Status::FailedPrecondition("what answers is no schema registry (" + code + ")"));
  }
  std::string schema = StringMember(body, "schema");
  if (schema.empty()) return Error(Status::Unavailable("the answer holds no schema"));
  if (const std::string type = StringMember(body, "schemaType"); !type.empty() && type != "AVRO") {
    return Error(Status::InvalidArgument("it is a schema of type " + type + ", expected AVRO"));
  }
  if (const auto references = body.find("references"); references != body.end() && !references->empty()) {
    return Error(Status::InvalidArgument("it refers to other schemas, which is not supported"));
  }
  return schema;
}

class SchemaRegistry final : public SchemaSource {
 public:
  explicit SchemaRegistry(SchemaRegistryOptions options) : options_(std::move(options)) {}

  Result<std::string> Fetch(uint32_t id) override {
    HttpRequest request{.url = options_.url + "/schemas/ids/" + std::to_string(id),
                        .headers = {{"Accept", "application/vnd.schemaregistry.v1+json, application/json"}},
                        .ca_file = options_.ca_file,
                        .timeout = options_.request_timeout};
    if (!options_.username.empty()) request.basic.emplace(options_.username, options_.password);
    const std::string name = SpeakableUrl(request.url).value_or("the schema registry");
    const Result<HttpAnswer> answer = SendHttp(request);
    // What it says of the request is no word on the record.
    if (!answer.has_value()) return Error(Status::Unavailable(answer.error().message()));
    Result<std::string> schema = SchemaIn(*answer);
    if (!schema.has_value()) return Error(schema.error().WithContext(name));
    return schema;
  }

 private:
  const SchemaRegistryOptions options_;
};

}  // namespace

std::vector<OptionSpec> SchemaRegistryOptionSpecs() {
  return {{.name = "url",
           .type = OptionType::kString,
           .required = true,
           .doc = "The registry's address, http:// or https://, without user and password."},
          {.name = "username", .type = OptionType::kString, .doc = "For basic authentication.", .min = 1},
          {.name = "password",
           .type = OptionType::kString,
           .doc = "For basic authentication; give it as a reference, ${NAME} or ${file:PATH}.",
           .secret = true},
          {.name = "ca-file",
           .type = OptionType::kString,
           .doc = "PEM file of the authorities that the server's certificate must be of; without it the system's.",
           .min = 1},
          {.name = "request-timeout",
           .type = OptionType::kDuration,
           .default_text = "5s",
           .doc = "How long the reader waits for a schema that it meets for the first time; then the job fails and its "
                  "restart strategy decides.",
           .min = 100,
           .max = 60'000}};
}

void CheckSchemaRegistryOptions(const Options& options, operators::Problems& problems) {
  const std::string& url = options.String("url");
  const std::string path = options.PathOf("url");
  // What might hold a password is not repeated.
  if (url.contains('@')) {
    problems.push_back({path, "<secret>", "an address without user and password",
                        "url holds a user or password; they belong into username and password"});
  } else if (!SpeakableUrl(url).has_value() || url.find_first_of("?#") != std::string::npos) {
    problems.push_back(
        {path, url, "http://<host> or https://<host>", "url is no address of a schema registry: " + url});
  }
  if (options.Has("username") != options.Has("password")) {
    const std::string missing = options.Has("username") ? "password" : "username";
    problems.push_back({options.PathOf(missing), "", "both username and password",
                        missing + " is missing: basic authentication takes username and password"});
  }
}

SchemaRegistryOptions ParseSchemaRegistryOptions(const Options& options) {
  const auto given = [&](std::string_view name) { return options.Has(name) ? options.String(name) : std::string(); };
  std::string url = options.String("url");
  while (url.ends_with('/')) url.pop_back();
  return {.url = std::move(url),
          .username = given("username"),
          .password = given("password"),
          .ca_file = given("ca-file"),
          .request_timeout = options.Time("request-timeout")};
}

std::unique_ptr<SchemaSource> NewSchemaRegistry(SchemaRegistryOptions options) {
  return std::make_unique<SchemaRegistry>(std::move(options));
}

}  // namespace weir::connectors
