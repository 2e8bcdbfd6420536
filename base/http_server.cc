// One thread waits for all sockets. A connection's life: the request is read until its head is complete (a body is of
// no interest), the answer is written, then what the client still sends is thrown away until it closes: closing first,
// with unread bytes, would reset the connection and could take the answer from the client. The deadline holds for all
// of it.
#include "base/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace weir {
namespace {

constexpr int kWaitingMax = 16;
// After accept has failed for want of descriptors or memory: the listener stays readable all the time.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

std::string_view ReasonOf(int code) {
  switch (code) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Answer";
  }
}

HttpAnswer Refusal(int code) {
  std::string body = std::to_string(code) + " ";
  body += ReasonOf(code);
  return {.code = code, .body = body + "\n"};
}

struct RequestLine {
  std::string_view method;
  std::string_view path;
};

// Nothing: not HTTP/1.x.
std::optional<RequestLine> ParseRequestLine(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == 0 || first == last) return std::nullopt;
  if (!line.substr(last + 1).starts_with("HTTP/1.")) return std::nullopt;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  return RequestLine{line.substr(0, first), target.substr(0, target.find('?'))};
}

std::string WireText(const HttpAnswer& answer, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.code) + " ";
  text += ReasonOf(answer.code);
  text += "\r\nContent-Type: " + answer.content_type;
  text += "\r\nContent-Length: " + std::to_string(answer.body.size());
  if (answer.code == 405) text += "\r\nAllow: GET, HEAD";
  text += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
  if (with_body) text += answer.body;
  return text;
}

struct Bound {
  Descriptor listener{-1};
  std::string address = {};
  uint16_t port = 0;
  bool is_loopback = false;
};

Bound Describe(Descriptor listener) {
  Bound bound{.listener = std::move(listener)};
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  getsockname(bound.listener.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &storage, sizeof(six));
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof(text));
    bound.port = ntohs(six.sin6_port);
    bound.is_loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    bound.address = "[" + std::string(text) + "]:" + std::to_string(bound.port);
    return bound;
  }
  sockaddr_in four{};
  std::memcpy(&four, &storage, sizeof(four));
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof(text));
  bound.port = ntohs(four.sin_port);
  bound.is_loopback = ntohl(four.sin_addr.s_addr) >> 24 == 127;
  bound.address = std::string(text) + ":" + std::to_string(bound.port);
  return bound;
}

