// The options `sasl` and `tls` of Kafka sources and sinks: who we are to the brokers and how the way to them is kept
// safe, as properties of librdkafka. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/options.h"

namespace weir::connectors {

std::vector<operators::OptionSpec> SecurityOptionSpecs();
// Also that no property says the same in other words.
void CheckSecurityOptions(const operators::Options& options, operators::Problems& problems);
// Of options that passed the check. Values may be secrets.
std::vector<std::pair<std::string, std::string>> SecurityProperties(const operators::Options& options);

// Where a client gets its tokens for OAUTHBEARER (OAuth 2.0 client credentials, RFC 6749 section 4.4). It reaches the
// client as the value of librdkafka's property sasl.oauthbearer.config.
struct TokenEndpoint {
  std::string url;
  std::string client_id;
  std::string client_secret;
  std::vector<std::string> scopes = {};
  std::string grant_type = "client_credentials";
  std::string ca_file = {};  // PEM; empty: the system's
  friend bool operator==(const TokenEndpoint&, const TokenEndpoint&) = default;
};
std::string EncodeTokenEndpoint(const TokenEndpoint& endpoint);
// Nothing if the text is not what EncodeTokenEndpoint makes, e.g. somebody's own setting.
std::optional<TokenEndpoint> DecodeTokenEndpoint(std::string_view text);

}  // namespace weir::connectors
