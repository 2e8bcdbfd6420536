// Tokens for SASL OAUTHBEARER: a client whose configuration names a token endpoint (security.h) asks it when librdkafka
// wants a token, at the start and before the old one ends. On librdkafka's background thread, so that nobody else
// waits.
#pragma once

#include "connectors/kafka/rdkafka_handle.h"

namespace weir::connectors {

// Before the client is made; nothing unless `config` is the property sasl.oauthbearer.config of a token endpoint.
void PrepareTokens(rd_kafka_conf_t* conf, const std::string& config);
// Right after it was made, if PrepareTokens was called with the same `config`.
Status ServeTokens(rd_kafka_t* client, const std::string& config);

// A token and its end, of the endpoint's answer. InvalidArgument says what is missing; it never holds the token.
struct Token {
  std::string text;
  int64_t lifetime_s = 0;
};
Result<Token> ParseTokenAnswer(const std::string& body);

}  // namespace weir::connectors
