#include "bench/measured_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/clock.h"

namespace weir::bench {
namespace {

// Places in the list of StatFields.
constexpr size_t kParent = 1;
constexpr size_t kUserTime = 11;  // then system time, then both of the children that were waited for
constexpr size_t kStatFields = 15;

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

// Of /proc/<pid>/stat, those behind the program's name, which may hold anything: the first is the state.
std::vector<std::string> StatFields(pid_t pid) {
  const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::vector<std::string> all;
  for (std::string field; fields >> field;) all.push_back(field);
  all.resize(std::max(all.size(), kStatFields));
  return all;
}

double SecondsOf(const std::vector<std::string>& fields, size_t first, size_t count) {
  double ticks = 0;
  for (size_t i = first; i < first + count; ++i) ticks += std::strtod(fields[i].c_str(), nullptr);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
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
  return {.cpu_s = SecondsOf(StatFields(pid), kUserTime, 2),
          .read_mb = NumberOf(io, "rchar:") / 1e6,
          .written_mb = NumberOf(io, "wchar:") / 1e6,
          .resident_mb = NumberOf(ReadFile(folder + "status"), "VmRSS:") / 1024};
}

pid_t ParentOf(pid_t pid) { return std::atoi(StatFields(pid)[kParent].c_str()); }

double CpuSecondsOfServer(pid_t pid) {
  double seconds = SecondsOf(StatFields(pid), kUserTime, 4);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t other = std::atoi(entry.path().filename().c_str());
    if (other <= 0) continue;
    if (ParentOf(other) == pid) seconds += SecondsOf(StatFields(other), kUserTime, 4);
  }
  return seconds;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string WriteJobFile(const std::string& definition, const std::string& folder,
                         const std::vector<std::pair<std::string, std::string>>& places) {
  std::string text = ReadFile(definition);
  if (text.empty()) std::fprintf(stderr, "no job in %s\n", definition.c_str());
  for (const auto& [from, to] : places) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/job.json") << text;
  return folder + "/job.json";
}

}  // namespace weir::bench
