#include "base/local_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/descriptor.h"

namespace weir {
namespace {

constexpr size_t kLineMax = 64 * 1024;
constexpr int kClientPatienceS = 5;  // for a client's line, and for it to take the answer
constexpr int kWaitingClientsMax = 8;

Status SocketFailure(const std::string& what, const std::string& path) {
  const StatusCode code = errno == ENOENT || errno == ECONNREFUSED ? StatusCode::kNotFound : StatusCode::kIoError;
  return {code, what + " " + path + ": " + std::strerror(errno)};
}

sockaddr_un AddressIn(int folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Without its line end; nothing: the other side has gone, or says too much.
std::optional<std::string> ReadLine(int connection) {
  std::string line;
  char buffer[4096];
  while (line.size() < kLineMax && line.find('\n') == std::string::npos) {
    const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line.append(buffer, static_cast<size_t>(got));
  }
  const size_t end = line.find('\n');
  if (end == std::string::npos) return std::nullopt;
  line.resize(end);
  return line;
}

void WriteLine(int connection, std::string line) {
  line += '\n';
  for (size_t at = 0; at < line.size();) {
    const ssize_t sent = send(connection, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the other side has gone
    at += static_cast<size_t>(sent);
  }
}

}  // namespace

Result<std::unique_ptr<LocalSocketServer>> LocalSocketServer::Start(const std::string& folder, const std::string& name,
                                                                    WorkerFactory& workers, Handler handler) {
  const std::string path = folder + "/" + name;
  const Descriptor directory(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Error(SocketFailure("can't open", folder));
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) return Error(SocketFailure("can't make a socket for", path));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Error(SocketFailure("can't remove", path));
  // The name gets the descriptor's mode: nobody but this user may connect.
  fchmod(listener.get(), S_IRUSR | S_IWUSR);
  const sockaddr_un address = AddressIn(directory.get(), name);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error(SocketFailure("can't bind", path));
  }
  if (listen(listener.get(), kWaitingClientsMax) != 0) return Error(SocketFailure("can't listen at", path));
  const int ended = eventfd(0, EFD_CLOEXEC);
  if (ended < 0) return Error(SocketFailure("can't make an event for", path));
  std::unique_ptr<LocalSocketServer> server(new LocalSocketServer(path, listener.Release(), ended, std::move(handler)));
  server->thread_ = workers.NewWorker("weir-socket");
  server->thread_->Submit([raw = server.get()] { raw->Loop(); });
  return server;
}

LocalSocketServer::LocalSocketServer(std::string path, int listener, int ended, Handler handler)
    : path_(std::move(path)), listener_(listener), ended_(ended), handler_(std::move(handler)) {}

LocalSocketServer::~LocalSocketServer() {
  unlink(path_.c_str());
  const uint64_t one = 1;
  (void)!write(ended_, &one, sizeof(one));
  thread_.reset();
  close(listener_);
  close(ended_);
}

void LocalSocketServer::Loop() {
  while (true) {
    pollfd waited[] = {{ended_, POLLIN, 0}, {listener_, POLLIN, 0}};
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0) return;
    if (waited[1].revents == 0) continue;
    const Descriptor connection(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() >= 0) Serve(connection.get());
  }
}

void LocalSocketServer::Serve(int connection) {
  const timeval patience{kClientPatienceS, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (const std::optional<std::string> line = ReadLine(connection)) WriteLine(connection, handler_(*line));
}

Result<std::string> AskLocalSocket(const std::string& folder, const std::string& name, const std::string& line) {
  const std::string path = folder + "/" + name;
  const Descriptor directory(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Error(SocketFailure("can't open", folder));
  const Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connection.get() < 0) return Error(SocketFailure("can't make a socket for", path));
  const sockaddr_un address = AddressIn(directory.get(), name);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error(SocketFailure("can't connect to", path));
  }
  WriteLine(connection.get(), line);
  std::optional<std::string> answer = ReadLine(connection.get());
  if (!answer.has_value()) return Error(Status::Unavailable(path + " was closed without an answer"));
  return std::move(*answer);
}

}  // namespace weir
