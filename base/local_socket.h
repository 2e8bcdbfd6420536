// A socket in a folder, for this user only, on which a process answers lines of text: one line in, one line out, one
// client after the other. The folder is opened first and the socket named through its descriptor, because a socket's
// address has room for 107 bytes and a folder's path may be longer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/worker.h"

namespace weir {

class LocalSocketServer {
 public:
  // Answers a line, both without line end; may take as long as it takes. On the server's own thread.
  using Handler = std::move_only_function<std::string(const std::string& line)>;

  // What another process left under the name is replaced: the caller knows that none uses it.
  static Result<std::unique_ptr<LocalSocketServer>> Start(const std::string& folder, const std::string& name,
                                                          WorkerFactory& workers, Handler handler);
  // Takes no further client, waits for the answer that is being made, removes the name.
  ~LocalSocketServer();
  LocalSocketServer(const LocalSocketServer&) = delete;
  LocalSocketServer& operator=(const LocalSocketServer&) = delete;

 private:
  LocalSocketServer(std::string path, int listener, int ended, Handler handler);
  void Loop();
  void Serve(int connection);

  const std::string path_;
  const int listener_;
  const int ended_;  // readable when the server shall end
  Handler handler_;
  std::unique_ptr<Worker> thread_;
};

// Sends a line and waits for the answer. NotFound: nobody serves the socket. Unavailable: the server went away.
Result<std::string> AskLocalSocket(const std::string& folder, const std::string& name, const std::string& line);

}  // namespace weir
