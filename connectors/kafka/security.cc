#include "connectors/kafka/security.h"

#include <algorithm>
#include <array>

#include "connectors/http_client.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problems;

constexpr std::string_view kOauthBearer = "OAUTHBEARER";
constexpr std::string_view kTokenEndpointMark = "weir-token-endpoint";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Properties that the two options set, and librdkafka's other names for them.
constexpr std::array<std::string_view, 4> kProtocol = {"security.protocol", "sasl.mechanism", "sasl.mechanisms",
                                                       "sasl.oauthbearer.config"};

struct Needed {
  std::string_view option;
  std::string_view what;
};
constexpr std::array kOfPassword = {Needed{"username", "the user's name"}, Needed{"password", "the user's password"}};
constexpr std::array kOfToken = {Needed{"token-url", "the token endpoint's URL"},
                                 Needed{"client-id", "the client's id"},
                                 Needed{"client-secret", "the client's secret"}};
constexpr std::array<std::string_view, 3> kMoreOfToken = {"scopes", "grant-type", "token-ca"};

bool IsGiven(const Options& options, std::string_view name) {
  const operators::OptionValue* value = options.Find(name);
  return value != nullptr && (value->type != OptionType::kString || !value->text.empty());
}

void CheckSasl(const Options& sasl, Problems& problems) {
  const std::string& mechanism = sasl.String("mechanism");
  const bool by_token = mechanism == kOauthBearer;
  const auto need = [&](const Needed& each) {
    if (IsGiven(sasl, each.option)) return;
    problems.push_back({sasl.PathOf(each.option), "", std::string(each.what),
                        "mechanism " + mechanism + " needs " + std::string(each.option)});
  };
  const auto refuse = [&](std::string_view option) {
    if (!IsGiven(sasl, option)) return;
    problems.push_back({sasl.PathOf(option), "<secret>", "no such member",
                        std::string(option) + " has no meaning with mechanism " + mechanism});
  };
  for (const Needed& each : kOfPassword) by_token ? refuse(each.option) : need(each);
  for (const Needed& each : kOfToken) by_token ? need(each) : refuse(each.option);
  if (!by_token) std::ranges::for_each(kMoreOfToken, refuse);
  if (by_token && IsGiven(sasl, "token-url") && !SpeakableUrl(sasl.String("token-url")).has_value()) {
    problems.push_back(
        {sasl.PathOf("token-url"), "<secret>", "a URL of http or https", "token-url is not a URL of http or https"});
  }
}

void CheckTls(const Options& tls, Problems& problems) {
  const bool certificate = IsGiven(tls, "certificate");
  const bool key = IsGiven(tls, "private-key");
  if (certificate != key) {
    const std::string missing = certificate ? "private-key" : "certificate";
    problems.push_back({tls.PathOf(missing), "", "a PEM file",
                        "certificate and private-key belong together: " + missing + " is missing"});
  }
  if (IsGiven(tls, "private-key-password") && !key) {
    problems.push_back({tls.PathOf("private-key-password"), "<secret>", "no such member",
                        "private-key-password has a meaning only with private-key"});
  }
}

TokenEndpoint TokenEndpointOf(const Options& sasl) {
  TokenEndpoint endpoint{.url = sasl.String("token-url"),
                         .client_id = sasl.String("client-id"),
                         .client_secret = sasl.String("client-secret")};
  endpoint.scopes = sasl.Strings("scopes");
  if (IsGiven(sasl, "grant-type")) endpoint.grant_type = sasl.String("grant-type");
  if (IsGiven(sasl, "token-ca")) endpoint.ca_file = sasl.String("token-ca");
  return endpoint;
}

OptionSpec SaslSpec() {
  OptionSpec sasl{.name = "sasl", .type = OptionType::kObject, .doc = "Who we are to the brokers; without it: nobody."};
  sasl.members = {
      {.name = "mechanism",
       .type = OptionType::kEnum,
       .required = true,
       .doc = "How the brokers make sure of it.",
       .choices = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}},
      {.name = "username", .type = OptionType::kString, .doc = "PLAIN and SCRAM: the user's name."},
      {.name = "password", .type = OptionType::kString, .doc = "PLAIN and SCRAM: the user's password.", .secret = true},
      {.name = "token-url",
       .type = OptionType::kString,
       .doc = "OAUTHBEARER: where tokens come from (OAuth 2.0 client credentials), http or https.",
       .secret = true},
      {.name = "client-id", .type = OptionType::kString, .doc = "OAUTHBEARER: the client's id at the token endpoint."},
      {.name = "client-secret",
       .type = OptionType::kString,
       .doc = "OAUTHBEARER: the client's secret there.",
       .secret = true},
      {.name = "scopes",
       .type = OptionType::kStringList,
       .doc = "OAUTHBEARER: the scopes to ask for; none by default."},
      {.name = "grant-type",
       .type = OptionType::kString,
       .doc = "OAUTHBEARER: in place of client_credentials, for endpoints that want another word."},
      {.name = "token-ca",
       .type = OptionType::kString,
       .doc = "OAUTHBEARER: PEM file of the authorities to trust for token-url; the system's by default."},
  };
  return sasl;
}

