// A child process and what it costs, and the jobs that are measured so. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::bench {

struct RunOptions {
  std::vector<std::string> arguments;                            // the program's path first
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::string output_path;                                       // what it prints; empty: where ours goes
};

struct RunCost {
  bool ok = false;   // exit code 0
  double cpu_s = 0;  // user and system, of the whole process
  double wall_s = 0;
  double peak_mb = 0;  // resident
};

// Comes back when the program has ended.
RunCost RunMeasured(const RunOptions& options);

// What a process that still runs has cost so far, from /proc.
struct CostSoFar {
  double cpu_s = 0;
  double read_mb = 0;     // asked for by its read calls, whether the disk or the page cache had it
  double written_mb = 0;  // the same of its write calls
  double resident_mb = 0;
};
CostSoFar MeasureRunning(pid_t pid);

// User and system time of a process and its children, those that have ended and were waited for with them.
double CpuSecondsOfServer(pid_t pid);
pid_t ParentOf(pid_t pid);

double Median(std::vector<double> values);  // 0 of none

// The definition with its places filled in, as `folder`/job.json: "@BOOTSTRAP@" and the like. Answers its path.
std::string WriteJobFile(const std::string& definition, const std::string& folder,
                         const std::vector<std::pair<std::string, std::string>>& places);

// The whole file; nothing, if it is not there.
std::string ReadFile(const std::string& path);

}  // namespace weir::bench
