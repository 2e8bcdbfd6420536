// Stands between the clients of a PostgreSQL server and the server and, when told to, cuts a connection at a COMMIT. Of
// the wire protocol it knows that a client's messages have a length and which of them hold SQL; what comes back it
// hands on unread. Serves on a thread of its own, told by one other.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/status.h"

namespace weir::harness {

class CuttingProxy {
 public:
  // Where the client's connection is reset.
  enum class Cut : uint8_t {
    kCommitLost,  // the COMMIT never reaches the server
    kAnswerLost,  // the COMMIT is done, its answer never reaches the client
    kCommitLate,  // the same, and the server sees the COMMIT only a while after the client has seen the cut
  };

  // On a loopback port, for the server at this unix socket.
  static Result<std::unique_ptr<CuttingProxy>> Start(std::string server_socket);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  int port() const { return port_; }
  // At the next COMMIT of a transaction with a statement that holds `text`. Replaces one that has not come yet.
  void CutNext(Cut cut, std::string text);
  // What became of the transaction of the newest CutNext; nothing: it is not known yet.
  std::optional<bool> committed() const;

 private:
  class Link;
  CuttingProxy(std::string server_socket, int listener, int port);
  void Serve(const std::stop_token& stop);
  bool Wanted(std::string_view transaction) const;
  // Nothing: none is to be made any more.
  std::optional<Cut> TakeCut();
  void Report(bool committed);

  const std::string server_socket_;
  const int listener_;
  const int port_;
  mutable std::mutex mutex_;  // of what both threads use:
  std::optional<Cut> next_;
  std::string text_;
  std::optional<bool> committed_;
  std::jthread thread_;  // last: it uses all the others
};

}  // namespace weir::harness
