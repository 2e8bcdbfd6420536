#include "bench/measured_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/clock.h"

namespace weir::bench {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

[[noreturn]] void Execute(RunOptions options) {
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!options.output_path.empty()) {
    const int file = open(options.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
  }
  std::vector<char*> raw;
  for (std::string& argument : options.arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  std::perror(raw[0]);
  std::_Exit(127);
}

// The number behind `name`.
double NumberOf(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + name.size(), nullptr);
}

}  // namespace

RunCost RunMeasured(const RunOptions& options) {
  const SystemClock clock;
  const MonotonicTime start = clock.Now();
  const pid_t child = fork();
  WEIR_CHECK_GE(child, 0);
  if (child == 0) Execute(options);
  int status = 0;
  rusage usage{};
  WEIR_CHECK_EQ(wait4(child, &status, 0, &usage), child);
  return {.ok = status == 0,
          .cpu_s = Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
          .wall_s = static_cast<double>((clock.Now() - start).count()) / 1e9,
          .peak_mb = static_cast<double>(usage.ru_maxrss) / 1024};
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

CostSoFar MeasureRunning(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  const std::string io = ReadFile(folder + "io");
  // The fields behind the program's name, which may hold anything: user and system time are the 12th and the 13th.
  const std::string stat = ReadFile(folder + "stat");
  std::stringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user_ticks = 0;
  double system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return {.cpu_s = (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)),
          .read_mb = NumberOf(io, "rchar:") / 1e6,
          .written_mb = NumberOf(io, "wchar:") / 1e6,
          .resident_mb = NumberOf(ReadFile(folder + "status"), "VmRSS:") / 1024};
}

}  // namespace weir::bench
