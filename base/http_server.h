// Lets other programs look at this process over HTTP/1.1: GET and HEAD of a few paths, one request a connection, the
// whole answer in memory. It opens no file for anybody and knows no path itself. Everything is bounded: connections,
// the bytes of a request, and the time a client has for request and answer together. One thread of its own, which also
// runs the handler; nothing here waits for a client that is slow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker.h"

namespace weir {

struct HttpAnswer {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpAddress {
  std::string host = "127.0.0.1";  // a name or a number
  uint16_t port = 0;               // 0: any that is free
};

struct HttpBounds {
  size_t connections_max = 16;  // more wait in the system's queue
  size_t request_bytes_max = 8 * 1024;
  Duration patience = std::chrono::seconds(5);  // from a connection's beginning to its end
};

class HttpServer {
 public:
  // `path` is what the client has sent in front of any '?', nothing of it decoded: compare it with whole paths. On the
  // server's thread: all clients wait meanwhile.
  using Handler = std::move_only_function<HttpAnswer(std::string_view path)>;

  // InvalidArgument: no such host here. IoError: the port is taken, or may not be had. `clock` outlives the server.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpAddress& address, HttpBounds bounds,
                                                   WorkerFactory& workers, const Clock& clock, Handler handler);
  // Closes every connection. Waits for an answer that is being made.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it is reached: "127.0.0.1:9464", "[::1]:9464".
  const std::string& address() const { return address_; }
  uint16_t port() const { return port_; }
  // Only programs of this machine reach it.
  bool is_loopback() const { return is_loopback_; }

 private:
  class Loop;
  HttpServer() = default;

  std::string address_;
  uint16_t port_ = 0;
  bool is_loopback_ = false;
  std::shared_ptr<Loop> loop_;
  std::unique_ptr<Worker> thread_;  // last: ends first
};

}  // namespace weir