OptionSpec TlsSpec() {
  OptionSpec tls{
      .name = "tls",
      .type = OptionType::kObject,
      .doc = "The way to the brokers is encrypted; {} with the system's authorities. Without it: plain text."};
  tls.members = {
      {.name = "ca",
       .type = OptionType::kString,
       .doc = "PEM file of the authorities to trust, in place of the system's."},
      {.name = "certificate", .type = OptionType::kString, .doc = "PEM file of the client's certificate."},
      {.name = "private-key", .type = OptionType::kString, .doc = "PEM file of that certificate's key."},
      {.name = "private-key-password",
       .type = OptionType::kString,
       .doc = "What the key is encrypted with.",
       .secret = true},
      {.name = "skip-verify",
       .type = OptionType::kBool,
       .default_text = "false",
       .doc = "Take any certificate of any broker: for trying things out only."},
  };
  return tls;
}

}  // namespace

std::vector<OptionSpec> SecurityOptionSpecs() { return {SaslSpec(), TlsSpec()}; }

void CheckSecurityOptions(const Options& options, Problems& problems) {
  if (options.Has("sasl")) CheckSasl(options.Object("sasl"), problems);
  if (options.Has("tls")) CheckTls(options.Object("tls"), problems);
  if (!options.Has("sasl") && !options.Has("tls")) return;
  for (const auto& [name, value] : options.StringMap("properties")) {
    const bool same = std::ranges::find(kProtocol, name) != kProtocol.end() ||
                      (options.Has("sasl") && (name == "sasl.username" || name == "sasl.password"));
    if (!same) continue;
    problems.push_back({options.PathOf("properties") + "/" + name, "<secret>", "no such member",
                        "property \"" + name + "\" is set by the options sasl and tls"});
  }
}

std::vector<std::pair<std::string, std::string>> SecurityProperties(const Options& options) {
  std::vector<std::pair<std::string, std::string>> properties;
  const bool sasl_on = options.Has("sasl");
  const bool tls_on = options.Has("tls");
  if (!sasl_on && !tls_on) return properties;
  properties.emplace_back("security.protocol", sasl_on ? (tls_on ? "sasl_ssl" : "sasl_plaintext") : "ssl");
  if (tls_on) {
    const Options tls = options.Object("tls");
    const auto copy = [&](std::string_view option, const char* property) {
      if (IsGiven(tls, option)) properties.emplace_back(property, tls.String(option));
    };
    copy("ca", "ssl.ca.location");
    copy("certificate", "ssl.certificate.location");
    copy("private-key", "ssl.key.location");
    copy("private-key-password", "ssl.key.password");
    if (tls.Bool("skip-verify")) properties.emplace_back("enable.ssl.certificate.verification", "false");
  }
  if (sasl_on) {
    const Options sasl = options.Object("sasl");
    properties.emplace_back("sasl.mechanisms", sasl.String("mechanism"));
    if (sasl.String("mechanism") == kOauthBearer) {
      properties.emplace_back("sasl.oauthbearer.config", EncodeTokenEndpoint(TokenEndpointOf(sasl)));
    } else {
      properties.emplace_back("sasl.username", sasl.String("username"));
      properties.emplace_back("sasl.password", sasl.String("password"));
    }
  }
  return properties;
}

// The mark, then the fields in hexadecimal digits, each behind a point: no character that any setting could trip over.
std::string EncodeTokenEndpoint(const TokenEndpoint& endpoint) {
  std::string text(kTokenEndpointMark);
  const auto append = [&text](const std::string& field) {
    text += '.';
    for (const char c : field) {
      const auto byte = static_cast<unsigned char>(c);
      text += kHexDigits[byte >> 4U];
      text += kHexDigits[byte & 0xfU];
    }
  };
  for (const std::string* field :
       {&endpoint.url, &endpoint.client_id, &endpoint.client_secret, &endpoint.grant_type, &endpoint.ca_file}) {
    append(*field);
  }
  std::ranges::for_each(endpoint.scopes, append);
  return text;
}

std::optional<TokenEndpoint> DecodeTokenEndpoint(std::string_view text) {
  constexpr size_t kFields = 5;  // before the scopes
  if (!text.starts_with(kTokenEndpointMark)) return std::nullopt;
  std::vector<std::string> fields;
  bool high = true;
  for (const char c : text.substr(kTokenEndpointMark.size())) {
    if (c == '.') {
      if (!high) return std::nullopt;
      fields.emplace_back();
      continue;
    }
    const size_t digit = kHexDigits.find(c);
    if (digit == std::string_view::npos || fields.empty()) return std::nullopt;
    if (high) fields.back() += static_cast<char>(digit << 4U);
    if (!high) fields.back().back() = static_cast<char>(static_cast<unsigned char>(fields.back().back()) | digit);
    high = !high;
  }
  if (!high || fields.size() < kFields) return std::nullopt;
  return TokenEndpoint{.url = fields[0],
                       .client_id = fields[1],
                       .client_secret = fields[2],
                       .scopes = {fields.begin() + kFields, fields.end()},
                       .grant_type = fields[3],
                       .ca_file = fields[4]};
}

}  // namespace weir::connectors
