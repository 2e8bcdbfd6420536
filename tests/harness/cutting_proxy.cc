#include "tests/harness/cutting_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::harness {
namespace {

using std::chrono::steady_clock;

constexpr int kPollMs = 10;
constexpr std::chrono::milliseconds kLate{300};
constexpr uint32_t kProtocol3 = 196608;
constexpr std::string_view kCommitted(
    "C\0\0\0\x0b"
    "COMMIT",
    12);
constexpr std::string_view kReady("Z\0\0\0\5", 5);  // and one byte more

uint32_t BigEndian32(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// SQL of a Parse or a Query message.
std::string_view SqlOf(std::string_view message) {
  if (message[0] != 'P' && message[0] != 'Q') return {};
  std::string_view text = message.substr(5);
  if (message[0] == 'P') text.remove_prefix(text.find('\0') + 1);  // the statement's name
  return text.substr(0, text.find('\0'));
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// False: the other side has closed.
bool Receive(int socket, std::string& bytes) {
  std::array<char, 65536> buffer;
  const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
  if (got > 0) bytes.append(buffer.data(), static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

int ConnectTo(const std::string& path) {
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return server;
  close(server);
  return -1;
}

}  // namespace

// A client and its session at the server.
class CuttingProxy::Link {
 public:
  Link(CuttingProxy& proxy, int client, int server) : proxy_(proxy), client_(client), server_(server) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (client_ >= 0) close(client_);
    if (server_ >= 0) close(server_);
  }

  std::array<pollfd, 2> Polled() const { return {{{client_, POLLIN, 0}, {server_, POLLIN, 0}}}; }

  // False: it has come to its end.
  bool Step(const pollfd& client, const pollfd& server) {
    if (send_at_.has_value() && steady_clock::now() >= *send_at_) {
      send_at_.reset();
      if (!SendAll(server_, held_)) return EndCut();
    }
    if (client.revents != 0 && client_ >= 0 && !FromClient()) return false;
    return server.revents == 0 || FromServer();
  }

 private:
  bool FromClient() {
    if (!Receive(client_, received_)) {
      close(std::exchange(client_, -1));
      return awaits_commit_;
    }
    while (true) {
      const size_t type = started_ ? 1 : 0;  // the first messages have none
      if (received_.size() < type + 4) return true;
      const size_t size = type + BigEndian32(std::string_view(received_).substr(type));
      if (received_.size() < size) return true;
      const std::string message = received_.substr(0, size);
      received_.erase(0, size);
      if (!Take(message)) return false;
    }
  }

  bool Take(std::string_view message) {
    if (!started_) {
      started_ = BigEndian32(message.substr(4)) == kProtocol3;  // else a question about encryption
      return SendAll(server_, message);
    }
    const std::string_view sql = SqlOf(message);
    if (sql.starts_with("BEGIN")) transaction_.clear();
    transaction_ += sql;
    if (sql == "COMMIT" && proxy_.Wanted(transaction_)) holds_ = true;
    if (!holds_) return SendAll(server_, message);
    held_ += message;
    const bool whole = message[0] == 'S' || message[0] == 'Q';  // up to the Sync
    return !whole || MakeCut();
  }

  bool MakeCut() {
    holds_ = false;
    const std::optional<Cut> cut = proxy_.TakeCut();
    if (!cut.has_value()) return SendAll(server_, std::exchange(held_, {}));
    if (*cut == Cut::kCommitLost) {
      Reset();
      proxy_.Report(false);
      return false;
    }
    awaits_commit_ = true;
    if (*cut == Cut::kAnswerLost) return SendAll(server_, held_) || EndCut();
    Reset();
    send_at_ = steady_clock::now() + kLate;
    return true;
  }

  bool FromServer() {
    std::string& bytes = answer_;
    const bool open = Receive(server_, bytes);
    if (!awaits_commit_) return SendAll(client_, std::exchange(bytes, {})) && open;
    const bool ready = bytes.size() > kReady.size() &&
                       std::string_view(bytes).substr(bytes.size() - kReady.size() - 1).starts_with(kReady);
    return open && !ready ? true : EndCut();
  }

  // The server has answered, or is gone.
  bool EndCut() {
    Reset();
    proxy_.Report(answer_.find(kCommitted) != std::string::npos);
    return false;
  }

  void Reset() {
    if (client_ < 0) return;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(client_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(std::exchange(client_, -1));
  }

  CuttingProxy& proxy_;
  int client_;  // -1: cut off
  int server_;
  bool started_ = false;
  std::string received_;     // from the client, up to the next whole message
  std::string transaction_;  // SQL since its BEGIN
  bool holds_ = false;       // a COMMIT has come, its Sync not yet
  std::string held_;         // the COMMIT up to its Sync
  std::optional<steady_clock::time_point> send_at_;
  bool awaits_commit_ = false;
  std::string answer_;  // to the COMMIT
};

Result<std::unique_ptr<CuttingProxy>> CuttingProxy::Start(std::string server_socket) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, length) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, generic, &length) != 0) {
    const int error = errno;
    close(listener);
    return Error(Status::IoError("can't listen on a loopback port: " + std::generic_category().message(error)));
  }
  return std::unique_ptr<CuttingProxy>(new CuttingProxy(std::move(server_socket), listener, ntohs(address.sin_port)));
}

CuttingProxy::CuttingProxy(std::string server_socket, int listener, int port)
    : server_socket_(std::move(server_socket)),
      listener_(listener),
      port_(port),
      thread_([this](const std::stop_token& stop) { Serve(stop); }) {}

CuttingProxy::~CuttingProxy() {
  thread_ = {};
  close(listener_);
}

void CuttingProxy::CutNext(Cut cut, std::string text) {
  const std::scoped_lock lock(mutex_);
  next_ = cut;
  text_ = std::move(text);
  committed_.reset();
}

std::optional<bool> CuttingProxy::committed() const {
  const std::scoped_lock lock(mutex_);
  return committed_;
}

bool CuttingProxy::Wanted(std::string_view transaction) const {
  const std::scoped_lock lock(mutex_);
  return next_.has_value() && transaction.find(text_) != std::string_view::npos;
}

std::optional<CuttingProxy::Cut> CuttingProxy::TakeCut() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(next_, std::nullopt);
}

void CuttingProxy::Report(bool committed) {
  const std::scoped_lock lock(mutex_);
  committed_ = committed;
}

void CuttingProxy::Serve(const std::stop_token& stop) {
  std::list<Link> links;
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const Link& link : links) {
      for (const pollfd& one : link.Polled()) polled.push_back(one);
    }
    poll(polled.data(), polled.size(), kPollMs);
    size_t at = 1;
    std::erase_if(links, [&](Link& link) {
      const size_t mine = std::exchange(at, at + 2);
      return !link.Step(polled[mine], polled[mine + 1]);
    });
    if (polled[0].revents == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ConnectTo(server_socket_);
    if (client >= 0 && server >= 0) {
      links.emplace_back(*this, client, server);
      continue;
    }
    for (const int one : {client, server}) {
      if (one >= 0) close(one);
    }
  }
}

}  // namespace weir::harness
