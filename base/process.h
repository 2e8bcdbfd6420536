// The process as its environment sees it: environment variables, signals, sizes, children. For the command line only;
// the main thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace weir {

// Nothing if the variable is not set; an empty text if it is set to nothing. Any thread, as long as nobody changes
// them.
std::optional<std::string> EnvironmentVariable(const std::string& name);
// Absolute; empty if the folder is gone.
std::string CurrentDirectory();
// `path` from the root, as it is from the current folder; without a slash at its end.
std::string AbsolutePath(std::string path);
// Whichever of the three standard streams the process was started without leads to /dev/null from now on. Call it
// before anything is opened: a file would get the stream's number, and what is printed would end up in it.
void OpenStandardStreams();
// A write to a pipe that nobody reads fails from now on, instead of ending the process.
void IgnoreBrokenPipes();
// Standard error is a terminal.
bool StandardErrorIsTerminal();
uint32_t ProcessorCount();
// Resident size now, in bytes; 0 if unknown.
uint64_t ResidentBytes();
// Of all threads since the start, user and system; any thread.
double CpuSeconds();
// Descriptors that are open; 0 if unknown.
uint64_t OpenDescriptors();

int64_t ProcessId();
// Waits until the process is gone, at most `timeout`; true if it is.
bool WaitForProcess(int64_t pid, Duration timeout);

// SIGINT and SIGTERM as values instead of sudden death. Make it before any other thread exists: threads inherit the
// mask.
class SignalWaiter {
 public:
  SignalWaiter();
  enum class Event : uint8_t { kTimeout, kStop, kWoken };
  // The main thread.
  Event WaitFor(Duration timeout);
  // Any thread.
  void Wake();
};

// A child process. Killed when destroyed; gets a SIGTERM should the thread that started it end otherwise.
class ChildProcess {
 public:
  // `arguments[0]` is the program. Output goes where ours goes.
  static Result<std::unique_ptr<ChildProcess>> Start(const std::vector<std::string>& arguments);
  ~ChildProcess();
  void Signal(int number);
  // Waits at most `timeout`; nothing: still running. A signal's death is 128 + its number.
  std::optional<int> WaitFor(Duration timeout);

 private:
  explicit ChildProcess(int pid) : pid_(pid) {}
  int pid_;
  std::optional<int> status_;
};

}  // namespace weir
