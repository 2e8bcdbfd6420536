#include "jobs/control_socket.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
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

namespace weir::jobs {
namespace {

using Json = nlohmann::json;

constexpr size_t kLineMax = 64 * 1024;
constexpr int kClientPatienceS = 5;  // for its line; the answer may take as long as it takes
constexpr const char* kName = "control.sock";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status Failure(const std::string& what, const std::string& path) {
  const StatusCode code = errno == ENOENT || errno == ECONNREFUSED ? StatusCode::kNotFound : StatusCode::kIoError;
  return {code, what + " " + path + ": " + std::strerror(errno)};
}

// A socket's address has room for 107 bytes, a folder's path for more: the folder is named by a descriptor.
sockaddr_un AddressIn(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + kName;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Up to the first line feed or the end.
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

void WriteLine(int connection, const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < line.size();) {
    const ssize_t sent = send(connection, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the client has gone
    at += static_cast<size_t>(sent);
  }
}

std::optional<ControlRequest> ParseRequest(const std::string& line) {
  const Json message = Json::parse(line, nullptr, false);
  if (!message.is_object() || !message.contains("command")) return std::nullopt;
  ControlRequest request;
  const auto flag = [&message](const char* name) {
    const auto found = message.find(name);
    return found != message.end() && found->is_boolean() && found->get<bool>();
  };
  request.drain = flag("drain");
  if (message["command"] == "stop") {
    request.stop = true;
    return request;
  }
  const auto folder = message.find("folder");
  if (message["command"] != "savepoint" || folder == message.end() || !folder->is_string()) return std::nullopt;
  request.savepoint_folder = folder->get<std::string>();
  request.stop = flag("stop");
  if (!request.savepoint_folder.starts_with('/')) return std::nullopt;
  return request;
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::Start(const std::string& folder, WorkerFactory& workers,
                                                            Handler handler) {
  const std::string path = folder + "/" + kName;
  const Descriptor directory(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Error(Failure("can't open", folder));
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) return Error(Failure("can't make a socket for", path));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Error(Failure("can't remove", path));
  // What the descriptor's mode is the name gets: nobody but this user may connect.
  fchmod(listener.get(), S_IRUSR | S_IWUSR);
  const sockaddr_un address = AddressIn(directory.get());
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error(Failure("can't bind", path));
  }
  if (listen(listener.get(), 8) != 0) return Error(Failure("can't listen at", path));
  const int ended = eventfd(0, EFD_CLOEXEC);
  if (ended < 0) return Error(Failure("can't make an event for", path));
  std::unique_ptr<ControlServer> server(new ControlServer(path, listener.Release(), ended, std::move(handler)));
  server->thread_ = workers.NewWorker("weir-socket");
  server->thread_->Submit([raw = server.get()] { raw->Loop(); });
  return server;
}

ControlServer::ControlServer(std::string path, int listener, int ended, Handler handler)
    : path_(std::move(path)), listener_(listener), ended_(ended), handler_(std::move(handler)) {}

ControlServer::~ControlServer() {
  unlink(path_.c_str());
  const uint64_t one = 1;
  (void)!write(ended_, &one, sizeof(one));
  thread_.reset();
  close(listener_);
  close(ended_);
}

void ControlServer::Loop() {
  while (true) {
    pollfd waited[] = {{ended_, POLLIN, 0}, {listener_, POLLIN, 0}};
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0) return;
    if (waited[1].revents == 0) continue;
    const Descriptor connection(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() >= 0) Serve(connection.get());
  }
}

void ControlServer::Serve(int connection) {
  const timeval patience{kClientPatienceS, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const std::optional<std::string> line = ReadLine(connection);
  const std::optional<ControlRequest> request = line.has_value() ? ParseRequest(*line) : std::nullopt;
  Json answer = {{"ok", false}, {"pid", getpid()}};
  if (!request.has_value()) {
    answer["error"] = "invalid argument: not a request that this version knows";
  } else if (const Result<uint64_t> done = handler_(*request); done.has_value()) {
    answer["ok"] = true;
    answer["checkpoint"] = *done;
  } else {
    answer["error"] = done.error().ToString();
  }
  WriteLine(connection, answer);
}

Result<ControlAnswer> AskJob(const std::string& folder, const ControlRequest& request) {
  const std::string path = folder + "/" + kName;
  const Descriptor directory(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Error(Failure("can't open", folder));
  const Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connection.get() < 0) return Error(Failure("can't make a socket for", path));
  const sockaddr_un address = AddressIn(directory.get());
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error(Failure("can't connect to", path));
  }
  Json message = {{"command", request.savepoint_folder.empty() ? "stop" : "savepoint"}, {"drain", request.drain}};
  if (!request.savepoint_folder.empty()) {
    message["folder"] = request.savepoint_folder;
    message["stop"] = request.stop;
  }
  WriteLine(connection.get(), message);
  const std::optional<std::string> line = ReadLine(connection.get());
  const Json answer = line.has_value() ? Json::parse(*line, nullptr, false) : Json();
  if (!answer.is_object() || !answer.contains("ok")) {
    return Error(Status::Unavailable("the job at " + path + " has ended without an answer"));
  }
  if (!answer["ok"].get<bool>()) return Error(Status::Unavailable(answer.value("error", "?")));
  return ControlAnswer{.pid = answer.value("pid", int64_t{0}), .checkpoint = answer.value("checkpoint", uint64_t{0})};
}

}  // namespace weir::jobs
