#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file_system.h"

namespace weir {
namespace {

timespec ToTimespec(Duration duration) {
  timespec time{};
  time.tv_sec = duration.count() / 1'000'000'000;
  time.tv_nsec = duration.count() % 1'000'000'000;
  return time;
}

sigset_t WaitedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::string CurrentDirectory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

std::string AbsolutePath(std::string path) {
  if (!path.starts_with('/')) path = JoinPath(CurrentDirectory(), path);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

void IgnoreBrokenPipes() { std::signal(SIGPIPE, SIG_IGN); }

void OpenStandardStreams() {
  // The lowest free number is the one that is given out.
  int opened = open("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO) opened = open("/dev/null", O_RDWR);
  if (opened >= 0) close(opened);
}

bool StandardErrorIsTerminal() { return isatty(STDERR_FILENO) == 1; }

uint32_t ProcessorCount() {
  const uint32_t count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : count;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

uint64_t OpenDescriptors() {
  std::error_code error;
  uint64_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
       each.increment(error)) {
    ++count;
  }
  return count == 0 ? 0 : count - 1;  // without the one that looks
}

int64_t ProcessId() { return getpid(); }

bool WaitForProcess(int64_t pid, Duration timeout) {
  // A descriptor of the process becomes readable when it ends.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (descriptor < 0) return errno == ESRCH;
  pollfd waited{descriptor, POLLIN, 0};
  const timespec time = ToTimespec(timeout);
  const int ended = ppoll(&waited, 1, &time, nullptr);
  close(descriptor);
  return ended == 1;
}

SignalWaiter::SignalWaiter() {
  const sigset_t set = WaitedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  IgnoreBrokenPipes();
}

SignalWaiter::Event SignalWaiter::WaitFor(Duration timeout) {
  const sigset_t set = WaitedSignals();
  const timespec time = ToTimespec(timeout);
  const int number = sigtimedwait(&set, nullptr, &time);
  if (number == SIGINT || number == SIGTERM) return Event::kStop;
  return number == SIGUSR1 ? Event::kWoken : Event::kTimeout;
}

void SignalWaiter::Wake() { kill(getpid(), SIGUSR1); }

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error(Status::Internal(std::string("fork: ") + std::strerror(errno)));
  if (pid == 0) {
    // The mask is inherited: a stop that comes before the child waits for signals itself is kept for it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);  // died before that was set
    execvp(argv[0], argv.data());
    _exit(127);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() {
  if (status_.has_value()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int number) {
  if (!status_.has_value()) kill(pid_, number);
}

std::optional<int> ChildProcess::WaitFor(Duration timeout) {
  if (status_.has_value()) return status_;
  WaitForProcess(pid_, timeout);
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

}  // namespace weir
