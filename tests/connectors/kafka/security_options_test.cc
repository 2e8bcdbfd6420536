// What the options sasl and tls accept, and which properties of the client they become. No cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "connectors/kafka/properties.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/kafka/rdkafka_token.h"
#include "connectors/kafka/register_kafka.h"
#include "connectors/kafka/security.h"
#include "tests/connectors/kafka/connector_driver.h"

namespace weir::kafka_test {
namespace {

using Strings = std::vector<std::string>;
using Members = std::vector<std::pair<std::string, operators::RawValue>>;
using Properties = std::map<std::string, std::string>;

class SecurityOptionsTest : public testing::Test {
 protected:
  SecurityOptionsTest() { connectors::RegisterKafka(registry_, *factory_); }

  Strings Problems(Definition definition, operators::Options* options = nullptr) {
    definition.emplace_back("bootstrap-servers", Text("h:1"));
    definition.emplace_back("topics", Text("t"));
    const operators::SourceType* type = registry_.FindSource("kafka");
    return ProblemsOf(type->options, type->check, definition, options);
  }
  Properties PropertiesOf(const Definition& definition) {
    operators::Options options;
    EXPECT_EQ(Problems(definition, &options), Strings());
    Properties properties;
    for (const auto& [name, value] : connectors::ConnectionFrom(options).properties) properties[name] = value;
    return properties;
  }
  bool Says(const Strings& problems, const std::string& text) {
    return std::ranges::any_of(problems, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
  static Members Sasl(const std::string& mechanism, Members more) {
    more.insert(more.begin(), {"mechanism", Text(mechanism)});
    return more;
  }

  const std::unique_ptr<connectors::KafkaClientFactory> factory_ = connectors::NewRdKafkaClientFactory();
  operators::Registry registry_;
};

TEST_F(SecurityOptionsTest, B04_UserAndPasswordBecomeProperties) {
  for (const char* mechanism : {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}) {
    EXPECT_EQ(PropertiesOf({{"sasl", Object(Sasl(mechanism, {{"username", Text("u")}, {"password", Text("p")}}))}}),
              (Properties{{"security.protocol", "sasl_plaintext"},
                          {"sasl.mechanisms", mechanism},
                          {"sasl.username", "u"},
                          {"sasl.password", "p"}}));
  }
}

TEST_F(SecurityOptionsTest, B04_EachMissingPartIsAProblemOfItsOwn) {
  const Strings nobody = Problems({{"sasl", Object(Sasl("PLAIN", {}))}});
  EXPECT_EQ(nobody.size(), 2U);
  EXPECT_TRUE(Says(nobody, "needs username"));
  EXPECT_TRUE(Says(nobody, "needs password"));
  EXPECT_TRUE(Says(Problems({{"sasl", Object(Sasl("PLAIN", {{"username", Text("")}, {"password", Text("p")}}))}}),
                   "needs username"));
  const Strings none = Problems({{"sasl", Object(Sasl("OAUTHBEARER", {}))}});
  EXPECT_EQ(none.size(), 3U);
  for (const char* part : {"token-url", "client-id", "client-secret"}) {
    EXPECT_TRUE(Says(none, std::string("needs ") + part)) << part;
  }
  EXPECT_TRUE(Says(Problems({{"sasl", Object(Sasl("KERBEROS", {}))}}), "KERBEROS"));
}

TEST_F(SecurityOptionsTest, B04_WhatDoesNotBelongToTheMechanismIsRefused) {
  EXPECT_TRUE(Says(Problems({{"sasl", Object(Sasl("PLAIN", {{"username", Text("u")},
                                                            {"password", Text("p")},
                                                            {"token-url", Text("https://t")}}))}}),
                   "token-url has no meaning with mechanism PLAIN"));
  const Strings bad = Problems({{"sasl", Object(Sasl("OAUTHBEARER", {{"token-url", Text("ftp://canary-7Q!x")},
                                                                     {"client-id", Text("i")},
                                                                     {"client-secret", Text("canary-7Q!x")}}))}});
  EXPECT_TRUE(Says(bad, "not a URL of http or https"));
  EXPECT_FALSE(Says(bad, "canary"));
}

TEST_F(SecurityOptionsTest, B04_AnEndpointSurvivesItsWayThroughAProperty) {
  const Properties properties =
      PropertiesOf({{"tls", Object({})},
                    {"sasl", Object(Sasl("OAUTHBEARER", {{"token-url", Text("https://t.example/token?a=b")},
                                                         {"client-id", Text("me & \"you\"\n")},
                                                         {"client-secret", Text("\xc3\xa4.,;= ")},
                                                         {"scopes", List({"a", "b c"})},
                                                         {"grant-type", Text("other")},
                                                         {"token-ca", Text("/ca.pem")}}))}});
  EXPECT_EQ(properties.at("security.protocol"), "sasl_ssl");
  EXPECT_EQ(connectors::DecodeTokenEndpoint(properties.at("sasl.oauthbearer.config")),
            (connectors::TokenEndpoint{.url = "https://t.example/token?a=b",
                                       .client_id = "me & \"you\"\n",
                                       .client_secret = "\xc3\xa4.,;= ",
                                       .scopes = {"a", "b c"},
                                       .grant_type = "other",
                                       .ca_file = "/ca.pem"}));
  for (const char* other :
       {"", "principal=admin", "weir-token-endpoint", "weir-token-endpoint.6", "weir-token-endpoint.zz"}) {
    EXPECT_FALSE(connectors::DecodeTokenEndpoint(other).has_value()) << other;
  }
}

TEST_F(SecurityOptionsTest, B05_AnyPartTurnsTlsOnAndHalfAPairIsRefused) {
  EXPECT_EQ(PropertiesOf({{"tls", Object({})}}), (Properties{{"security.protocol", "ssl"}}));
  EXPECT_EQ(PropertiesOf({{"tls", Object({{"ca", Text("/ca")}})}}),
            (Properties{{"security.protocol", "ssl"}, {"ssl.ca.location", "/ca"}}));
  EXPECT_EQ(
      PropertiesOf(
          {{"tls",
            Object({{"certificate", Text("/c")}, {"private-key", Text("/k")}, {"private-key-password", Text("p")}})}}),
      (Properties{{"security.protocol", "ssl"},
                  {"ssl.certificate.location", "/c"},
                  {"ssl.key.location", "/k"},
                  {"ssl.key.password", "p"}}));
  EXPECT_TRUE(Says(Problems({{"tls", Object({{"certificate", Text("/c")}})}}), "private-key is missing"));
  EXPECT_TRUE(Says(Problems({{"tls", Object({{"private-key", Text("/k")}})}}), "certificate is missing"));
}

TEST_F(SecurityOptionsTest, AMatterIsSaidOnce) {
  EXPECT_TRUE(Says(Problems({{"tls", Object({})}, {"properties", Object({{"security.protocol", Text("ssl")}})}}),
                   "set by the options sasl and tls"));
  EXPECT_EQ(Problems({{"properties", Object({{"security.protocol", Text("ssl")}})}}), Strings()) << "as before";
}

TEST(TokenAnswerTest, TakesWhatEndpointsSayAndNamesWhatIsMissing) {
  const auto token = connectors::ParseTokenAnswer(R"({"access_token":"a.b.c","expires_in":60,"more":[]})");
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->text, "a.b.c");
  EXPECT_EQ(token->lifetime_s, 60);
  EXPECT_EQ(connectors::ParseTokenAnswer(R"({"access_token":"a"})")->lifetime_s, 300);
  for (const char* bad :
       {"", "[]", "{}", R"({"access_token":7})", R"({"access_token":""})",
        R"({"access_token":"canary","expires_in":"x"})", R"({"access_token":"canary","expires_in":0})"}) {
    const auto refused = connectors::ParseTokenAnswer(bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().message().find("canary"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::kafka_test
