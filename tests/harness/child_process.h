// A program that a test starts: its output goes to a file, it dies with the test, and it can be stopped, killed and
// frozen. Used from the thread that made it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace weir::harness {

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;  // the program, looked up in PATH, and what it is given
    std::vector<std::pair<std::string, std::string>> environment;  // besides our own
    std::string output_path;  // standard output and error are appended; empty: ours
  };

  // NotFound if the program is not there.
  static Result<ChildProcess> Start(const Options& options);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills it if it runs.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  bool Running();
  // Sends a signal; nothing happens if it has ended.
  void Signal(int number);
  // SIGSTOP, and waits until every thread stands still.
  void Pause();
  // What waitpid reports: an exit code, or minus the signal. Nothing if it still runs after `timeout`.
  std::optional<int> Wait(std::chrono::milliseconds timeout);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // -1: moved away
  std::optional<int> ended_;
};

// A loopback port that nobody listens on now.
Result<int> FreePort();

}  // namespace weir::harness
