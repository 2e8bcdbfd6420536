#include "tests/harness/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace weir::harness {
namespace {

constexpr std::chrono::milliseconds kPollInterval{10};

Status Failure(const std::string& action, int error) {
  return Status::Internal(action + ": " + std::generic_category().message(error));
}

// After fork: only calls that are safe there. Reports the errno of a failed exec through `report`.
[[noreturn]] void RunChild(char* const* arguments, char* const* environment, const char* output_path, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (output_path[0] != '\0') {
    const int out = open(output_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out >= 0) {
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
    }
  }
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  std::ignore = write(report, &error, sizeof(error));
  _exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const Options& options) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  for (const auto& [name, value] : options.environment) {
    std::erase_if(variables, [&](const std::string& v) { return v.starts_with(name + "="); });
    variables.push_back(name + "=" + value);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::vector<std::string> texts = options.arguments;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);

  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return Error(Failure("can't make a pipe", errno));
  const pid_t pid = fork();
  if (pid < 0) return Error(Failure("can't fork", errno));
  if (pid == 0) RunChild(arguments.data(), environment.data(), options.output_path.c_str(), report[1]);
  close(report[1]);
  int error = 0;
  const ssize_t got = read(report[0], &error, sizeof(error));  // ends when exec closes the other side
  close(report[0]);
  ChildProcess child(pid);
  if (got > 0) {
    child.Wait(std::chrono::seconds(5));
    return Error(Status::NotFound("can't start " + texts[0] + ": " + std::generic_category().message(error)));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(std::move(other.ended_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || !Running()) return;
  Signal(SIGKILL);
  Wait(std::chrono::seconds(10));
}

bool ChildProcess::Running() { return !Wait(std::chrono::milliseconds(0)).has_value(); }

void ChildProcess::Signal(int number) {
  if (Running()) kill(pid_, number);
}

void ChildProcess::Pause() {
  if (!Running()) return;
  kill(pid_, SIGSTOP);
  int status = 0;
  if (waitpid(pid_, &status, WUNTRACED) == pid_ && !WIFSTOPPED(status)) {
    ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
}

std::optional<int> ChildProcess::Wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!ended_.has_value()) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_) {
      ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else if (got < 0 && errno != EINTR) {
      ended_ = -1;
    } else if (std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  return ended_;
}

Result<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error(Failure("can't make a socket", errno));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, length) == 0 && getsockname(fd, generic, &length) == 0;
  const int error = errno;
  close(fd);
  if (!bound) return Error(Failure("can't bind a loopback port", error));
  return static_cast<int>(ntohs(address.sin_port));
}

}  // namespace weir::harness
