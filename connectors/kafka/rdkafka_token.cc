#include "connectors/kafka/rdkafka_token.h"

#include <nlohmann/json.hpp>

#include <array>

#include "base/clock.h"
#include "base/log.h"
#include "connectors/http_client.h"
#include "connectors/kafka/security.h"

namespace weir::connectors {
namespace {

constexpr int64_t kLifetimeUnlessTold = 300;  // seconds
constexpr int64_t kMsPerS = 1'000;

Result<Token> FetchToken(const TokenEndpoint& endpoint) {
  HttpRequest request{.url = endpoint.url};
  std::string body = "grant_type=" + UrlEncoded(endpoint.grant_type);
  std::string scopes;
  for (const std::string& scope : endpoint.scopes) scopes += (scopes.empty() ? "" : " ") + scope;
  if (!scopes.empty()) body += "&scope=" + UrlEncoded(scopes);
  request.body = std::move(body);
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}};
  // Encoded as in a form, says RFC 6749, section 2.3.1.
  request.basic = {{UrlEncoded(endpoint.client_id), UrlEncoded(endpoint.client_secret)}};
  request.ca_file = endpoint.ca_file;
  WEIR_ASSIGN_OR_RETURN(const HttpAnswer answer, SendHttp(request));
  const std::string name = SpeakableUrl(endpoint.url).value_or("the token endpoint");
  if (answer.status != 200) {
    return Error(Status::Unavailable(name + " answers with status " + std::to_string(answer.status)));
  }
  Result<Token> token = ParseTokenAnswer(answer.body);
  if (!token.has_value()) return Error(token.error().WithContext(name));
  return token;
}

void RefreshToken(rd_kafka_t* client, const char* config, void* /*opaque*/) {
  const auto fail = [client](const std::string& text) {
    LogWarning("kafka client: no token: " + text);
    rd_kafka_oauthbearer_set_token_failure(client, text.c_str());
  };
  const std::optional<TokenEndpoint> endpoint = DecodeTokenEndpoint(config != nullptr ? config : "");
  if (!endpoint.has_value()) return fail("no token endpoint is configured");
  const Result<Token> token = FetchToken(*endpoint);
  if (!token.has_value()) return fail(token.error().message());
  const int64_t end_ms = SystemClock().WallNs() / 1'000'000 + token->lifetime_s * kMsPerS;
  std::array<char, 512> reason{};
  const rd_kafka_resp_err_t error = rd_kafka_oauthbearer_set_token(
      client, token->text.c_str(), end_ms, endpoint->client_id.c_str(), nullptr, 0, reason.data(), reason.size());
  // The reason may repeat the token.
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail("the client does not take what the token endpoint gave");
}

}  // namespace

void PrepareTokens(rd_kafka_conf_t* conf, const std::string& config) {
  if (!DecodeTokenEndpoint(config).has_value()) return;
  rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, &RefreshToken);
  rd_kafka_conf_enable_sasl_queue(conf, 1);
}

Status ServeTokens(rd_kafka_t* client, const std::string& config) {
  if (!DecodeTokenEndpoint(config).has_value()) return {};
  const RdKafkaPtr<rd_kafka_error_t> error(rd_kafka_sasl_background_callbacks_enable(client));
  if (error == nullptr) return {};
  return Status::Internal(std::string("Kafka client: tokens can't be served: ") + rd_kafka_error_string(error.get()));
}

Result<Token> ParseTokenAnswer(const std::string& body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object()) return Error(Status::InvalidArgument("the answer is no JSON object"));
  const auto text = answer.find("access_token");
  if (text == answer.end() || !text->is_string() || text->get_ref<const std::string&>().empty()) {
    return Error(Status::InvalidArgument("the answer has no member access_token that is a text"));
  }
  Token token{.text = text->get<std::string>(), .lifetime_s = kLifetimeUnlessTold};
  if (const auto lifetime = answer.find("expires_in"); lifetime != answer.end()) {
    if (!lifetime->is_number_integer() || lifetime->get<int64_t>() <= 0) {
      return Error(Status::InvalidArgument("the answer's member expires_in is not a number of seconds above 0"));
    }
    token.lifetime_s = lifetime->get<int64_t>();
  }
  return token;
}

}  // namespace weir::connectors