Result<Bound> Bind(const HttpAddress& address) {
  const std::string name = address.host + ":" + std::to_string(address.port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
      error != 0) {
    return Error(Status::InvalidArgument("can't listen at " + name + ": " + gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  Descriptor listener(
      socket(addresses->ai_family, addresses->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, addresses->ai_protocol));
  // A port that a process before this one has used can be had at once; one that is in use can't.
  const int yes = 1;
  if (listener.get() < 0 || setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(listener.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.get(), kWaitingMax) != 0) {
    return Error(Status::IoError("can't listen at " + name + ": " + std::strerror(errno)));
  }
  return Describe(std::move(listener));
}

}  // namespace

class HttpServer::Loop {
  struct Connection {
    Descriptor socket;
    MonotonicTime deadline;
    std::string request = {};
    std::string answer = {};  // empty: the request is not complete
    size_t sent = 0;
    bool over = false;
  };

 public:
  Loop(Descriptor listener, Descriptor ended, HttpBounds bounds, const Clock& clock, Handler handler)
      : listener_(std::move(listener)),
        ended_(std::move(ended)),
        bounds_(bounds),
        clock_(clock),
        handler_(std::move(handler)) {}

  void Run() {
    while (Wait()) {
      const MonotonicTime now = clock_.Now();
      for (size_t i = 0; i < connections_.size(); ++i) {
        if (waited_[i + 2].revents != 0) Serve(*connections_[i]);
        if (now >= connections_[i]->deadline) connections_[i]->over = true;
      }
      const bool knocks = waited_[1].revents != 0;
      std::erase_if(connections_, [](const auto& each) { return each->over; });
      if (knocks) Accept(now);
    }
    connections_.clear();
  }
  // Any thread.
  void End() {
    const uint64_t one = 1;
    (void)!write(ended_.get(), &one, sizeof(one));
  }

 private:
  // Until something can be done; false: the server ends.
  bool Wait() {
    const MonotonicTime now = clock_.Now();
    std::optional<MonotonicTime> next;
    const bool full = connections_.size() >= bounds_.connections_max;
    const bool listens = !full && now >= accept_after_;
    if (!full && !listens) next = accept_after_;
    waited_ = {{ended_.get(), POLLIN, 0}, {listens ? listener_.get() : -1, POLLIN, 0}};
    for (const auto& each : connections_) {
      const bool writes = each->sent < each->answer.size();
      waited_.push_back({each->socket.get(), static_cast<int16_t>(writes ? POLLOUT : POLLIN), 0});
      if (!next.has_value() || each->deadline < *next) next = each->deadline;
    }
    timespec time{};
    if (next.has_value()) {
      const int64_t ns = std::max<int64_t>((*next - now).count(), 0);
      time = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    }
    if (ppoll(waited_.data(), waited_.size(), next.has_value() ? &time : nullptr, nullptr) < 0) {
      for (pollfd& each : waited_) each.revents = 0;
      return errno == EINTR;
    }
    return waited_[0].revents == 0;
  }

  void Accept(MonotonicTime now) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      const bool gone = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!gone) accept_after_ = now + kAcceptPause;
      return;
    }
    connections_.push_back(std::make_unique<Connection>(std::move(socket), now + bounds_.patience));
  }

  void Serve(Connection& connection) {
    if (connection.answer.empty()) {
      Read(connection);
    } else if (connection.sent < connection.answer.size()) {
      Write(connection);
    } else {
      Drain(connection);
    }
  }

  // The number of bytes; 0: none now. The end of the connection is marked in it.
  static size_t Receive(Connection& connection, char* buffer, size_t size) {
    const ssize_t got = recv(connection.socket.get(), buffer, size, 0);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) connection.over = true;
    return 0;
  }

  void Read(Connection& connection) {
    char buffer[4096];
    connection.request.append(buffer, Receive(connection, buffer, sizeof(buffer)));
    if (connection.over) return;
    const size_t end = std::min(connection.request.find("\r\n\r\n"), connection.request.find("\n\n"));
    const bool complete = end != std::string::npos;
    if (std::min(end, connection.request.size()) > bounds_.request_bytes_max) {
      connection.answer = WireText(Refusal(431), true);
    } else if (complete) {
      connection.answer = Answer(connection.request);
    }
    if (!connection.answer.empty()) Write(connection);
  }

  std::string Answer(std::string_view head) {
    const std::optional<RequestLine> request = ParseRequestLine(head);
    if (!request.has_value()) return WireText(Refusal(400), true);
    const bool is_head = request->method == "HEAD";
    if (!is_head && request->method != "GET") return WireText(Refusal(405), true);
    return WireText(handler_(request->path), !is_head);
  }

  static void Write(Connection& connection) {
    const ssize_t sent = send(connection.socket.get(), connection.answer.data() + connection.sent,
                              connection.answer.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0) {
      connection.over = errno != EAGAIN && errno != EINTR;
      return;
    }
    connection.sent += static_cast<size_t>(sent);
    if (connection.sent == connection.answer.size()) shutdown(connection.socket.get(), SHUT_WR);
  }

  static void Drain(Connection& connection) {
    char buffer[4096];
    Receive(connection, buffer, sizeof(buffer));
  }

  const Descriptor listener_;
  const Descriptor ended_;  // readable when the server shall end
  const HttpBounds bounds_;
  const Clock& clock_;

  // The server's thread only.
  Handler handler_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<pollfd> waited_;
  MonotonicTime accept_after_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpAddress& address, HttpBounds bounds,
                                                      WorkerFactory& workers, const Clock& clock, Handler handler) {
  WEIR_ASSIGN_OR_RETURN(Bound bound, Bind(address));
  Descriptor ended(eventfd(0, EFD_CLOEXEC));
  if (ended.get() < 0) return Error(Status::IoError(std::string("can't make an event: ") + std::strerror(errno)));
  std::unique_ptr<HttpServer> server(new HttpServer());
  server->address_ = std::move(bound.address);
  server->port_ = bound.port;
  server->is_loopback_ = bound.is_loopback;
  server->loop_ =
      std::make_shared<Loop>(std::move(bound.listener), std::move(ended), bounds, clock, std::move(handler));
  server->thread_ = workers.NewWorker("weir-http");
  server->thread_->Submit([loop = server->loop_] { loop->Run(); });
  return server;
}

HttpServer::~HttpServer() {
  if (loop_ != nullptr) loop_->End();
}

}  // namespace weir
