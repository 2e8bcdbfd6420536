#include "tests/harness/cutting_proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/harness/postgres_server.h"

namespace weir::harness {
namespace {

using std::chrono::milliseconds;

std::string BigEndian32(size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string Message(const std::string& type, const std::string& body) {
  return type + BigEndian32(body.size() + 4) + body;
}

// Speaks the wire by hand, byte by byte.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const int at_once = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    using std::string_literals::operator""s;
    EXPECT_TRUE(Ask(Message("", BigEndian32(196608) + "user\0weir\0database\0postgres\0\0"s)));
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False: there is no answer, the connection is gone.
  bool Query(const std::string& sql) { return Ask(Message("Q", sql + '\0')); }
  // The same as Parse, Bind, Execute, Sync.
  bool Execute(const std::string& sql) {
    return Ask(Message("P", '\0' + sql + std::string(3, '\0')) + Message("B", std::string(8, '\0')) +
               Message("E", std::string(5, '\0')) + Message("S", ""));
  }

 private:
  bool Ask(const std::string& messages) {
    for (const char& byte : messages) {
      if (send(socket_, &byte, 1, MSG_NOSIGNAL) != 1) return false;
    }
    std::string answer;
    std::array<char, 1024> buffer{};
    const std::string ready = Message("Z", " ").substr(0, 5);
    while (answer.size() < 6 || answer.compare(answer.size() - 6, 5, ready) != 0) {
      const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return false;
      answer.append(buffer.data(), static_cast<size_t>(got));
    }
    return true;
  }

  const int socket_;
};

std::optional<bool> Outcome(const CuttingProxy& proxy) {
  for (int i = 0; i < 3000 && !proxy.committed().has_value(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return proxy.committed();
}

TEST(CuttingProxyTest, CutsTheCommitThatIsAskedForAndTellsItsOutcome) {
  using enum CuttingProxy::Cut;
  const auto server = PostgresServer::Start();
  ASSERT_TRUE(server.has_value()) << server.error().ToString();
  const auto proxy = CuttingProxy::Start((*server)->socket_path());
  ASSERT_TRUE(proxy.has_value()) << proxy.error().ToString();
  ASSERT_EQ((*server)->Run("CREATE TABLE t (id int); CREATE TABLE other (id int)").ToString(), "ok");
  for (const CuttingProxy::Cut cut : {kCommitLost, kAnswerLost, kCommitLate}) {
    for (const bool extended : {false, true}) {
      Client client((*proxy)->port());
      (*proxy)->CutNext(cut, "INTO t");
      for (const std::string table : {"other", "t"}) {
        EXPECT_TRUE(client.Execute("BEGIN"));
        EXPECT_TRUE(client.Query("INSERT INTO " + table + " VALUES (1)"));
        EXPECT_EQ(extended ? client.Execute("COMMIT") : client.Query("COMMIT"), table == "other");
      }
      EXPECT_EQ(Outcome(**proxy), cut != kCommitLost);
    }
  }
  Client client((*proxy)->port());
  EXPECT_TRUE(client.Query("BEGIN") && client.Query("INSERT INTO t VALUES (1)") && client.Query("COMMIT"));
  EXPECT_EQ((*server)->Query("SELECT (SELECT count(*) FROM other), (SELECT count(*) FROM t)"),
            std::vector<std::string>{"6|5"});
}

}  // namespace
}  // namespace weir::harness
