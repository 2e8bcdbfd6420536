// The options sasl and tls against a broker that has such listeners, and a token endpoint of the test's own.
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "connectors/kafka/properties.h"
#include "connectors/kafka/rdkafka_client.h"
#include "connectors/kafka/register_kafka.h"
#include "connectors/kafka/security.h"
#include "tests/connectors/kafka/connector_driver.h"
#include "tests/harness/kafka_broker.h"

namespace weir::kafka_test {
namespace {

using connectors::KafkaConnection;
using harness::KafkaBroker;
using std::chrono::seconds;

// An authority, a broker's certificate and a client's, in PEM files.
class Certificates {
 public:
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {
    Run({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=authority", "-days", "2", "-keyout",
         Path("ca.key"), "-out", ca()});
    Issue("broker");
    Issue("client");
    // A keystore in PEM: the key, then its certificate.
    std::ofstream(Path("broker.pem")) << Read(Path("broker.key")) << Read(Path("broker.crt"));
  }
  std::string ca() const { return Path("ca.crt"); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Issue(const std::string& name) {
    Run({"req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout", Path(name + ".key"), "-out",
         Path(name + ".csr")});
    std::ofstream(Path("names")) << "subjectAltName=IP:127.0.0.1\n";
    Run({"x509", "-req", "-in", Path(name + ".csr"), "-CA", ca(), "-CAkey", Path("ca.key"), "-CAcreateserial", "-days",
         "2", "-extfile", Path("names"), "-out", Path(name + ".crt")});
  }
  void Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    auto process =
        harness::ChildProcess::Start({.arguments = arguments, .environment = {}, .output_path = Path("openssl.log")});
    ASSERT_TRUE(process.has_value()) << process.error().ToString();
    ASSERT_EQ(process->Wait(seconds(30)), 0) << Read(Path("openssl.log"));
  }
  const std::string folder_;
};

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) bits = bits << 8U | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kLetters[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string Base64Url(std::string_view bytes) {
  std::string text = Base64(bytes);
  std::erase(text, '=');
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

// Gives tokens without a signature, as the broker's validator for tests takes them.
class TokenServer {
 public:
  TokenServer() {
    server_.Post("/token", [this](const httplib::Request& request, httplib::Response& response) {
      ++requests;
      last_body = request.body;
      last_authorization = request.get_header_value("Authorization");
      if (status != 200) {
        response.status = status;
        response.set_content("secret-of-the-server", "text/plain");
        return;
      }
      const int64_t now = SystemClock().WallNs() / 1'000'000'000;
      const std::string claims =
          "{\"sub\":\"weir\",\"iat\":" + std::to_string(now - 1) + ",\"exp\":" + std::to_string(now + lifetime_s) + "}";
      response.set_content("{\"access_token\":\"" + Base64Url("{\"alg\":\"none\"}") + "." + Base64Url(claims) +
                               ".\",\"token_type\":\"Bearer\",\"expires_in\":" + std::to_string(lifetime_s) + "}",
                           "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~TokenServer() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/token"; }

  std::atomic<int> requests{0};
  std::atomic<int> status{200};
  std::atomic<int64_t> lifetime_s{3600};
  std::string last_body;           // read when nobody asks any more
  std::string last_authorization;  // the same

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

class KafkaSecurityTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-security-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    certificates_ = std::make_unique<Certificates>(folder);
    const std::string scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
    const std::string plain =
        "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"in-wonderland\";";
    const std::string oauth =
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        "unsecuredLoginStringClaim_sub=\"broker\";";
    auto broker = KafkaBroker::Start(
        {{"ssl.keystore.type", "PEM"},
         {"ssl.keystore.location", certificates_->Path("broker.pem")},
         {"ssl.truststore.type", "PEM"},
         {"ssl.truststore.location", certificates_->ca()},
         {"listener.name.mutual.ssl.client.auth", "required"},
         {"listener.name.open.sasl.enabled.mechanisms", "PLAIN"},
         {"listener.name.open.plain.sasl.jaas.config", plain},
         {"listener.name.safe.sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"},
         {"listener.name.safe.plain.sasl.jaas.config", plain},
         {"listener.name.safe.scram-sha-256.sasl.jaas.config", scram},
         {"listener.name.safe.scram-sha-512.sasl.jaas.config", scram},
         {"listener.name.token.sasl.enabled.mechanisms", "OAUTHBEARER"},
         {"listener.name.token.oauthbearer.sasl.jaas.config", oauth},
         {"listener.name.token.oauthbearer.sasl.server.callback.handler.class",
          "org.apache.kafka.common.security.oauthbearer.internals.unsecured."
          "OAuthBearerUnsecuredValidatorCallbackHandler"}},
        {{"TLS", "SSL"}, {"MUTUAL", "SSL"}, {"OPEN", "SASL_PLAINTEXT"}, {"SAFE", "SASL_SSL"}, {"TOKEN", "SASL_SSL"}});
    ASSERT_TRUE(broker.has_value()) << broker.error().ToString();
    broker_ = std::move(*broker);
    ASSERT_EQ(broker_->CreateTopic("kept-safe", 1).ToString(), "ok");
    for (const char* mechanism : {"SCRAM-SHA-256", "SCRAM-SHA-512"}) {  // a request alters a user once
      const Status altered = broker_->RunTool({"kafka.admin.ConfigCommand", "--bootstrap-server", broker_->bootstrap(),
                                               "--alter", "--entity-type", "users", "--entity-name", "alice",
                                               "--add-config", std::string(mechanism) + "=[password=in-wonderland]"});
      ASSERT_EQ(altered.ToString(), "ok");
    }
  }
  static void TearDownTestSuite() {
    broker_.reset();
    certificates_.reset();
    std::filesystem::remove_all(folder_);
  }

  KafkaSecurityTest() { connectors::RegisterKafka(registry_, *factory_); }

  // The definition's problems, or the topics that its connection sees.
  std::string Ask(const std::string& listener, Definition more) {
    more.emplace_back("bootstrap-servers", Text(broker_->bootstrap(listener)));
    more.emplace_back("topics", Text("kept-safe"));
    const operators::SourceType* type = registry_.FindSource("kafka");
    operators::Options options;
    for (const std::string& problem : ProblemsOf(type->options, type->check, more, &options)) return problem;
    const auto admin = factory_->NewAdmin(connectors::ConnectionFrom(options), seconds(3));
    if (!admin.has_value()) return admin.error().ToString();
    const auto topic = (*admin)->DescribeTopic("kept-safe");
    return topic.has_value() ? topic->name : topic.error().ToString();
  }
  operators::RawValue Trusting() const { return Object({{"ca", Text(certificates_->ca())}}); }
  static operators::RawValue Yes() {
    operators::RawValue value;
    value.kind = operators::RawKind::kBool;
    value.boolean = true;
    return value;
  }
  static operators::RawValue User(const std::string& mechanism, const std::string& password) {
    return Object({{"mechanism", Text(mechanism)}, {"username", Text("alice")}, {"password", Text(password)}});
  }
  static operators::RawValue ByToken(const std::string& url) {
    return Object({{"mechanism", Text("OAUTHBEARER")},
                   {"token-url", Text(url)},
                   {"client-id", Text("weir client")},
                   {"client-secret", Text("s3/cret")},
                   {"scopes", List({"read", "write"})}});
  }

  inline static std::string folder_;
  inline static std::unique_ptr<Certificates> certificates_;
  inline static std::unique_ptr<KafkaBroker> broker_;
  const std::unique_ptr<connectors::KafkaClientFactory> factory_ = connectors::NewRdKafkaClientFactory();
  operators::Registry registry_;
};

TEST_F(KafkaSecurityTest, B05_TlsTrustsTheAuthorityThatIsGivenAndNoOther) {
  EXPECT_EQ(Ask("TLS", {{"tls", Trusting()}}), "kept-safe");
  EXPECT_NE(Ask("TLS", {{"tls", Object({})}}).find("unavailable"), std::string::npos) << "the system does not know it";
  EXPECT_EQ(Ask("TLS", {{"tls", Object({{"skip-verify", Yes()}})}}), "kept-safe");
}

TEST_F(KafkaSecurityTest, B05_AClientsCertificateIsShown) {
  EXPECT_EQ(Ask("MUTUAL", {{"tls", Object({{"ca", Text(certificates_->ca())},
                                           {"certificate", Text(certificates_->Path("client.crt"))},
                                           {"private-key", Text(certificates_->Path("client.key"))}})}}),
            "kept-safe");
  EXPECT_NE(Ask("MUTUAL", {{"tls", Trusting()}}), "kept-safe");
}

TEST_F(KafkaSecurityTest, B04_PlainLetsTheRightPasswordIn) {
  EXPECT_EQ(Ask("OPEN", {{"sasl", User("PLAIN", "in-wonderland")}}), "kept-safe");
  EXPECT_EQ(Ask("SAFE", {{"tls", Trusting()}, {"sasl", User("PLAIN", "in-wonderland")}}), "kept-safe");
}

// A client before librdkafka 2.6.1 repeats a nonce, which brokers from Kafka 4 on refuse: then that is what is told.
// With WEIR_KAFKA_LIB at an older broker's jars (tried: 3.9.1) both passwords let in.
TEST_F(KafkaSecurityTest, B04_ScramLetsTheRightPasswordInOrSaysWhyItCannot) {
  for (const char* mechanism : {"SCRAM-SHA-256", "SCRAM-SHA-512"}) {
    const std::string answer = Ask("SAFE", {{"tls", Trusting()}, {"sasl", User(mechanism, "in-wonderland")}});
    if (answer == "kept-safe") continue;
    EXPECT_NE(answer.find("Kafka 4 refuse every SCRAM of librdkafka before 2.6.1"), std::string::npos) << answer;
  }
}

TEST_F(KafkaSecurityTest, B04_AWrongPasswordIsToldWithoutIt) {
  for (const char* mechanism : {"PLAIN", "SCRAM-SHA-256"}) {
    const std::string answer = Ask("SAFE", {{"tls", Trusting()}, {"sasl", User(mechanism, "canary-7Q!x")}});
    EXPECT_NE(answer.find("uthentication"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("canary"), std::string::npos) << answer;
  }
}

TEST_F(KafkaSecurityTest, B04_TokensComeFromTheEndpointAndAreRenewed) {
  TokenServer server;
  server.lifetime_s = 4;
  const operators::SourceType* type = registry_.FindSource("kafka");
  operators::Options options;
  ASSERT_EQ(ProblemsOf(type->options, type->check,
                       {{"bootstrap-servers", Text(broker_->bootstrap("TOKEN"))},
                        {"topics", Text("kept-safe")},
                        {"tls", Trusting()},
                        {"sasl", ByToken(server.url())}},
                       &options),
            std::vector<std::string>());
  const auto admin = factory_->NewAdmin(connectors::ConnectionFrom(options), seconds(10));
  ASSERT_TRUE(admin.has_value()) << admin.error().ToString();
  const auto topic = (*admin)->DescribeTopic("kept-safe");
  ASSERT_TRUE(topic.has_value()) << topic.error().ToString();
  EXPECT_EQ(server.requests, 1);
  EXPECT_EQ(server.last_body, "grant_type=client_credentials&scope=read%20write");
  EXPECT_EQ(server.last_authorization, "Basic " + Base64("weir%20client:s3%2Fcret"));
  for (int i = 0; i < 200 && server.requests < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(server.requests, 2) << "before the first one ends";
  EXPECT_TRUE((*admin)->DescribeTopic("kept-safe").has_value());
}

TEST_F(KafkaSecurityTest, B04_AnEndpointThatRefusesIsToldAndAskedAgain) {
  TokenServer server;
  server.status = 401;
  const std::string answer = Ask("TOKEN", {{"tls", Trusting()}, {"sasl", ByToken(server.url())}});
  EXPECT_NE(answer.find("401"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("s3"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("secret-of-the-server"), std::string::npos) << answer;
  server.status = 200;
  EXPECT_EQ(Ask("TOKEN", {{"tls", Trusting()}, {"sasl", ByToken(server.url())}}), "kept-safe");
}

}  // namespace
}  // namespace weir::kafka_test
