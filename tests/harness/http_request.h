// One HTTP request as its exact bytes, for tests. Blocks; any thread.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace weir::harness {

struct HttpReply {
  int code = 0;  // 0: no answer
  std::string head;
  std::string body;
};

// A connection to a port of 127.0.0.1 that gives up after 10 s; -1: refused.
inline int ConnectTo(uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{10, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return connection;
  close(connection);
  return -1;
}

// What the other side sends until it closes.
inline std::string ReadToClose(int connection) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

inline HttpReply SendHttp(uint16_t port, const std::string& bytes) {
  const int connection = ConnectTo(port);
  if (connection < 0) return {};
  (void)!send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  const std::string text = ReadToClose(connection);
  close(connection);
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || !text.starts_with("HTTP/1.1 ")) return {};
  return {std::atoi(text.c_str() + 9), text.substr(0, end), text.substr(end + 4)};
}

inline HttpReply GetHttp(uint16_t port, const std::string& path, const std::string& method = "GET") {
  return SendHttp(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

}  // namespace weir::harness
